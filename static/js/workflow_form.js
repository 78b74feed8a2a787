// The list editor of a workflow. Each change goes to the server with the whole definition and comes
// back as the definition, the list and the check; changes are sent one after the other.
import { formToken } from "./cookies.js";

const ANSWERS_WITHIN = 30000;
const MOST_UNDONE = 30;
const FIELD = "input, textarea, select";

const form = document.getElementById("workflow-form");
const text = document.getElementById("definition");
const bar = document.getElementById("list-said");
const waiting = [];
const before = [];
let running = null;
let format = "yaml";
// A select that the arrow keys go through: sent once it is left.
let passing = null;
let untold = null;
// Changes that have failed since the page was loaded.
let failures = 0;

const list = () => document.getElementById("list");
const held = () => document.getElementById("held")?.value ?? text.value;
const opened = () => [...list().querySelectorAll(".step-card")]
  .filter((one) => one.open || one.querySelector("[data-unread]"))
  .map((one) => one.dataset.card);

function tell(message, isError = false) {
  bar.textContent = message;
  bar.classList.toggle("error-text", isError);
}

function state() {
  return { definition: held(), cards: list().dataset.cards || "", page: list().dataset.page || "0" };
}

function enqueue(change) {
  waiting.push(change);
  running ??= drain().finally(() => { running = null; });
  return running;
}

async function drain() {
  list().setAttribute("aria-busy", "true");
  while (waiting.length) {
    const change = waiting.shift();
    if (await send(change)) continue;
    failures += 1;
    change.failed?.();
  }
  list().removeAttribute("aria-busy");
}

async function ask(sent) {
  const answer = await fetch(form.dataset.list, {
    method: "POST",
    body: sent,
    headers: { "X-CSRFToken": formToken() || form.elements.csrfmiddlewaretoken.value, "HX-Request": "true", "X-Form": "1" },
    signal: AbortSignal.timeout(ANSWERS_WITHIN),
  });
  if (answer.headers.get("Content-Type")?.startsWith("application/json")) throw refusal((await answer.json()).errors[0].message);
  const body = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (answer.ok && body.getElementById("list")) return body;
  throw refusal(answer.ok ? body.body.textContent.trim() : `The server answered with an error (${answer.status}).`);
}

function refusal(why) {
  return new Error(`${why} The change is not in the definition.`);
}

// Sends one change; returns whether it is in the definition now.
async function send(change) {
  const { element, place, values = [], text: kept, failed, ...parts } = change;
  // What the change is about may have gone with the one before it.
  if (element && !element.isConnected) return true;
  const was = state();
  const sent = new URLSearchParams({ ...was, opened: opened().join(" "), format, ...parts });
  for (const one of values) sent.append("value", one);
  for (const name of ["workflow", "form_tenant"]) {
    if (form.elements[name]) sent.set(name, form.elements[name].value);
  }
  try {
    const body = await ask(sent);
    place?.removeAttribute("data-unread");
    return take(body, { ...was, text: text.value }, change.do, kept);
  } catch (error) {
    const isOurs = error.message.includes("not in the definition");
    place?.setAttribute("data-unread", "");
    tell(isOurs ? error.message : "The server does not answer. The change is not in the definition: make it again.", true);
    return false;
  }
}

function take(body, was, change, kept) {
  const fresh = body.getElementById("list");
  if (fresh.dataset.refused) {
    tell(`This text cannot be shown as a list. ${fresh.dataset.refused}`, true);
    return false;
  }
  const hasChanged = "changed" in fresh.dataset;
  const focused = document.activeElement?.id;
  const { focus, said = "" } = fresh.dataset;
  replace(list(), fresh);
  const check = body.getElementById("check");
  if (check) window.Idiomorph.morph(document.getElementById("check"), check.innerHTML, { morphStyle: "innerHTML" });
  if (fresh.dataset.mode === "text") {
    text.value = held();
    show("text");
    return true;
  }
  show("list");
  if (hasChanged && change !== "undo") {
    before.push(was);
    if (before.length > MOST_UNDONE) before.shift();
  }
  if (hasChanged) text.value = kept ?? held();
  tell(said, "failed" in fresh.dataset);
  refocus(focus, focused);
  return !("failed" in fresh.dataset);
}

function replace(old, fresh) {
  window.Idiomorph.morph(old, fresh, {
    morphStyle: "outerHTML",
    // Only of what is typed in; of other elements it would keep the whole content.
    ignoreActiveValue: Boolean(document.activeElement?.matches("textarea, input:not([type=checkbox])")),
    callbacks: { beforeNodeMorphed: keep },
  });
}

function keep(old, fresh) {
  if (!(old instanceof Element) || !(fresh instanceof Element)) return true;
  // A later change of this field waits: the field has what the answer does not know yet.
  if (waiting.some((one) => one.place === old)) return false;
  // Text that is no value is nowhere but here.
  if (old.matches("[data-unread]") && old.id === fresh.id && !fresh.matches("[data-unread]")) return false;
  if (old.tagName === "DETAILS") fresh.toggleAttribute("open", fresh.open && !old.matches(".fold") || old.open || "wrong" in fresh.dataset);
  return true;
}

function refocus(wanted, focused) {
  const place = wanted && (document.getElementById(wanted) || document.getElementById("list-steps-title"));
  if (place) {
    for (let one = place.closest("details"); one; one = one.parentElement.closest("details")) {
      if (!place.matches("summary") || place.parentElement !== one) one.open = true;
    }
    place.focus();
    return;
  }
  // The card of a renamed step, or the box of a step, may be another element now.
  if (focused && document.activeElement === document.body) document.getElementById(focused)?.focus();
}

