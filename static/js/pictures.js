// Keyboard, bubbles and copying for the pictures that the server draws. Without it they are read
// just the same: every picture has its table.

const PARTS = "a[href], [tabindex]";
let tip = null;

function partsOf(group) {
  return [...group.querySelectorAll(PARTS)].filter((part) => !part.closest("details"));
}

function textOf(part) {
  return part.getAttribute("aria-label") || part.querySelector("title")?.textContent || "";
}

function showTip(part) {
  tip ??= document.body.appendChild(
    Object.assign(document.createElement("div"), { className: "picture-tip", hidden: true }),
  );
  tip.setAttribute("aria-hidden", "true");
  tip.textContent = textOf(part);
  tip.hidden = !tip.textContent;
  const box = part.getBoundingClientRect();
  const own = tip.getBoundingClientRect();
  const left = Math.min(Math.max(8, box.left + box.width / 2 - own.width / 2), innerWidth - own.width - 8);
  const above = box.top - own.height - 6;
  tip.style.left = `${left}px`;
  tip.style.top = `${above > 4 ? above : box.bottom + 6}px`;
}

function hideTip() {
  if (tip) tip.hidden = true;
}

// How far an arrow key goes in a row of parts, or in a map of `columns`.
function stepOf(key, columns) {
  const steps = { ArrowRight: 1, ArrowLeft: -1 };
  if (columns) Object.assign(steps, { ArrowDown: columns, ArrowUp: -columns });
  return steps[key];
}

function move(event) {
  const part = event.target.closest?.(PARTS);
  const group = part?.closest("[data-roving]");
  if (!group || event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.key === "Escape") return hideTip();
  const parts = partsOf(group);
  const place = parts.indexOf(part);
  const step = stepOf(event.key, Number(group.dataset.columns));
  let next = null;
  if (step) next = parts[place + step];
  else if (event.key === "Home") next = parts[0];
  else if (event.key === "End") next = parts.at(-1);
  else return;
  event.preventDefault();
  if (!next) return;
  for (const one of parts) one.setAttribute("tabindex", one === next ? "0" : "-1");
  next.focus();
}

function csvOf(table) {
  const quoted = (cell) => `"${cell.textContent.trim().replaceAll('"', '""')}"`;
  return [...table.rows].map((row) => [...row.cells].map(quoted).join(",")).join("\r\n");
}

// The button comes when a table is first opened, so that a refreshed page needs no second pass.
function addCopyButton(event) {
  const twin = event.target;
  if (!twin.matches?.(".picture-twin[open]") || twin.querySelector(".copy-table")) return;
  const button = Object.assign(document.createElement("button"), {
    type: "button",
    className: "quiet copy-table",
    textContent: "Copy as CSV",
  });
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(csvOf(twin.querySelector("table")));
      button.textContent = "Copied";
    } catch {
      button.textContent = "The browser did not allow copying";
    }
  });
  twin.querySelector("summary").after(button);
}

document.addEventListener("keydown", move);
document.addEventListener("focusin", (event) => {
  const part = event.target.closest?.("[data-roving] a, [data-roving] [tabindex]");
  if (part && part.matches(":focus-visible")) showTip(part);
  else hideTip();
});
document.addEventListener("focusout", hideTip);
document.addEventListener("scroll", hideTip, { capture: true, passive: true });
document.addEventListener("toggle", addCopyButton, { capture: true });
