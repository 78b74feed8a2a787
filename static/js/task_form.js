// The task's form: only the fields of the chosen kind of schedule are shown, errors get the focus.

const form = document.getElementById("task-form");

function showWhen() {
  const chosen = form.querySelector('input[name="when"]:checked')?.value;
  for (const part of form.querySelectorAll("[data-when]")) {
    part.hidden = !part.dataset.when.split(" ").includes(chosen);
  }
}

form.addEventListener("change", (event) => {
  if (event.target.name === "when") showWhen();
});
// Enter in a field must save, not paste.
form.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.target.tagName !== "INPUT") return;
  event.preventDefault();
  document.getElementById("save").click();
});
showWhen();
document.getElementById("error-summary")?.focus();
