// How old the data are, counted from the last request that succeeded: indicator and banner.

const SETTLED = 10000;
const SOCKET_PATIENCE = 15000;

let readAt = performance.timeOrigin;
let failure = "";
let askedAt = 0;
let lostAt = 0;
// Since when the page could have been read: not hidden, paused or asleep.
let awakeAt = Date.now();
let shownAt = Date.now();

export function age() {
  return Date.now() - readAt;
}

export function asking() {
  askedAt = askedAt || Date.now();
  return Date.now();
}

export function succeeded(since) {
  readAt = since;
  failure = "";
  askedAt = 0;
}

export function failed(reason) {
  failure = reason;
  askedAt = 0;
}

export function socketIs(state) {
  lostAt = state === "reconnecting" ? lostAt || Date.now() : 0;
}

export function socketIsLost() {
  return lostAt > 0;
}

export function reasonOf(status) {
  if (status === 503) return "The server cannot reach its database.";
  return status ? `The server answers with an error (${status}).` : "The server does not answer.";
}

// While everything answers, no page gets as old as `limit`.
function complaint(limit) {
  if (failure) return failure;
  if (Math.min(age(), Date.now() - awakeAt) > limit) return askedAt ? reasonOf(0) : "This page has not been updated.";
  return lostAt && Date.now() - lostAt > SOCKET_PATIENCE ? "The live connection is lost." : "";
}

function words(milliseconds) {
  const seconds = Math.floor(milliseconds / 1000);
  return seconds < 120 ? `${seconds} s old` : `${Math.floor(seconds / 60)} m old`;
}

function put(element, text) {
  if (element && element.textContent !== text) element.textContent = text;
}

export function showFreshness(state, limit) {
  const button = document.getElementById("live");
  if (!button) return;
  const paused = state === "paused";
  if (paused || document.hidden || Date.now() - shownAt > 5000) awakeAt = Date.now();
  shownAt = Date.now();
  const wrong = paused ? "" : complaint(limit);
  const shown = state === "live" && wrong ? "stale" : state;
  const old = age() > SETTLED || (shown !== "live" && age() > 3000) ? words(age()) : "";
  put(document.getElementById("live-word"), old ? `${shown}, ` : shown);
  put(document.getElementById("live-age"), old);
  button.dataset.state = shown;
  button.setAttribute("aria-pressed", String(!paused));
  button.setAttribute("aria-label", `Live updates: ${shown}${shown === "live" ? "" : old && `, data ${old}`}`);
  button.title = `Live updates (r): data ${words(age())}`;
  showBanner(wrong);
}

function showBanner(wrong) {
  const banner = document.getElementById("stale");
  if (!banner) return;
  // Screen readers hear the reason once, not each second.
  put(document.getElementById("stale-reason"), wrong);
  put(document.getElementById("stale-age"), wrong ? `Data on this page: ${words(age())}.` : "");
  banner.hidden = !wrong;
}
