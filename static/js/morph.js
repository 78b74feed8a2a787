// Turns a region into its new version without taking anything from under the cursor: selection,
// open folds and typed text stay, and new rows of a list that is in use wait behind a pill.

// A finger does not hover: a list on a touch screen counts as in use.
function inUse(region) {
  return matchMedia("(pointer: coarse)").matches || region.matches(":hover") || region.contains(document.activeElement) || window.scrollY > 200;
}

function isEdited(field) {
  if (field.tagName === "SELECT") {
    const preset = [...field.options].findIndex((one) => one.defaultSelected);
    // Without a choice of the page's own, a browser takes the first.
    return field.selectedIndex !== Math.max(0, preset);
  }
  if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
  return "defaultValue" in field && field.value !== field.defaultValue;
}

// Whether a form holds text that leaving the page would lose.
export function hasTyped() {
  return [...document.querySelectorAll('main form[method="post"]')]
    .some((form) => [...form.elements].some((one) => one.type !== "hidden" && one.name && isEdited(one)));
}

// Whether a person is at work on it: an edited field, an open menu or dialog.
function isInHand(one) {
  if (one.matches("input:not([data-pick], [data-pick-all]), textarea, select")) return isEdited(one);
  return one.matches("dialog[open], details.menu[open]");
}

function keepState(old, fresh) {
  if (!(old instanceof Element) || !(fresh instanceof Element)) return true;
  if (fresh.hasAttribute("data-unchanged") || old.hasAttribute("data-keep")) return false;
  // A form's key belongs to the form that is on the screen.
  if (old.name === "form_key") return false;
  // A part with something that is in use is not what its version says: it is sent until it is.
  const isHeld = isInHand(old);
  if (isHeld || (old === document.activeElement && "defaultValue" in old)) {
    old.closest("[data-version]")?.removeAttribute("data-version");
  }
  if (isHeld) return false;
  if (old.tagName === "DETAILS") fresh.toggleAttribute("open", old.open);
  if (old.matches("input[data-pick], input[data-pick-all]")) {
    fresh.toggleAttribute("checked", old.checked);
    fresh.checked = old.checked;
  }
  if (old.classList.contains("cursor")) {
    fresh.classList.add("cursor");
    if (old.hasAttribute("tabindex")) fresh.setAttribute("tabindex", "-1");
  }
  return true;
}

// Takes the new rows out of the new version and returns how many there are; all: no row is known.
function holdBack(region, fresh) {
  const known = new Set([...region.querySelectorAll("[data-row]")].map((row) => row.dataset.row));
  if (!known.size) return { count: 0, all: false };
  const rows = [...fresh.querySelectorAll("[data-row]")];
  const added = rows.filter((row) => !known.has(row.dataset.row));
  added.forEach((row) => row.remove());
  return { count: added.length, all: added.length > 0 && added.length === rows.length };
}

function showPill(region, { count, all }) {
  let pill = region.previousElementSibling?.matches(".pill") ? region.previousElementSibling : null;
  if (!count) { pill?.remove(); return; }
  if (!pill) {
    pill = document.createElement("button");
    pill.type = "button";
    pill.className = "pill";
    pill.addEventListener("click", () => {
      pill.remove();
      region.dataset.takeAll = "1";
      document.dispatchEvent(new CustomEvent("live:refresh"));
    });
    region.before(pill);
  }
  pill.textContent = `${count}${all ? "+" : ""} new`;
}

export function morph(region, fresh) {
  if (!fresh) return;
  const takeAll = region.dataset.takeAll === "1";
  const held = region.hasAttribute("data-hold-rows") && !takeAll && inUse(region) ? holdBack(region, fresh) : { count: 0, all: false };
  // A page of new rows alone would leave an empty list: the rows stay as they are.
  if (held.all) { showPill(region, held); return; }
  window.Idiomorph.morph(region, fresh, {
    morphStyle: "outerHTML",
    ignoreActiveValue: true,
    callbacks: { beforeNodeMorphed: keepState },
  });
  window.htmx?.process(region);
  showPill(region, held);
}
