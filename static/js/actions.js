// What can be done on a page or with a row of it: its buttons and links, as keys and palette run them.

const OF_PAGE = ":is(.page-head a.button, .page-head button, .page-head summary, .page-head .menu-body a, .tabs a:not([aria-current]), a.sort, [data-hotkey])";
// Without labels and pictures: their parts lead elsewhere.
const OF_ROW = ":is(a[href], button, summary):not(.tag, svg *, [data-roving] *)";
// Of a list: the page of one row names it as well, around its head.
export const ROW = "[data-row]:not(:has(.page-head))";
const FIELDS = "input:not([type=hidden], [type=checkbox], [type=radio]), select, textarea";

export function labelOf(one) {
  if (one.matches(".sort")) return `Sort by ${one.firstChild.textContent.trim().toLowerCase()}`;
  return (one.getAttribute("aria-label") || one.textContent).replace(/\s+/g, " ").trim();
}

function isOffered(one) {
  if (one.disabled || one.closest("[hidden]")) return false;
  const menu = one.closest("details.menu");
  if (!menu) return true;
  // A menu of one form is one action; of a menu of several, each is.
  const isForm = menu.querySelector(".menu-body")?.tagName === "FORM";
  return (one.tagName === "SUMMARY") === isForm;
}

function offered(found) {
  const seen = new Set();
  return found.filter((one) => {
    const label = labelOf(one);
    if (!label || seen.has(label) || !isOffered(one)) return false;
    return seen.add(label);
  });
}

export function actionsOfPage() {
  const found = [...document.querySelectorAll(`main ${OF_PAGE}`)];
  return offered(found.filter((one) => !one.closest(ROW)));
}

export function actionsOfRow(row) {
  return offered([...row.querySelectorAll(OF_ROW)]);
}

// Does it as a click would; where it needs something typed first, its field gets the focus instead.
export function run(one) {
  const fold = one.closest("details");
  const asks = one.tagName === "SUMMARY" ? fold : fold && one.closest("form");
  const field = asks?.querySelector(FIELDS);
  if (fold && (field || one.tagName !== "SUMMARY")) fold.open = true;
  if (field) field.focus();
  else one.click();
}
