// Lists: a cursor for the keyboard, a selection with a bar that shows its count.
import { ROW } from "./actions.js";

export function rows() {
  return [...document.querySelectorAll(ROW)];
}

export function moveCursor(step) {
  const all = rows();
  if (!all.length) return;
  const at = all.findIndex((row) => row.classList.contains("cursor"));
  const next = all[Math.max(0, Math.min(all.length - 1, at < 0 ? 0 : at + step))];
  all.forEach((row) => row.classList.toggle("cursor", row === next));
  const opens = next.querySelector("[data-open], a[href]");
  // A row that opens nothing can be focused all the same.
  if (!opens) next.tabIndex = -1;
  (opens || next).focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

export function cursorRow() {
  return document.querySelector("[data-row].cursor");
}

function picks() {
  return [...document.querySelectorAll("input[data-pick]")];
}

function showSelection() {
  const chosen = picks().filter((box) => box.checked);
  for (const bar of document.querySelectorAll("[data-selection-bar]")) {
    bar.hidden = !chosen.length;
    const count = bar.querySelector("[data-selection-count]");
    if (count) count.textContent = String(chosen.length);
  }
  for (const box of document.querySelectorAll("input[data-pick-all]")) {
    box.checked = chosen.length > 0 && chosen.length === picks().length;
    box.indeterminate = chosen.length > 0 && !box.checked;
  }
}

let last = null;

function onClick(event) {
  const box = event.target.closest?.("input:is([data-pick], [data-pick-all], [data-pick-matching])");
  if (!box) return;
  if (!box.matches("[data-pick]")) {
    picks().forEach((one) => { one.checked = box.checked; });
  } else if (event.shiftKey && last?.isConnected && last !== box) {
    const all = picks();
    const [from, to] = [all.indexOf(last), all.indexOf(box)].sort((a, b) => a - b);
    all.slice(from, to + 1).forEach((one) => { one.checked = box.checked; });
  }
  if (box.matches("[data-pick]")) last = box;
  // A row that is taken out again must not be acted on with all that match.
  const matching = document.querySelector("input[data-pick-matching]");
  if (matching && !picks().every((one) => one.checked)) matching.checked = false;
  showSelection();
}

// As a click with Shift: from the last selected row to that of the cursor.
export function pickRange() {
  const box = cursorRow()?.querySelector("input[data-pick]");
  // The click then selects it, also where it is selected already.
  if (box) box.checked = false;
  box?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, shiftKey: true }));
}

export function pickAll() {
  document.querySelector("input[data-pick-all]")?.click();
}

export function startRows() {
  document.addEventListener("click", onClick);
  document.addEventListener("selection:changed", showSelection);
  document.addEventListener("live:morphed", showSelection);
  showSelection();
}
