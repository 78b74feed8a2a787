// Keeps what is typed into a long form in this tab, until it is saved: a reload or a lost session
// costs nothing. Fields that may hold secrets are never kept, nor is anything behind the closing of the
// tab, and a draft is offered to the person who typed it alone.

const PREFIX = "draft:";
const SENT = "draft-sent";
const UNKEPT = /^(auth_|tls_client_key|proxy_|headers$|environment$|arguments$|pasted$)/;
// Addresses with a query or a user name, where tokens and passwords stand.
const ADDRESSES = ["url", "payload_ref"];
const SECRET_PART = /[?@]/;

function ofPerson() {
  return `${PREFIX}${document.body.dataset.user}:`;
}

function keyOf(form) {
  const version = form.elements.version?.value || "new";
  return `${ofPerson()}${form.elements.form_tenant.value}:${version}:${location.pathname}`;
}

function isKept(name, value) {
  return !UNKEPT.test(name) && !(ADDRESSES.includes(name) && SECRET_PART.test(value));
}

function kept(form) {
  const fields = [...new FormData(form)].filter(([name, value]) => {
    const field = form.elements[name];
    return typeof value === "string" && !["hidden", "password"].includes(field.type) && isKept(name, value);
  });
  return JSON.stringify(fields);
}

function read(key) {
  try {
    return JSON.parse(sessionStorage.getItem(key));
  } catch {
    return null;
  }
}

function write(key, value) {
  try {
    sessionStorage.setItem(key, value);
  } catch {
    // No storage, or it is full: the form works without drafts.
  }
}

function fill(form, fields) {
  for (const one of form.elements) {
    if (one.type === "checkbox" && one.name && !UNKEPT.test(one.name)) one.checked = false;
  }
  for (const [name, value] of fields) {
    for (const field of [form.elements[name]].flatMap((one) => (one instanceof RadioNodeList ? [...one] : [one]))) {
      if (!field) continue;
      if (field.type === "radio" || field.type === "checkbox") field.checked ||= field.value === value;
      else field.value = value;
    }
  }
  form.dispatchEvent(new Event("change", { bubbles: true }));
}

function offer(form, key, draft) {
  const box = document.createElement("p");
  box.className = "flash info draft";
  box.setAttribute("role", "status");
  const at = new Date(draft.at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  box.append(`This tab has an unsaved draft of ${at}, without secrets, headers and arguments. `);
  const add = (text, act) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "small-button";
    button.textContent = text;
    button.addEventListener("click", () => { act(); box.remove(); });
    box.append(button, " ");
  };
  add("Continue with it", () => fill(form, draft.fields));
  add("Discard it", () => sessionStorage.removeItem(key));
  form.prepend(box);
}

export function keepDrafts(form) {
  const key = keyOf(form);
  const first = kept(form);
  const draft = read(key);
  const isAnswer = document.getElementById("error-summary");
  if (draft && !isAnswer && JSON.stringify(draft.fields) !== first) offer(form, key, draft);
  form.addEventListener("input", () => {
    const fields = kept(form);
    if (fields === first && !isAnswer) sessionStorage.removeItem(key);
    else write(key, JSON.stringify({ at: Date.now(), fields: JSON.parse(fields) }));
  });
  // Behind all others that may keep it back: one that is not sent leaves its draft.
  window.addEventListener("submit", (event) => {
    if (event.target === form && !event.defaultPrevented) write(SENT, key);
  });
}

function forget(isOver) {
  Object.keys(sessionStorage).filter((key) => key.startsWith(PREFIX) && isOver(key)).forEach((key) => sessionStorage.removeItem(key));
}

// Those of another person who used this tab end. On the page behind a form that was sent its draft
// has been saved, unless the form is shown again.
export function settleDrafts() {
  const own = ofPerson();
  forget((key) => !key.startsWith(own));
  const key = sessionStorage.getItem(SENT);
  if (!key) return;
  sessionStorage.removeItem(SENT);
  if (!key.endsWith(`:${location.pathname}`)) sessionStorage.removeItem(key);
}

export function forgetDrafts() {
  forget(() => true);
}
