// The inboxes, what senders delivered to them, and what became of each delivery.

import { get, intention } from "./api.js";
import { anchor, facts, fill, h, link, outcome } from "./dom.js";
import { moment } from "./format.js";
import { showPages } from "./list.js";
import { may } from "./scopes.js";
import { act } from "./webhooks.js";

const LIMIT = "50";
const OUTCOMES = ["pending", "created", "followed_up", "joined", "failed", "refused", "ignored"];
/** Why nothing came of a delivery, by the words of the log. @type {Record<string, string>} */
const REASONS = {
  event: "not about this event", body_gone: "its body is no longer kept", error: "its processing failed", repository: "of another repository", self: "an act of the service itself", foreign: "no thread has this branch",
  fork: "a pull request from a fork", bot: "a bot that the trigger does not name", permission_unknown: "the forge did not say what the actor may", "limit:perSubject": "too many about one subject", "limit:perHour": "too many within an hour",
  credits: "there were too few credits", budget: "a budget was used up", queue_full: "the queue was full", invalid: "the work order was not valid", suspended: "the organization is suspended", key_revoked: "the key that wrote the trigger was revoked",
  thread_full: "the thread was full", waiting_full: "too many follow-ups wait", thread_gone: "the thread was purged",
};

/** @typedef {Awaited<ReturnType<typeof get<"/v1/inboxes">>>["inboxes"][number]} Inbox */
/** @typedef {Awaited<ReturnType<typeof get<"/v1/inboxes/{id}/deliveries">>>["deliveries"][number]} Delivery */

/** @param {string | undefined} reason */
function told(reason) {
  if (!reason) return "";
  const [kind, what] = reason.split(":");
  const text = REASONS[reason] ?? (kind === "filter" ? `the filter ${what} does not hold` : kind === "who" ? `the actor may not: ${what}` : reason);
  return `: ${text}`;
}

/** @param {HTMLElement} list @param {AbortSignal} signal */
export function showInboxes(list, signal) {
  return showPages(list, {
    caption: "Inboxes", none: "There are no inboxes. `awo inboxes create` makes one.",
    columns: [{ name: "Inbox" }, { name: "State" }, { name: "Kind" }, { name: "Host" }, { name: "Created at" }],
    row: (/** @type {Inbox} */ of) => [anchor(of.name, "inboxes", { id: of.id }, `Inbox ${of.name}`), outcome(of.enabled ? "on" : "off"), of.kind, of.host ?? "–", moment(of.createdAt)],
  }, async (cursor) => {
    const page = await get("/v1/inboxes", { limit: LIMIT, ...(cursor ? { cursor } : {}) }, { signal });
    return { items: page.inboxes, total: page.total, next: page.nextCursor };
  });
}

/** @type {import("./address.js").Page} */
export async function showInbox(place, where, signal) {
  const id = where.get("id") ?? "";
  const of = await get("/v1/inboxes/{id}", {}, { path: { id }, signal });
  const [said, list] = [h("div", {}), h("section", {}, h("p", { class: "busy" }, "Reading the deliveries"))];
  const wanted = where.get("outcome") ?? "";
  const select = h("select", {}, ["", ...OUTCOMES].map((name) => h("option", { value: name, selected: name === wanted }, name.replaceAll("_", " ") || "all")));
  const reading = () => deliveries(list, said, id, select.value, signal);
  select.addEventListener("change", () => void reading());
  fill(place, h("p", {}, anchor("‹ Triggers and inboxes", "triggers")), h("h2", { class: "id" }, of.name),
    facts("The inbox", [["Id", of.id], ["State", outcome(of.enabled ? "on" : "off")], ["Kind", of.kind], ["Host", of.host ?? "–"], ["Address for the sender", new URL(`../v1/hooks/${encodeURIComponent(id)}`, document.baseURI).href],
      ["Created at", moment(of.createdAt)], ...(of.previousSecretExpiresAt ? [/** @type {[string, string]} */ (["The secret before is accepted until", moment(of.previousSecretExpiresAt)])] : [])]),
    h("h2", {}, "Deliveries"), h("div", { class: "row" }, h("label", {}, "Outcome", select), h("button", { type: "button", onclick: () => void reading() }, "Read again")), said, list);
  await reading();
}

/** @param {HTMLElement} list @param {HTMLElement} said @param {string} id @param {string} wanted @param {AbortSignal} signal */
async function deliveries(list, said, id, wanted, signal) {
  const [mayWrite, mayCreate] = await Promise.all([may("triggers:write").catch(() => true), may("work-orders:write").catch(() => true)]);
  const again = intention();
  const replay = (/** @type {Delivery} */ of) => act(said, async () => {
    await again(`/v1/inboxes/${encodeURIComponent(id)}/deliveries/${encodeURIComponent(of.id)}/replay`);
    await deliveries(list, said, id, wanted, signal);
    return "It is judged once more, within a minute.";
  });
  await showPages(list, {
    caption: "Deliveries of the last 30 days, newest first", none: wanted ? "No delivery has this outcome." : "Nothing was delivered yet.",
    columns: [{ name: "Delivery" }, { name: "Event" }, { name: "About" }, { name: "By" }, { name: "Outcome" }, { name: "Triggers" }, { name: "Received at" }, ...(mayWrite && mayCreate ? [{ name: "Again" }] : [])],
    row: (/** @type {Delivery} */ of) => [of.id.slice(-8), of.event, of.subject ?? "–", of.actor ?? "–", h("span", {}, outcome(of.outcome.replaceAll("_", " ")), of.reason === "event" ? ": no trigger is about this event" : told(of.reason)), judged(of), moment(of.receivedAt),
      ...(mayWrite && mayCreate ? [of.outcome === "pending" ? "" : link("Replay", () => void replay(of), `Replay ${of.id}`)] : [])],
  }, async (cursor) => {
    const page = await get("/v1/inboxes/{id}/deliveries", { limit: LIMIT, ...(wanted ? { outcome: wanted } : {}), ...(cursor ? { cursor } : {}) }, { path: { id }, signal });
    return { items: page.deliveries, total: page.total, next: page.nextCursor };
  });
}

/** What each trigger made of a delivery, and why. @param {Delivery} of */
function judged(of) {
  if (of.triggers.length === 0) return "–";
  return h("ul", { class: "lines" }, of.triggers.map((one) => h("li", {}, anchor(one.triggerId.slice(-8), "triggers", { id: one.triggerId }, `Trigger ${one.triggerId}, ${one.triggerId.slice(-8)}`), " ", outcome(one.result.replaceAll("_", " ")), told(one.reason),
    one.workOrderId ? h("span", {}, ": ", anchor("its runs", "runs", { order: one.workOrderId }, `Runs of ${one.workOrderId}, its runs`)) : null)));
}
