// The keyboard: the table of the help dialog says which key does what. Silent in fields, and to be
// turned off; keys with Ctrl stay.
import { run } from "./actions.js";
import { nextTheme } from "./appearance.js";
import { togglePause } from "./live.js";
import { cursorRow, moveCursor, pickAll, pickRange } from "./rows.js";

const OFF = "punctual.keys-off";
const NEXT_WITHIN = 1500;
// Keys that are held down repeat only where that moves.
const REPEATED = ["next_row", "previous_row"];
let before = "";
let timer = 0;
let table = null;

function isOff() {
  return localStorage.getItem(OFF) === "1";
}

// The field of a dialog that was just closed keeps the focus until the next frame.
function typing(target) {
  return !target.closest("dialog:not([open])") && target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");
}

// Key -> what it does, as the help dialog lists it.
export function keyTable() {
  const rows = [...document.querySelectorAll("#help-dialog [data-key]")];
  table ??= new Map(rows.map((row) => [row.dataset.key, {
    keys: row.dataset.key,
    does: row.dataset.does,
    url: row.dataset.url,
    label: row.querySelector("dd").textContent,
  }]));
  return table;
}

// Opens at once, so that what is typed next is in its field; what fills it is loaded when it is first
// asked for.
async function palette(row) {
  const dialog = document.getElementById("palette");
  if (!dialog || document.querySelector("dialog[open]")) return;
  const field = document.getElementById("palette-input");
  const status = document.getElementById("palette-status");
  field.value = "";
  document.getElementById("palette-list").replaceChildren();
  status.textContent = "Loading…";
  let isEntered = false;
  const listen = ({ key }) => { isEntered ||= key === "Enter"; };
  field.addEventListener("keydown", listen);
  dialog.showModal();
  field.focus();
  try {
    const { fillPalette } = await import("./palette.js");
    fillPalette(row, isEntered);
  } catch {
    status.textContent = "The palette could not be loaded: load the page again.";
  } finally {
    field.removeEventListener("keydown", listen);
  }
}

function help() {
  if (!document.querySelector("dialog[open]")) document.getElementById("help-dialog")?.showModal();
}

function press(key) {
  const inRow = cursorRow()?.querySelector(`[data-hotkey="${key}"]:not([disabled])`);
  // What a row offers is done to the row that was chosen, not to the first one of the list.
  const button = inRow || document.querySelector(`main [data-hotkey="${key}"]:not([disabled], [data-row] *)`);
  if (button) run(button);
  return Boolean(button);
}

function explain() {
  const opened = cursorRow()?.querySelector("[data-open]")?.getAttribute("href") || "";
  if (/^\/(tasks|executions)\/[^/?]+$/.test(opened)) location.assign(`${opened}/explain`);
  else press("e");
}

function rowActions() {
  if (!cursorRow()) moveCursor(1);
  if (cursorRow()) palette(cursorRow());
}

const ACTIONS = {
  palette: () => palette(),
  help,
  live: togglePause,
  theme: nextTheme,
  open: ({ url }) => location.assign(url),
  press: ({ keys }) => press(keys),
  explain,
  next_row: () => moveCursor(1),
  previous_row: () => moveCursor(-1),
  select: () => cursorRow()?.querySelector("input[data-pick]")?.click(),
  select_range: pickRange,
  select_all: () => press("a") || pickAll(),
  row_actions: rowActions,
};

export function perform(does) {
  ACTIONS[does]({});
}

// Caps Lock alone is no Shift: nothing is retried or cancelled by it.
function isByCapsLock({ key, shiftKey }) {
  return key.length === 1 && key !== key.toLowerCase() && !shiftKey;
}

function named(event) {
  return event.ctrlKey || event.metaKey ? `Ctrl ${event.key.toUpperCase()}` : event.key;
}

function onKey(event) {
  if (event.isComposing || event.altKey || ["Shift", "Control", "Meta"].includes(event.key)) return;
  const isChord = event.ctrlKey || event.metaKey;
  // The browser's own: Ctrl Shift K opens its console.
  if (isChord && event.shiftKey) return;
  if (!isChord && (isOff() || isByCapsLock(event) || typing(event.target))) return;
  if (document.querySelector("dialog[open]")) return;
  const pressed = before + named(event);
  clearTimeout(timer);
  before = "";
  const row = keyTable().get(pressed);
  if (row?.does) {
    event.preventDefault();
    if (!event.repeat || REPEATED.includes(row.does)) ACTIONS[row.does](row);
  } else if (!isChord && [...keyTable().keys()].some((keys) => keys.startsWith(`${pressed} `))) {
    before = `${pressed} `;
    timer = setTimeout(() => { before = ""; }, NEXT_WITHIN);
  }
}

export function startKeys() {
  document.addEventListener("keydown", onKey);
  document.getElementById("help")?.addEventListener("click", help);
  document.getElementById("palette-open")?.addEventListener("click", () => palette());
  // What it is called on the keyboard at hand.
  if (/Mac|iPhone|iPad/.test(navigator.platform)) {
    for (const one of document.querySelectorAll("kbd")) if (one.textContent === "Ctrl") one.textContent = "⌘";
  }
  const off = document.getElementById("keys-off");
  if (!off) return;
  off.checked = isOff();
  off.addEventListener("change", () => localStorage.setItem(OFF, off.checked ? "1" : "0"));
}
