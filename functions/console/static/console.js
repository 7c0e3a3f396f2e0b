// The page: which part of it is shown, and the key. Where one is stands behind the # of the address, which
// a browser sends nowhere; the key stands in no address.

import { key, reason, setKey } from "./api.js";
import { showClose } from "./close.js";
import { announce, byId, fill, h, problem } from "./dom.js";
import { showInvoice } from "./invoice.js";
import { showInbox } from "./inboxes.js";
import { showKey } from "./key.js";
import { showMoney } from "./money.js";
import { showOutcomes } from "./outcomes.js";
import { showWaiting } from "./queue.js";
import { showRuns } from "./runs.js";
import { may } from "./scopes.js";
import { showSchedules } from "./schedules.js";
import { showSetup } from "./setup.js";
import { showSubmit } from "./submit.js";
import { showThread } from "./thread.js";
import { showTriggers } from "./triggers.js";
import { showWebhooks } from "./webhooks.js";

/** A page with `within` belongs to another one, which the navigation marks. @type {Record<string, {title: string, show: import("./address.js").Page, within?: string}>} */
const PAGES = {
  money: { title: "Money", show: showMoney }, invoice: { title: "Invoice", show: showInvoice }, close: { title: "End of a month", show: showClose, within: "money" }, runs: { title: "Runs", show: showRuns },
  submit: { title: "New work order", show: showSubmit, within: "runs" }, queue: { title: "Queue", show: showWaiting, within: "runs" }, thread: { title: "Thread", show: showThread, within: "runs" },
  outcomes: { title: "Outcomes", show: showOutcomes }, triggers: { title: "Triggers", show: showTriggers }, inboxes: { title: "Inbox", show: showInbox, within: "triggers" },
  schedules: { title: "Schedules", show: showSchedules }, webhooks: { title: "Webhooks", show: showWebhooks }, setup: { title: "Setup", show: showSetup }, key: { title: "Key", show: showKey, within: "key" },
};

let shown = new AbortController();
/** Where somebody begins who names no page: without a scope for money, at the runs. @type {string | null} */
let first = null;

/** @param {string | null} text */
function enter(text) {
  setKey(text);
  first = null;
  dispatchEvent(new Event("awo-key"));
}

function signIn() {
  byId("nav").hidden = true;
  const input = h("input", { type: "password", name: "key", autocomplete: "off", spellcheck: "false", required: true, placeholder: "org_live_…", "aria-describedby": "about-key" });
  const form = h("form", { class: "row" }, h("label", {}, "API key", input), h("button", { type: "submit" }, "Open"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    enter(input.value.trim());
    void show();
  });
  document.title = "Agent Work Orders";
  fill(byId("main"), h("h2", {}, "Which organization?"), form,
    h("p", { id: "about-key", class: "note" }, "The key stays in this tab until it is closed. runs:read and work-orders:read show runs, credits:read money, budgets:read budgets; runs:write and work-orders:write allow to stop and start."));
  input.focus();
}

/** @param {string} current */
function navigation(current) {
  const nav = byId("nav");
  nav.hidden = false;
  const marked = PAGES[current]?.within ?? current;
  fill(nav, Object.entries(PAGES).filter(([, page]) => !page.within).map(([name, page]) => h("a", { href: `#/${name}`, "aria-current": name === marked ? "page" : null }, page.title)),
    h("a", { class: "who", href: "#/key", "aria-current": current === "key" ? "page" : null }, `Key …${(key() ?? "").slice(-4)}`), h("a", { href: "../docs" }, "Documents"),
    h("button", { type: "button", onclick: () => { enter(null); shown.abort(); signIn(); announce("The key is forgotten."); } }, "Forget the key"));
}

async function begin() {
  first ??= (await may("credits:read")) ? "money" : "runs";
  return first;
}

async function show() {
  shown.abort();
  shown = new AbortController();
  const { signal } = shown;
  if (!key()) return signIn();
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const main = byId("main");
  try {
    const name = Object.hasOwn(PAGES, path) ? path : await begin();
    if (signal.aborted) return;
    navigation(name);
    const more = new URLSearchParams(query);
    document.title = [more.get("run") ?? more.get("id") ?? more.get("name"), PAGES[name]?.title, "Agent Work Orders"].filter(Boolean).join(" · ");
    await PAGES[name]?.show(main, more, signal);
  } catch (error) {
    if (signal.aborted) return;
    const refused = error instanceof Error && "status" in error && error.status === 401;
    fill(main, problem(refused ? "The service does not know this key." : "This cannot be shown.", reason(error), refused ? null : () => void show()));
    if (refused) main.append(h("button", { type: "button", onclick: () => { enter(null); signIn(); } }, "Enter another key"));
  }
}

addEventListener("hashchange", () => {
  // People who read with a screen reader go on at what is new.
  byId("main").focus({ preventScroll: true });
  scrollTo(0, 0);
  void show();
});
void show();
