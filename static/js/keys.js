// The keyboard: listed in the help dialog, silent in fields, and to be turned off.
import { nextTheme } from "./appearance.js";
import { togglePause } from "./live.js";
import { cursorRow, moveCursor } from "./rows.js";

const OFF = "punctual.keys-off";
let going = false;

function isOff() {
  return localStorage.getItem(OFF) === "1";
}

function typing(target) {
  return target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");
}

function search() {
  const field = document.getElementById("search");
  field?.focus();
  field?.select();
}

function help() {
  document.getElementById("help-dialog")?.showModal();
}

function press(key) {
  const inRow = cursorRow()?.querySelector(`[data-hotkey="${key}"]`);
  const button = inRow || document.querySelector(`main [data-hotkey="${key}"]:not([disabled])`);
  button?.click();
  return Boolean(button);
}

const KEYS = {
  "/": search,
  "?": help,
  j: () => moveCursor(1),
  k: () => moveCursor(-1),
  t: nextTheme,
  r: togglePause,
  g: () => { going = true; setTimeout(() => { going = false; }, 1500); },
  n: () => { location.href = "/tasks/new"; },
  x: () => cursorRow()?.querySelector("input[data-pick]")?.click(),
  "[": () => press("["),
  "]": () => press("]"),
  e: () => press("e"),
  R: () => press("R"),
  P: () => press("P"),
  C: () => press("C"),
};

function onKey(event) {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    search();
    return;
  }
  if (event.key === "Escape" && event.target.id === "search") {
    document.getElementById("search-results").replaceChildren();
    event.target.blur();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isOff()) return;
  if (typing(event.target) || document.querySelector("dialog[open]")) return;
  if (going) {
    going = false;
    const link = document.querySelector(`.rail a[data-key="${CSS.escape(event.key)}"]`);
    if (link) { event.preventDefault(); link.click(); }
    return;
  }
  const act = KEYS[event.key];
  if (act) { event.preventDefault(); act(); }
}

export function startKeys() {
  document.addEventListener("keydown", onKey);
  document.getElementById("help")?.addEventListener("click", help);
  const off = document.getElementById("keys-off");
  if (!off) return;
  off.checked = isOff();
  off.addEventListener("change", () => localStorage.setItem(OFF, off.checked ? "1" : "0"));
}
