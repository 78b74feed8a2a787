// One socket per tab that comes back by itself: after a restart, a sleep, a change of network.
import { waitAfter } from "./backoff.js";

const FIRST_WAIT = 1000;
const LONGEST_WAIT = 30000;
const QUIET = 20000;
const ANSWER = 10000;
// A connection that ends sooner counts as one more failure: a server that accepts and closes at once
// is asked as seldom as one that refuses.
const STEADY = 10000;

export class Socket {
  constructor(path, { onMessage, onState }) {
    this.url = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`;
    this.onMessage = onMessage;
    this.onState = onState;
    this.failures = 0;
    this.heardAt = 0;
    this.greetedAt = 0;
    this.beatAt = Date.now();
    setInterval(() => this.#beat(), 5000);
    window.addEventListener("online", () => this.#again(0));
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.#beat(); });
    // A page that the browser kept for the back button has lost its socket.
    window.addEventListener("pageshow", (event) => { if (event.persisted) this.#again(0); });
    this.#connect();
  }

  // Asks at once, as after signing in again in another tab.
  again() {
    this.#again(0);
  }

  #connect() {
    clearTimeout(this.timer);
    this.timer = 0;
    const replaced = this.socket;
    const socket = new WebSocket(this.url);
    this.socket = socket;
    this.openedAt = Date.now();
    this.greetedAt = 0;
    // One that is still connecting would stay open beside the new one.
    replaced?.close();
    socket.addEventListener("message", (event) => {
      if (this.socket !== socket) return;
      this.heardAt = Date.now();
      const message = JSON.parse(event.data);
      if (message.topic === "hello") {
        this.greetedAt = Date.now();
        this.onState("live");
      }
      if (message.topic) this.onMessage(message);
    });
    socket.addEventListener("close", (event) => {
      if (this.socket !== socket) return;
      this.socket = null;
      if (event.code === 4401) { this.onState("signed-out"); return; }
      this.onState("reconnecting");
      const isSteady = this.greetedAt && Date.now() - this.greetedAt > STEADY;
      this.failures = isSteady ? 1 : this.failures + 1;
      this.#again(waitAfter(this.failures, FIRST_WAIT, LONGEST_WAIT));
    });
  }

  #again(wait) {
    if (this.socket && this.socket.readyState === WebSocket.OPEN && wait === 0) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#connect(), wait);
  }

  #beat() {
    const now = Date.now();
    const slept = now - this.beatAt > 20000;
    this.beatAt = now;
    const socket = this.socket;
    if (!socket) { if (slept) this.#again(0); return; }
    const heard = Math.max(this.heardAt, this.openedAt);
    if (slept || now - heard > QUIET + ANSWER) {
      // A half-open connection is silent and never closes: abandon it.
      socket.close();
      this.socket = null;
      this.onState("reconnecting");
      this.#again(0);
    } else if (now - heard > QUIET && socket.readyState === WebSocket.OPEN) {
      socket.send('{"type":"ping"}');
    }
  }
}
