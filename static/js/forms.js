// Forms: questions before danger, copying, selects that send themselves.

// The caller that waits for the answer of the open question.
let answered = null;

function ask(title, text, label) {
  const dialog = document.getElementById("confirm-dialog");
  document.getElementById("confirm-title").textContent = title;
  document.getElementById("confirm-text").textContent = text;
  document.getElementById("confirm-ok").textContent = label;
  settle(false);
  return new Promise((resolve) => {
    answered = resolve;
    dialog.returnValue = "";
    dialog.showModal();
  });
}

function settle(answer) {
  answered?.(answer);
  answered = null;
}

// "close" comes later than the closing: the same question may be open again by then.
function onClose(event) {
  if (!event.target.open) settle(event.target.returnValue === "ok");
}

async function onSubmit(event) {
  const button = event.submitter;
  const form = event.target;
  const question = button?.dataset.confirm || form.dataset.confirm;
  if (!question || form.dataset.confirmed) {
    delete form.dataset.confirmed;
    return;
  }
  event.preventDefault();
  const text = button?.dataset.confirmText || form.dataset.confirmText || "";
  if (await ask(question, text, button?.textContent.trim() || "Go on")) {
    // A live update may have replaced the form while the question was open.
    if (!form.isConnected) document.body.append(form);
    form.dataset.confirmed = "1";
    form.requestSubmit(button);
  }
}

async function copy(button) {
  const source = button.dataset.copyFrom && document.querySelector(button.dataset.copyFrom);
  const text = source ? source.textContent : button.dataset.copy;
  if (button.dataset.copied) return;
  button.dataset.copied = "1";
  const before = button.innerHTML;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Plain HTTP has no clipboard: the old way works there.
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  button.textContent = "Copied";
  setTimeout(() => { button.innerHTML = before; delete button.dataset.copied; }, 1500);
}

export function startForms() {
  document.addEventListener("submit", onSubmit);
  document.getElementById("confirm-dialog")?.addEventListener("close", onClose);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy], [data-copy-from]");
    if (button) copy(button);
    const menu = document.querySelector("details.menu[open]");
    if (menu && !menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-submit-on-change]")) event.target.form.requestSubmit();
  });
}
