// The command palette: actions of this page and pages by name at once, tasks and ids by the server.
import { actionsOfPage, actionsOfRow, labelOf, run } from "./actions.js";
import { keyTable, perform } from "./keys.js";

const DEBOUNCE = 120;
const ANSWERS_WITHIN = 8000;
const MOST = 8;
const ID = /^\W*[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}\W*$/i;

const NOTHING = { query: "", found: null, tasks: [] };

const dialog = document.getElementById("palette");
const input = document.getElementById("palette-input");
const list = document.getElementById("palette-list");
const status = document.getElementById("palette-status");

let pages = [];
let actions = [];
let answer = NOTHING;
let problem = "";
let asked = new AbortController();
let timer = 0;
// A row whose actions are offered, in place of everything.
let ofRow = null;
let options = [];
let chosen = -1;
// Whether a person has moved the choice: late answers then leave it where it is.
let isMoved = false;

async function ask(query, ended) {
  const signal = AbortSignal.any([ended, AbortSignal.timeout(ANSWERS_WITHIN)]);
  const url = `${dialog.dataset.search}?q=${encodeURIComponent(query)}`;
  try {
    const got = await fetch(url, { headers: { Accept: "application/json" }, signal, cache: "no-store" });
    if (got.redirected) throw new Error("Your session has ended: sign in in another tab.");
    if (!got.ok) throw new Error(`The server answers with an error (${got.status}).`);
    return await got.json();
  } catch (error) {
    if (error.name === "AbortError") return null;
    problem = error.name === "Error" ? error.message : "The server does not answer. Pages and actions work.";
    draw();
    return null;
  }
}

async function search() {
  const query = input.value.trim();
  problem = "";
  asked.abort();
  asked = new AbortController();
  const got = query && !ofRow ? await ask(query, asked.signal) : NOTHING;
  if (!got) return;
  answer = { ...got, query };
  draw();
}

// How well a name fits: from its beginning, from that of a word, anywhere, by another name.
function rank(one, words) {
  const name = one.label.toLowerCase();
  const all = `${name} ${one.words || ""}`;
  if (!words.every((word) => all.includes(word))) return -1;
  if (name.startsWith(words[0])) return 0;
  if (name.includes(` ${words[0]}`)) return 1;
  return name.includes(words[0]) ? 2 : 3;
}

function fitting(found, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return found;
  return found
    .map((one) => [rank(one, words), one])
    .filter(([place]) => place >= 0)
    .sort(([a], [b]) => a - b)
    .slice(0, MOST)
    .map(([, one]) => one);
}

function groups() {
  const query = input.value.trim();
  if (ofRow) return [["Actions of the row", fitting(actions, query)]];
  const at = `?q=${encodeURIComponent(query)}`;
  // Until the answer to what is typed now is there, what still fits of the one before.
  const isLate = answer.query !== query;
  const found = isLate ? null : answer.found;
  const tasks = isLate ? fitting(answer.tasks, query) : answer.tasks;
  const ids = found
    ? [{ label: found.label || query, detail: found.kind, icon: "external", url: found.url }]
    : isLate && ID.test(query) ? [{ label: `Open ${query}`, icon: "external", url: dialog.dataset.search + at }] : [];
  const elsewhere = query && !ids.length ? [
    { label: `Search tasks for “${query}”`, icon: "search", url: dialog.dataset.tasks + at },
    { label: `Search executions for “${query}”`, icon: "search", url: dialog.dataset.executions + at },
  ] : [];
  return [
    ["By id", ids],
    ["On this page", fitting(actions, query)],
    ["Pages", fitting(pages, query)],
    ["Tasks and workflows", query ? tasks : []],
    ["Elsewhere", elsewhere],
  ].filter(([, found_]) => found_.length);
}

function put(parent, name, attributes, text) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  parent.append(made);
  return made;
}

function icon(parent, name) {
  const SVG = "http://www.w3.org/2000/svg";
  const drawn = parent.appendChild(document.createElementNS(SVG, "svg"));
  drawn.setAttribute("class", "icon");
  drawn.setAttribute("aria-hidden", "true");
  drawn.appendChild(document.createElementNS(SVG, "use")).setAttribute("href", `${dialog.dataset.icons}#${name}`);
}

function drawOption(parent, one) {
  const made = put(parent, "div", { role: "option", id: `palette-${options.length}`, "aria-selected": "false" });
  icon(made, one.icon || "more");
  put(made, "span", { class: "palette-label" }, one.label);
  if (one.detail) put(made, "small", { class: "muted" }, one.detail);
  if (one.keys) {
    const keys = put(made, "span", { class: "palette-keys", "aria-hidden": "true" });
    for (const key of one.keys.split(" ")) put(keys, "kbd", {}, key);
  }
  options.push({ ...one, element: made });
}