function show(view) {
  form.classList.toggle("shows-list", view === "list");
  form.classList.toggle("shows-text", view === "text");
  form.elements.view.value = view;
  for (const one of form.querySelectorAll("[data-view]")) one.setAttribute("aria-pressed", String(one.dataset.view === view));
  if (view === "list") return;
  list().replaceChildren();
  list().dataset.mode = "text";
  before.length = 0;
  tell("");
  text.dispatchEvent(new Event("input", { bubbles: true }));
}

async function turnTo(view) {
  if (running) await running;
  if (view === list().dataset.mode) return;
  if (view === "list") {
    format = text.value.trimStart().startsWith("{") ? "json" : "yaml";
    untold = text.value;
    await enqueue({ do: "show" });
  } else if (text.value === untold) {
    // Nothing was changed in the list: the text is as it was, with its comments.
    if (!complain()) show("text");
  } else if (!complain()) {
    await enqueue({ do: "text" });
  }
}

function valuesOf(field) {
  if (!field.matches("fieldset")) return [field.querySelector(FIELD).value];
  const more = field.querySelector("select");
  if (more?.value) addBox(more);
  return [...field.querySelectorAll("input[type=checkbox]")].filter((one) => one.checked).map((one) => one.value);
}

// Makes a checked box of the step that a select has: a change before the answer must have it, too.
function addBox(more) {
  const label = document.createElement("label");
  const box = Object.assign(document.createElement("input"), { type: "checkbox", value: more.value });
  box.checked = true;
  label.append(box, more.value);
  more.closest(".field").before(label);
  more.selectedOptions[0].remove();
  more.value = "";
}

function set(control) {
  const field = control.closest("[data-field]");
  const card = field.closest("[data-card]");
  enqueue({ do: "set", card: card.dataset.card, field: field.dataset.field, values: valuesOf(field), element: card, place: field });
}

// Whether a field has text that is no value: it would be lost.
function complain() {
  const field = list().querySelector("[data-unread]");
  if (!field) return false;
  for (let one = field.closest("details"); one; one = one.parentElement.closest("details")) one.open = true;
  field.querySelector(FIELD).focus();
  tell("Mend this field first: what it says is not in the definition.", true);
  return true;
}

// A field of another page of the list would be lost with its text.
function mayLeave() {
  return !list().querySelector(".list-pages") || !complain();
}

function onClick(event) {
  const link = event.target.closest("[data-go], a[href^='#step-']");
  if (link) {
    event.preventDefault();
    // To show the list would write the text anew.
    if (list().dataset.mode !== "list") { text.focus(); return; }
    if (!mayLeave()) return;
    const card = link.dataset.go ?? link.getAttribute("href").replace("#step-", "");
    enqueue({ do: "go", card, field: link.dataset.to ?? "" });
    return;
  }
  const button = event.target.closest("[data-do], [data-view], #undo");
  if (!button) return;
  if (button.dataset.view) turnTo(button.dataset.view);
  else if (button.id === "undo") undo();
  else if (button.dataset.do !== "remove" && !mayLeave()) return;
  else if (button.dataset.do === "page") enqueue({ do: "page", page: button.dataset.to });
  else {
    const card = button.closest(".step-card");
    enqueue({ do: button.dataset.do, card: card?.dataset.card ?? "0", element: card });
  }
}

async function undo() {
  if (running) await running;
  const was = before.pop();
  if (!was) tell("There is nothing to undo.");
  else enqueue({ do: "undo", ...was, failed: () => before.push(was) });
}

form.addEventListener("change", (event) => {
  if (!event.target.closest("#list [data-field]")) return;
  if (event.target === passing) return;
  set(event.target);
});
form.addEventListener("focusout", (event) => {
  if (event.target !== passing) return;
  passing = null;
  set(event.target);
});
form.addEventListener("keydown", (event) => {
  if (!event.target.closest("#list [data-field]")) return;
  if (event.target.tagName === "SELECT" && event.key.startsWith("Arrow")) passing = event.target;
  if (event.key !== "Enter" || event.target.tagName === "TEXTAREA") return;
  // Enter takes the field over; it does not save the workflow.
  if (event.target.tagName === "INPUT") event.preventDefault();
  if (event.target.tagName === "INPUT" || event.target === passing) {
    passing = null;
    set(event.target);
  }
});
form.addEventListener("toggle", (event) => {
  const card = event.target;
  if (card.matches(".step-card") && card.open && !card.querySelector(".step-body")) enqueue({ do: "show" });
}, true);
document.getElementById("main").addEventListener("click", onClick);
// Before the console's own script sends the form: what was just typed belongs to it.
form.addEventListener("submit", async (event) => {
  if (list().dataset.mode !== "list") return;
  if (!running && !complain()) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (!running) return;
  const known = failures;
  await running;
  // The message says which change is missing: whether to save without it is for the person to decide.
  if (failures === known && !complain()) form.requestSubmit(event.submitter);
}, true);
// The check of the text comes by htmx; what was asked before the list was shown is out of date.
for (const name of ["htmx:beforeRequest", "htmx:beforeSwap"]) {
  document.getElementById("check").addEventListener(name, (event) => {
    if (form.elements.view.value === "list") event.preventDefault();
  });
}
format = text.value.trimStart().startsWith("{") ? "json" : "yaml";
untold = text.value;
document.getElementById("error-summary")?.focus();
