// The triggers, what they have created and spent, and the inboxes whose deliveries they judge.

import { get, optional } from "./api.js";
import { anchor, block, facts, fill, h, outcome } from "./dom.js";
import { count, moment } from "./format.js";
import { showInboxes } from "./inboxes.js";
import { showPages } from "./list.js";
import { spending } from "./spend.js";

const LIMIT = "50";
/** Longest beginning of a prompt in the list. */
const MAX_PROMPT = 90;

/** @typedef {Awaited<ReturnType<typeof get<"/v1/triggers">>>["triggers"][number]} Trigger */
/** @typedef {Awaited<ReturnType<typeof get<"/v1/work-orders">>>["workOrders"][number]} Order */

/** @param {Trigger} of */
const state = (of) => (of.pausedReason ? `paused: ${of.pausedReason.replaceAll("_", " ")}` : of.enabled ? "on" : "off");

/** @type {import("./address.js").Page} */
export async function showTriggers(place, where, signal) {
  const id = where.get("id");
  if (id) return showTrigger(place, id, signal);
  const [list, inboxes] = [h("section", {}, h("p", { class: "busy" }, "Reading the triggers")), h("section", {}, h("p", { class: "busy" }, "Reading the inboxes"))];
  fill(place, h("h2", {}, "Triggers"), list, h("h2", {}, "Inboxes"), inboxes);
  const spent = await spending(signal);
  await Promise.all([showInboxes(inboxes, signal), showPages(list, {
    caption: "Triggers", none: "There are no triggers. `awo triggers create` makes one.",
    columns: [{ name: "Trigger" }, { name: "State" }, { name: "Events" }, { name: "Action" }, { name: "Fired last" }, { name: "Refused in a row", number: true }, { name: "Credits, this month", number: true }],
    row: (/** @type {Trigger} */ of) => [anchor(of.name, "triggers", { id: of.id }, `Trigger ${of.name}`), outcome(state(of)), of.events.join(", "), of.action.replaceAll("_", " "), moment(of.lastFiredAt), of.consecutiveRefusals, spent(of.id)],
  }, async (cursor) => {
    const page = await get("/v1/triggers", { limit: LIMIT, ...(cursor ? { cursor } : {}) }, { signal });
    return { items: page.triggers, total: page.total, next: page.nextCursor };
  })]);
}

/** @param {HTMLElement} place @param {string} id @param {AbortSignal} signal */
async function showTrigger(place, id, signal) {
  const [of, spent] = await Promise.all([get("/v1/triggers/{id}", {}, { path: { id }, signal }), spending(signal)]);
  const inbox = await optional(get("/v1/inboxes/{id}", {}, { path: { id: of.inboxId }, signal }));
  const list = h("section", {}, h("p", { class: "busy" }, "Reading its work orders"));
  const { who, limits } = of;
  const actors = [`permission ${who.permission}`, ...(who.users ? [`users ${who.users.join(", ")}`] : []), ...(who.excludeUsers ? [`not ${who.excludeUsers.join(", ")}`] : []), ...(who.bots ? [`bots ${who.bots.join(", ")}`] : [])];
  fill(place, h("p", {}, anchor("‹ Triggers and inboxes", "triggers")), h("h2", { class: "id" }, of.name),
    facts("The trigger", [["Id", of.id], ["State", outcome(state(of))], ["Deliveries of", anchor("value" in inbox ? inbox.value.name : of.inboxId, "inboxes", { id: of.inboxId })], ["Events", of.events.join(", ")],
      ["Repositories", of.repositories.join(", ") || "–"], ["Filters", Object.entries(of.filter).map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join("; ") || "none"], ["Who may", actors.join("; ")],
      ["Action", of.action.replaceAll("_", " ")], ["On branches of others", of.onForeign ?? "–"], ["Gathers for", `${count(of.settleSeconds)} s`], ["At most", `${count(limits.perSubject)} about one subject, ${count(limits.perHour)} an hour`],
      ["Refused in a row", `${of.consecutiveRefusals}; it pauses after 10`], ["Fired last", moment(of.lastFiredAt)], ["Credits, this month", spent(of.id)], ["Made by", of.createdBy]]),
    h("h2", {}, "Work orders that it created"), list, h("h2", {}, "The work order that it creates"), block("Work order", JSON.stringify(of.workOrder, null, 2)));
  await showOrders(list, { triggerId: id }, signal);
}

/** The work orders of a trigger or a schedule. @param {HTMLElement} list @param {Record<string, string>} origin @param {AbortSignal} signal */
export function showOrders(list, origin, signal) {
  return showPages(list, {
    caption: "Work orders, newest first", none: "It has created none.",
    columns: [{ name: "Task" }, { name: "Status" }, { name: "About" }, { name: "By" }, { name: "Pull request" }, { name: "Created at" }],
    row: (/** @type {Order} */ of) => [anchor(of.taskPrompt.slice(0, MAX_PROMPT) || of.id, "runs", { run: of.runId }, `Run ${of.runId}: ${of.taskPrompt.slice(0, MAX_PROMPT)}`), outcome(of.status), of.origin?.subject ?? "–", of.origin?.actor ?? "–",
      of.pullRequest ? h("span", {}, outcome(of.pullRequest.state), ` ${of.pullRequest.number}`) : "–", moment(of.createdAt)],
  }, async (cursor) => {
    const page = await get("/v1/work-orders", { ...origin, limit: LIMIT, ...(cursor ? { cursor } : {}) }, { signal });
    return { items: page.workOrders, total: page.total, next: page.nextCursor };
  });
}
