// The page: which part of it is shown, and the key. Where one is stands behind the # of the address, which
// a browser sends nowhere; the key stands in no address.

import { key, reason, setKey } from "./api.js";
import { announce, byId, fill, h, problem } from "./dom.js";
import { showInvoice } from "./invoice.js";
import { showMoney } from "./money.js";
import { showRuns } from "./runs.js";

/** @type {Record<string, {title: string, show: import("./address.js").Page}>} */
const PAGES = { money: { title: "Money", show: showMoney }, invoice: { title: "Invoice", show: showInvoice }, runs: { title: "Runs", show: showRuns } };

let shown = new AbortController();

function signIn() {
  byId("nav").hidden = true;
  const input = h("input", { type: "password", name: "key", autocomplete: "off", spellcheck: "false", required: true, placeholder: "org_live_…", "aria-describedby": "about-key" });
  const form = h("form", { class: "row" }, h("label", {}, "API key", input), h("button", { type: "submit" }, "Open"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    setKey(input.value.trim());
    void show();
  });
  fill(byId("main"), h("h2", {}, "Which organization?"), form,
    h("p", { id: "about-key", class: "note" }, "The key stays in this tab until it is closed. credits:read shows money, runs:read adds runs, budgets:read budgets."));
  input.focus();
}

/** @param {string} current */
function navigation(current) {
  const nav = byId("nav");
  nav.hidden = false;
  fill(nav, Object.entries(PAGES).map(([name, page]) => h("a", { href: `#/${name}`, "aria-current": name === current ? "page" : null }, page.title)),
    h("button", { type: "button", onclick: () => { setKey(null); shown.abort(); signIn(); announce("The key is forgotten."); } }, "Forget the key"));
}

async function show() {
  shown.abort();
  shown = new AbortController();
  const { signal } = shown;
  if (!key()) return signIn();
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const name = Object.hasOwn(PAGES, path) ? path : "money";
  navigation(name);
  const main = byId("main");
  try {
    await PAGES[name]?.show(main, new URLSearchParams(query), signal);
  } catch (error) {
    if (signal.aborted) return;
    const refused = error instanceof Error && "status" in error && error.status === 401;
    fill(main, problem(refused ? "The service does not know this key." : "This cannot be shown.", reason(error), refused ? null : () => void show()));
    if (refused) main.append(h("button", { type: "button", onclick: () => { setKey(null); signIn(); } }, "Enter another key"));
  }
}

addEventListener("hashchange", () => void show());
void show();
