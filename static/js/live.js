// Live pages: the socket says what changed, the page reads the truth again and morphs into it.
// A region is `<section id data-live="executions tasks">`; `data-live-every="5"` asks by the clock.
import { distance } from "./ages.js";
import { Socket } from "./socket.js";
import { catchUp, toast } from "./toasts.js";
import { morph } from "./morph.js";

const EVERYTHING = "*";
const LEAST_GAP = 1000;
const POLL = 10000;
const BANNER_AFTER = 15000;
const IDLE_AFTER = 600000;
const IDLE_GAP = 30000;
const LEAVE_WITHIN = 10000;

const dirty = new Set();
let state = "connecting";
let paused = false;
let busy = false;
let readAt = Date.now();
let lostAt = 0;
let usedAt = Date.now();
let leftAt = 0;
let reading = new AbortController();

function regions() {
  return [...document.querySelectorAll("[data-live]")];
}

function concerned() {
  if (dirty.has(EVERYTHING)) return regions();
  return regions().filter((one) => one.dataset.live.split(" ").some((topic) => dirty.has(topic)));
}

async function refresh() {
  const wanted = concerned();
  if (!wanted.length) { dirty.clear(); return; }
  busy = true;
  const asked = [...dirty];
  dirty.clear();
  wanted.forEach((one) => one.setAttribute("aria-busy", "true"));
  try {
    const headers = { "X-Live": "1", Accept: "text/html" };
    const answer = await fetch(location.href, { headers, signal: reading.signal });
    const signedOut = answer.redirected && new URL(answer.url).pathname === "/login";
    // What the page shows may be deleted meanwhile: the server says so once, as a page.
    if (signedOut || answer.status === 404) { location.reload(); return; }
    if (!answer.ok) throw new Error(String(answer.status));
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    wanted.forEach((one) => morph(one, fresh.getElementById(one.id)));
    readAt = Date.now();
    document.dispatchEvent(new CustomEvent("live:morphed"));
  } catch {
    // The server is away: what was to be read stays wanted, and the next look tries again.
    asked.forEach((topic) => dirty.add(topic));
  } finally {
    regions().forEach((one) => one.removeAttribute("aria-busy"));
    busy = false;
  }
}

function look() {
  show();
  if (busy || paused || document.hidden || Date.now() - leftAt < LEAVE_WITHIN) return;
  const age = Date.now() - readAt;
  if (lostAt && Date.now() - lostAt > BANNER_AFTER && age > POLL) dirty.add(EVERYTHING);
  for (const one of document.querySelectorAll("[data-live-every]")) {
    if (age > Number(one.dataset.liveEvery) * 1000) dirty.add(one.dataset.live.split(" ")[0]);
  }
  const gap = Date.now() - usedAt > IDLE_AFTER ? IDLE_GAP : LEAST_GAP;
  if (dirty.size && age >= gap) refresh();
}

function show() {
  const button = document.getElementById("live");
  if (!button) return;
  const now = paused ? "paused" : state;
  const age = Date.now() - readAt;
  const stale = now !== "live" && age > 3000 ? `, ${distance(-age)}` : "";
  const text = `${now}${stale}`;
  const label = document.getElementById("live-text");
  if (label.textContent !== text) label.textContent = text;
  button.dataset.state = now;
  button.setAttribute("aria-pressed", String(!paused));
  button.setAttribute("aria-label", `Live updates: ${now}`);
  const banner = document.getElementById("disconnected");
  if (banner) banner.hidden = !(lostAt && Date.now() - lostAt > BANNER_AFTER);
}

export function togglePause() {
  paused = !paused;
  if (!paused) dirty.add(EVERYTHING);
  look();
}

// The page is being left, perhaps for having deleted what it shows: it is not read again. A
// download leaves no page, so looking goes on after a while.
function onLeave() {
  leftAt = Date.now();
  reading.abort();
  reading = new AbortController();
}

function onMessage(message) {
  // Which alerts are for this member the server says; only an answer to a click comes as it is.
  if (message.topic === "alert" && message.severity === "info") toast(message);
  dirty.add(message.topic === "hello" ? EVERYTHING : message.topic === "alert" ? "alerts" : message.topic);
  if (message.topic === "hello" || message.topic === "alert") catchUp();
  look();
}

function onState(next) {
  if (next === "signed-out") { location.reload(); return; }
  lostAt = next === "reconnecting" ? lostAt || Date.now() : 0;
  state = next;
  show();
}

export function startLive() {
  if (!document.body.dataset.liveUrl) return;
  new Socket(document.body.dataset.liveUrl, { onMessage, onState });
  document.getElementById("live")?.addEventListener("click", togglePause);
  window.addEventListener("beforeunload", onLeave);
  window.addEventListener("pageshow", () => { leftAt = 0; });
  document.addEventListener("live:refresh", () => { dirty.add(EVERYTHING); look(); });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) { dirty.add(EVERYTHING); look(); }
  });
  for (const kind of ["pointerdown", "keydown", "wheel"]) {
    document.addEventListener(kind, () => { usedAt = Date.now(); }, { passive: true });
  }
  setInterval(look, 500);
  show();
}
