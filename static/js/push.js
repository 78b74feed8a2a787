// Asks the browser for a push subscription and hands it to the form.

const form = document.getElementById("push-form");
const button = document.getElementById("push-on");
const note = document.getElementById("push-note");

function bytes(text) {
  const padded = text.replaceAll("-", "+").replaceAll("_", "/").padEnd(Math.ceil(text.length / 4) * 4, "=");
  return Uint8Array.from(atob(padded), (letter) => letter.charCodeAt(0));
}

async function subscribe() {
  if ((await Notification.requestPermission()) !== "granted") {
    note.textContent = "The browser does not allow it; its settings for this page decide.";
    return;
  }
  const worker = await navigator.serviceWorker.register("/push-worker.js");
  await navigator.serviceWorker.ready;
  const made = await worker.pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: bytes(form.dataset.key),
  });
  const { endpoint, keys } = made.toJSON();
  form.elements.endpoint.value = endpoint;
  form.elements.p256dh.value = keys.p256dh;
  form.elements.auth.value = keys.auth;
  form.submit();
}

if (form.dataset.key && "serviceWorker" in navigator && "PushManager" in window) {
  button.disabled = false;
  button.addEventListener("click", () => subscribe().catch((error) => {
    note.textContent = `The browser refused: ${error.message}`;
  }));
} else if (form.dataset.key) {
  note.textContent = "This browser cannot be pushed to here: it needs HTTPS or localhost.";
}
