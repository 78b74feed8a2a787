// Ages and countdowns tick here each second; the clock of the server counts, not this one.

const page = document.body.dataset;
const drift = page.serverTime ? Number(page.serverTime) * 1000 - Date.now() : 0;
const offset = Math.abs(drift) > 3000 ? drift : 0;
const YEAR = 365 * 86400;
const UNITS = [[86400, "d", 3600, "h"], [3600, "h", 60, "m"], [60, "m", 1, "s"]];

export function serverNow() {
  return Date.now() + offset;
}

export function distance(milliseconds) {
  const seconds = Math.floor(Math.abs(milliseconds) / 1000);
  if (seconds < 1) return "now";
  const unit = UNITS.find(([size]) => seconds >= size);
  let text = `${seconds} s`;
  if (seconds >= 2 * YEAR) {
    text = `${Math.round((seconds * 10) / YEAR) / 10} years`;
  } else if (unit) {
    const [size, name, below, small] = unit;
    const rest = Math.floor((seconds % size) / below);
    text = `${Math.floor(seconds / size)} ${name}${rest ? ` ${rest} ${small}` : ""}`;
  }
  return milliseconds > 0 ? `in ${text}` : `${text} ago`;
}

function tick() {
  if (document.hidden) return;
  const now = serverNow();
  for (const one of document.querySelectorAll("time[data-ago]")) {
    const away = Date.parse(one.dateTime) - now;
    // A countdown that has ended shows "now" until the page is read again, and never "ago".
    const text = distance(one.dataset.ago === "ahead" ? Math.max(0, away) : away);
    if (one.textContent !== text) one.textContent = text;
  }
}

export function startAges() {
  tick();
  setInterval(tick, 1000);
}
