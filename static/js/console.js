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

// Sends forms; without this module the browser does.
if (document.querySelector('main [name="form_key"]')) import("./sending.js").catch(() => {});
