// How old the data on this page are: the indicator tells it, and a banner once it is too much.
// The age counts from the request of the last reading that succeeded, never from its answer.

const SETTLED = 10000;
const SOCKET_PATIENCE = 15000;

// A page kept for the back button, or by a tab that slept, is as old as its first request.
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

// `limit`: the age that the page's readings never reach while everything answers.
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
  // "live" alone says: no older than a moment.
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
  // Readers hear the reason once; the age beside it counts silently.
  put(document.getElementById("stale-reason"), wrong);
  put(document.getElementById("stale-age"), wrong ? `Data on this page: ${words(age())}.` : "");
  banner.hidden = !wrong;
}
