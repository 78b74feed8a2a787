// Alerts as toasts: three at most, the rest as a number; they stay while pointed at or focused.

const MOST = 3;
const SHOWN_FOR = 12000;
let more = 0;

function box() {
  return document.getElementById("toasts");
}

function showMore() {
  box().querySelector(".toast.more")?.remove();
  if (!more) return;
  const link = document.createElement("a");
  link.href = "/alerts";
  link.textContent = `and ${more} more`;
  const toast = document.createElement("div");
  toast.className = "toast more";
  toast.append(document.createElement("span"), link);
  box().append(toast);
}

const SEEN = "punctual.alerts-until";

// Asks for this member's new alerts: after every hint of one, and after any gap.
export async function catchUp() {
  const { recentAlerts, serverTime } = document.body.dataset;
  const after = sessionStorage.getItem(SEEN) || `${serverTime}000`;
  try {
    const answer = await fetch(`${recentAlerts}?after=${after}`, { headers: { Accept: "application/json" } });
    if (!answer.ok) return;
    const { now, alerts } = await answer.json();
    if (now) sessionStorage.setItem(SEEN, String(now));
    alerts.forEach(toast);
  } catch {
    // The server is away; the next hello asks from the same moment on.
  }
}

// A page of this host; anything else, such as //host or /\\host, leads to the list of alerts.
function placeHere(url) {
  const place = URL.canParse(url || "", location.origin) ? new URL(url || "", location.origin) : null;
  const here = place && place.origin === location.origin && /^\/[^/\\]/.test(url || "");
  return here ? place.pathname + place.search + place.hash : "/alerts";
}

export function toast({ id, severity, title, url }) {
  const place = box();
  if (!place || (id && place.querySelector(`[data-alert="${CSS.escape(id)}"]`))) return;
  if (place.querySelectorAll(".toast:not(.more)").length >= MOST) {
    more += 1;
    showMore();
    return;
  }
  const made = document.createElement("div");
  made.className = `toast ${severity === "error" ? "error" : severity === "warning" ? "warning" : ""}`;
  made.dataset.alert = id || "";
  const icon = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  icon.setAttribute("class", "icon");
  icon.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", "/static/console-icons.svg#warning");
  icon.append(use);
  const link = document.createElement("a");
  link.href = placeHere(url);
  link.textContent = title;
  const close = document.createElement("button");
  close.type = "button";
  close.className = "quiet";
  close.setAttribute("aria-label", "Dismiss");
  close.textContent = "×";
  made.append(icon, link, close);
  const drop = () => {
    made.remove();
    if (!place.querySelector(".toast:not(.more)")) { more = 0; showMore(); }
  };
  close.addEventListener("click", drop);
  let timer = setTimeout(drop, SHOWN_FOR);
  const stay = () => clearTimeout(timer);
  const leave = () => { clearTimeout(timer); timer = setTimeout(drop, SHOWN_FOR); };
  made.addEventListener("mouseenter", stay);
  made.addEventListener("mouseleave", leave);
  made.addEventListener("focusin", stay);
  made.addEventListener("focusout", leave);
  place.append(made);
}
