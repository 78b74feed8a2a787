// Sends the forms that change something, and leaves the page only when the server has accepted them.
// Typed text, files and secrets stay through errors, outages and a lost session.
import { formToken } from "./cookies.js";

const ANSWERS_WITHIN = 30000;
const UNKNOWN = "The server does not answer. What you typed is still here. Send it again; no change is made twice.";

function isOurs(form) {
  return form.elements.form_key && !form.hasAttribute("hx-post");
}

// `form.action` may be a field of that name.
function addressOf(form, button) {
  return new URL(button?.getAttribute("formaction") || form.getAttribute("action") || location.href, location.href).href;
}

function contents(form, button) {
  const sent = new FormData(form);
  if (button?.name) sent.append(button.name, button.value);
  // Signing in again in another tab makes a new token; the page has the old one.
  const token = formToken();
  if (token) sent.set("csrfmiddlewaretoken", token);
  return sent;
}

async function ask(url, options) {
  const answer = await fetch(url, { ...options, signal: AbortSignal.timeout(ANSWERS_WITHIN) });
  const isJson = answer.headers.get("Content-Type")?.startsWith("application/json");
  const body = isJson ? await answer.json() : {};
  if (answer.ok && (isJson || answer.status === 204)) return body;
  if (answer.redirected && new URL(answer.url).pathname === "/login") {
    return complaint("Your session has ended. Sign in in another tab, then send the form again; what you typed stays here.");
  }
  if (body.errors) return body;
  return complaint(`The server answered with an error (${answer.status}). What you typed is still here.`);
}

function complaint(message) {
  return { errors: [{ field: "", message }] };
}

function clear(form) {
  form.querySelectorAll("[data-sent-error]").forEach((one) => one.remove());
  for (const field of form.querySelectorAll("[data-sent-invalid]")) {
    field.removeAttribute("aria-invalid");
    field.removeAttribute("aria-errormessage");
    delete field.dataset.sentInvalid;
  }
}

function mark(form, name, message) {
  const field = name && [...form.elements].find((one) => one.name === name && one.type !== "hidden");
  const said = document.createElement("p");
  said.dataset.sentError = "";
  said.textContent = message;
  if (!field) {
    said.className = "flash error";
    said.setAttribute("role", "alert");
    form.prepend(said);
    return said;
  }
  said.className = "error error-text";
  said.id = `${field.id || name}-sent-error`;
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-errormessage", said.id);
  field.dataset.sentInvalid = "";
  field.after(said);
  return field;
}

function show(form, errors) {
  const places = errors.map(({ field, message }) => mark(form, field, message));
  const first = places.find((one) => one.matches("input, select, textarea")) || places[0];
  form.closest("details")?.setAttribute("open", "");
  first.scrollIntoView({ block: "nearest" });
  if (first.matches("input, select, textarea")) first.focus();
}

function goOn(location_) {
  const target = new URL(location_, location.href);
  const same = target.pathname === location.pathname && target.search === location.search;
  location.assign(target);
  // An address that differs in its fragment alone is not loaded again.
  if (same && target.hash) location.reload();
}

async function send(form, button) {
  clear(form);
  form.setAttribute("aria-busy", "true");
  if (button) button.disabled = true;
  try {
    const whole = !form.hasAttribute("data-shows-errors");
    const headers = { "X-Form": "1", Accept: "application/json, text/html" };
    const said = whole
      ? await ask(addressOf(form, button), { method: "POST", body: contents(form, button), headers })
      : await ask(document.body.dataset.pulse, { headers });
    if (said.errors) show(form, said.errors);
    else if (whole) goOn(said.location);
    else sendPlainly(form, button);
  } catch {
    show(form, complaint(UNKNOWN).errors);
  } finally {
    form.removeAttribute("aria-busy");
    if (button) button.disabled = false;
  }
}

// A form whose page shows its errors is sent by the browser, once the server is known to answer.
function sendPlainly(form, button) {
  const token = formToken();
  if (token) form.elements.csrfmiddlewaretoken.value = token;
  if (button) button.disabled = false;
  form.dataset.checked = "1";
  form.requestSubmit(button);
}

function onSubmit(event) {
  const form = event.target;
  if (event.defaultPrevented || !isOurs(form)) return;
  if (form.dataset.checked) { delete form.dataset.checked; return; }
  event.preventDefault();
  if (form.getAttribute("aria-busy") !== "true") send(form, event.submitter);
}

document.addEventListener("submit", onSubmit);
