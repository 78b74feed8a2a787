// Live pages: the socket reports which topics changed, the page reads itself again and morphs.
// A region is `<section id data-live="executions tasks">`; `data-live-every="5"` asks by the clock.
import { waitAfter } from "./backoff.js";
import { age, asking, failed, reasonOf, showFreshness, socketIs, socketIsLost, succeeded } from "./freshness.js";
import { Socket } from "./socket.js";
import { catchUp, toast } from "./toasts.js";
import { hasTyped, morph } from "./morph.js";

const EVERYTHING = "*";
const LEAST_GAP = 1000;
// A page rests for a multiple of what its last reading took, so that an expensive page is read seldom.
const REST = 5;
const LONGEST_REST = 10000;
// Without a socket; not of all tabs at one moment.
const POLL = 9000 + Math.random() * 2000;
// Hints get lost: a page is read without one, too.
const UNTOLD = 15000;
const ANSWERS_WITHIN = 8000;
// After a reading that failed; the longest wait is as long as a page without use rests.
const FIRST_RETRY = 4000;
const LONGEST_RETRY = 30000;
const SIGNED_OUT = "Your session has ended: sign in in another tab.";
const IDLE_AFTER = 600000;
const IDLE_GAP = 30000;
const LEAVE_WITHIN = 10000;

const dirty = new Set();
let socket = null;
let state = "connecting";
let paused = false;
let busy = false;
let endedAt = Date.now();
let took = 0;
let failures = 0;
let retryAt = 0;
// Alerts that were announced while nothing is fetched: hidden or paused.
let isOwedAlerts = false;
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

function leaveIfGone(answer) {
  const signedOut = answer.redirected && new URL(answer.url).pathname === "/login";
  // The object of the page may be deleted meanwhile: the server reports it once, as a page.
  if (!signedOut && answer.status !== 404) return "";
  if (!hasTyped()) { location.reload(); return "gone"; }
  return signedOut ? SIGNED_OUT : "What this page shows has been deleted.";
}

// The parts that the server need not send again while they are the same.
function versions() {
  return [...document.querySelectorAll("[data-version]")].map((one) => `${one.id}=${one.dataset.version}`).join(" ");
}

// Reads the page, or only checks whether the server answers; returns the error.
async function read(wanted, signal) {
  const headers = { "X-Live": "1", "X-Live-Have": versions(), Accept: "text/html" };
  // An answer without its parts must not be what Back shows for this address.
  const options = { headers, signal, cache: "no-store" };
  const answer = await fetch(wanted.length ? location.href : document.body.dataset.pulse, options);
  const gone = leaveIfGone(answer);
  if (gone) return gone;
  if (answer.ok && wanted.length) {
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    wanted.forEach((one) => morph(one, fresh.getElementById(one.id)));
    document.dispatchEvent(new CustomEvent("live:morphed"));
  }
  return answer.ok ? "" : reasonOf(answer.status);
}

async function refresh() {
  const wanted = concerned();
  if (!wanted.length && !dirty.has(EVERYTHING)) { dirty.clear(); return; }
  busy = true;
  const left = reading.signal;
  const asked = [...dirty];
  dirty.clear();
  wanted.forEach((one) => one.setAttribute("aria-busy", "true"));
  const since = asking();
  // A frozen server never closes.
  const signal = AbortSignal.any([left, AbortSignal.timeout(ANSWERS_WITHIN)]);
  let reason = reasonOf(0);
  try {
    reason = await read(wanted, signal);
  } catch {
    // The server is away or too slow: the page is read again later.
  } finally {
    regions().forEach((one) => one.removeAttribute("aria-busy"));
    endedAt = Date.now();
    took = endedAt - since;
    busy = false;
  }
  if (!reason) {
    forgive();
    succeeded(since);
    if (state === "signed-out") { state = "connecting"; socket.again(); }
  } else {
    asked.forEach((topic) => dirty.add(topic));
    if (left.aborted) return;
    failures += 1;
    retryAt = Date.now() + waitAfter(failures, FIRST_RETRY, LONGEST_RETRY);
    failed(reason);
  }
  show();
}

function interval() {
  const own = [...document.querySelectorAll("[data-live-every]")].map((one) => Number(one.dataset.liveEvery) * 1000);
  return Math.max(gap(), Math.min(socketIsLost() ? POLL : UNTOLD, ...own));
}

function gap() {
  if (Date.now() - usedAt > IDLE_AFTER) return IDLE_GAP;
  // What a person asks for is not kept waiting.
  return dirty.has(EVERYTHING) ? LEAST_GAP : Math.max(LEAST_GAP, Math.min(LONGEST_REST, REST * took));
}

function look() {
  show();
  if (paused || document.hidden) return;
  if (isOwedAlerts) { isOwedAlerts = false; catchUp(); }
  if (busy || Date.now() < retryAt || Date.now() - leftAt < LEAVE_WITHIN) return;
  if (age() > (socketIsLost() ? POLL : UNTOLD)) dirty.add(EVERYTHING);
  for (const one of document.querySelectorAll("[data-live-every]")) {
    if (age() > Number(one.dataset.liveEvery) * 1000) dirty.add(one.dataset.live.split(" ")[0]);
  }
  if (dirty.size && Date.now() - endedAt >= gap()) refresh();
}

// The server is known to answer: nothing waits any more.
function forgive() {
  failures = 0;
  retryAt = 0;
}

function show() {
  showFreshness(paused ? "paused" : state, interval() + 5000);
}

export function togglePause() {
  paused = !paused;
  if (!paused) readNow();
  look();
}

// A person has come back: the page is read at once, also after failures, and one time.
function readNow() {
  forgive();
  usedAt = Date.now();
  dirty.add(EVERYTHING);
}

// The visitor leaves the page, perhaps after deleting its object: it is not read again. A download
// leaves no page, so reading resumes after a while.
function onLeave() {
  leftAt = Date.now();
  reading.abort();
  reading = new AbortController();
}

function onMessage(message) {
  // The server decides which alerts are for this member; only an answer to a click comes as it is.
  if (message.topic === "alert" && message.severity === "info") toast(message);
  dirty.add(message.topic === "hello" ? EVERYTHING : message.topic === "alert" ? "alerts" : message.topic);
  if (message.topic === "hello" || message.topic === "alert") isOwedAlerts = true;
  look();
}

function onState(next) {
  if (next === "signed-out" && !hasTyped()) { location.reload(); return; }
  socketIs(next);
  if (next === "live") forgive();
  state = next;
  show();
}

export function startLive() {
  if (!document.body.dataset.liveUrl) return;
  socket = new Socket(document.body.dataset.liveUrl, { onMessage, onState });
  document.getElementById("live")?.addEventListener("click", togglePause);
  window.addEventListener("beforeunload", onLeave);
  window.addEventListener("pageshow", () => { leftAt = 0; });
  document.addEventListener("live:refresh", () => { dirty.add(EVERYTHING); look(); });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) { readNow(); look(); }
  });
  for (const kind of ["pointerdown", "keydown", "wheel"]) {
    document.addEventListener(kind, () => { usedAt = Date.now(); }, { passive: true });
  }
  setInterval(look, 500);
  show();
}
