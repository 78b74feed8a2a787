// The task's form: only the fields that the choices call for are shown, errors get the focus.

import { keepDrafts } from "./drafts.js";

const form = document.getElementById("task-form");

function showWhen() {
  const chosen = form.querySelector('input[name="when"]:checked')?.value;
  for (const part of form.querySelectorAll("[data-when]")) {
    part.hidden = !part.dataset.when.split(" ").includes(chosen);
  }
}

// data-if="misfire_policy=replay": shown while the field has one of the values.
function showIf() {
  for (const part of document.querySelectorAll("[data-if]")) {
    const [name, values] = part.dataset.if.split("=");
    const fits = values.split(" ").includes(form.elements[name].value);
    part.hidden = !fits && !part.querySelector(".error");
  }
}

// A list of secrets beside a field: the chosen one is written into the field, as its name.
function insertSecret(list) {
  const field = form.elements[list.dataset.inserts];
  const text = `{{ secrets.${list.value} }}`;
  if (field.tagName === "TEXTAREA") field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
  else [field.type, field.value] = ["text", text];
  list.value = "";
  field.focus();
}
for (const picks of form.querySelectorAll("[data-picks]")) picks.hidden = false;

form.addEventListener("change", (event) => {
  if (event.target.dataset.inserts) return event.target.value && insertSecret(event.target);
  showWhen();
  showIf();
});
// Enter in a field must save, not paste.
form.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.target.tagName !== "INPUT") return;
  event.preventDefault();
  document.getElementById("save").click();
});
showWhen();
showIf();
keepDrafts(form);
document.getElementById("error-summary")?.focus();
