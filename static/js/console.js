// The console's script: each part is a module of its own, the page works without all of them.
import { startAges } from "./ages.js";
import { startAppearance } from "./appearance.js";
import { startForms } from "./forms.js";
import { startKeys } from "./keys.js";
import { startLive } from "./live.js";
import { startRows } from "./rows.js";

document.documentElement.classList.add("js");
startAppearance();
startForms();
startAges();
startRows();
startKeys();
startLive();

// Drafts of forms: saved ones end, and no other person of this tab gets them.
if (Object.keys(sessionStorage).some((key) => key.startsWith("draft"))) {
  import("./drafts.js").then(({ settleDrafts, forgetDrafts }) => {
    settleDrafts();
    document.querySelectorAll('form[action="/logout"]').forEach((form) => form.addEventListener("submit", forgetDrafts));
  }).catch(() => {});
}

// Sends forms; without this module the browser does.
if (document.querySelector('main [name="form_key"]')) import("./sending.js").catch(() => {});
