// Theme and time zone: kept in cookies, so that the server draws the page right at once.
import { recall, remember } from "./cookies.js";

const THEMES = ["system", "light", "dark"];

export function nextTheme() {
  const html = document.documentElement;
  const theme = THEMES[(THEMES.indexOf(html.dataset.theme) + 1) % THEMES.length];
  html.dataset.theme = theme;
  remember("punctual_theme", theme);
  document.getElementById("theme")?.setAttribute("aria-label", `Theme: ${theme}`);
  document.dispatchEvent(new CustomEvent("theme:changed"));
}

export function startAppearance() {
  document.getElementById("theme")?.addEventListener("click", nextTheme);
  const clock = document.getElementById("clock");
  clock?.addEventListener("click", () => {
    remember("punctual_clock", clock.dataset.clock === "utc" ? "mine" : "utc");
    location.reload();
  });
  const mine = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
  if (recall("punctual_zone") === mine) return;
  remember("punctual_zone", mine);
  // The first page came in UTC; only a page that reads may be asked for again.
  if (clock && clock.dataset.clock === "mine" && mine !== "UTC") {
    document.dispatchEvent(new CustomEvent("live:refresh"));
  }
}