function draw() {
  const kept = isMoved && options[chosen] ? options[chosen] : null;
  options = [];
  list.replaceChildren();
  groups().forEach(([title, found], place) => {
    const group = put(list, "div", { role: "group", "aria-labelledby": `palette-group-${place}` });
    put(group, "div", { id: `palette-group-${place}`, class: "palette-title", role: "presentation" }, title);
    found.forEach((one) => drawOption(group, one));
  });
  const count = `${options.length} result${options.length === 1 ? "" : "s"}`;
  status.textContent = problem || (options.length ? count : "Nothing fits.");
  // Before anything is typed, Enter does nothing: the first action may be one that changes something.
  const first = input.value.trim() || ofRow ? 0 : -1;
  // A chosen one that is gone is not replaced by another: Enter would do what was not chosen.
  choose(kept ? options.findIndex((one) => isSame(one, kept)) : first);
}

// Two tasks may have one name.
function isSame(one, other) {
  return one.label === other.label && one.url === other.url && one.does === other.does && one.target === other.target;
}

function choose(place) {
  options[chosen]?.element.setAttribute("aria-selected", "false");
  chosen = place;
  const one = options[chosen];
  if (!one) { input.removeAttribute("aria-activedescendant"); list.scrollTop = 0; return; }
  one.element.setAttribute("aria-selected", "true");
  input.setAttribute("aria-activedescendant", one.element.id);
  if (chosen === 0) list.scrollTop = 0; // with the title above it
  else one.element.scrollIntoView({ block: "nearest" });
}

function take(one) {
  if (!one) return;
  // Closing gives the focus back first: an action may move it on.
  dialog.close();
  if (one.url) location.assign(one.url);
  else if (one.does) perform(one.does);
  else {
    // A live update may have replaced it while the palette was open.
    const target = one.target.isConnected ? one.target : collect().find((other) => other.label === one.label)?.target;
    if (target) run(target);
  }
}

const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: MOST, PageUp: -MOST };

function onKey(event) {
  if (event.isComposing) return;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    dialog.close();
  } else if (event.key === "Enter") {
    event.preventDefault();
    take(options[chosen]);
  } else if (STEPS[event.key] && options.length) {
    event.preventDefault();
    const step = STEPS[event.key];
    const next = (chosen < 0 && step < 0 ? 0 : chosen) + step;
    const around = (next + options.length) % options.length;
    choose(Math.abs(step) === 1 ? around : Math.max(0, Math.min(options.length - 1, next)));
    isMoved = true;
  }
}

// The keys that the palette offers, too; those that move in lists are for the keyboard alone.
const OF_KEYS = { page: ["live", "theme", "help"], row: ["select", "explain"] };

function collect() {
  const found = ofRow ? actionsOfRow(ofRow) : actionsOfPage();
  const own = found.map((target) => ({
    label: target.hasAttribute("data-open") ? `Open ${labelOf(target)}` : labelOf(target),
    target,
    icon: target.querySelector("use")?.getAttribute("href").match(/console-icons\.svg#(.+)/)?.[1],
    keys: target.dataset.hotkey,
  }));
  const byKeys = [...keyTable().values()]
    .filter(({ does }) => OF_KEYS[ofRow ? "row" : "page"].includes(does))
    .map(({ does, keys, label }) => ({ label, does, keys, icon: "sliders" }));
  return [...own, ...byKeys];
}

// Fills the palette that was just opened by what is typed already. An Enter of before goes to a page;
// what changes something has to be seen first.
export async function fillPalette(row, isEntered) {
  if (!dialog.open) return;
  ofRow = row;
  actions = collect();
  answer = NOTHING;
  problem = "";
  isMoved = false;
  draw();
  if (input.value.trim()) search();
  if (!pages.length && !ofRow) {
    const got = await ask("", new AbortController().signal);
    pages = got?.pages || pages;
    if (!dialog.open) return;
    draw();
  }
  const first = options[chosen];
  if (isEntered && (first?.url || first?.target?.href)) take(first);
}

input.addEventListener("keydown", onKey);
input.addEventListener("input", () => {
  isMoved = false;
  draw();
  clearTimeout(timer);
  timer = setTimeout(search, DEBOUNCE);
});
list.addEventListener("click", (event) => {
  const element = event.target.closest("[role=option]");
  take(options.find((one) => one.element === element));
});
// The focus stays in the field: the choice is told by aria-activedescendant.
list.addEventListener("mousedown", (event) => event.preventDefault());
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
dialog.addEventListener("close", () => { asked.abort(); clearTimeout(timer); });
