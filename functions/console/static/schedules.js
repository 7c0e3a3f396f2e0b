// The schedules, when they fire next, and what came of each firing.

import { get, intention } from "./api.js";
import { anchor, block, facts, fill, h, outcome } from "./dom.js";
import { moment } from "./format.js";
import { showPages } from "./list.js";
import { may } from "./scopes.js";
import { spending } from "./spend.js";
import { act } from "./webhooks.js";

const LIMIT = "50";

/** @typedef {Awaited<ReturnType<typeof get<"/v1/schedules">>>["schedules"][number]} Schedule */
/** @typedef {Awaited<ReturnType<typeof get<"/v1/schedules/{id}/firings">>>["firings"][number]} Firing */

/** @param {Schedule} of */
const state = (of) => (of.pausedReason ? `paused: ${of.pausedReason.replaceAll("_", " ")}` : of.enabled ? "on" : "off");

/** Whether the key may fire and resume, which needs two scopes. */
const mayWrite = async () => (await Promise.all([may("schedules:write").catch(() => true), may("work-orders:write").catch(() => true)])).every(Boolean);

/** @type {import("./address.js").Page} */
export async function showSchedules(place, where, signal) {
  const id = where.get("id");
  if (id) return showSchedule(place, id, signal);
  const list = h("section", {}, h("p", { class: "busy" }, "Reading the schedules"));
  fill(place, h("h2", {}, "Schedules"), list);
  const spent = await spending(signal);
  await showPages(list, {
    caption: "Schedules", none: "There are no schedules. `awo schedules create` makes one.",
    columns: [{ name: "Schedule" }, { name: "State" }, { name: "Cron" }, { name: "Time zone" }, { name: "Next" }, { name: "Fired last" }, { name: "Failures in a row", number: true }, { name: "Credits, this month", number: true }],
    row: (/** @type {Schedule} */ of) => [anchor(of.name, "schedules", { id: of.id }, `Schedule ${of.name}`), outcome(state(of)), of.cron, of.timezone, moment(of.next[0]), moment(of.lastFiredAt), of.consecutiveFailures, spent(of.id)],
  }, async (cursor) => {
    const page = await get("/v1/schedules", { limit: LIMIT, ...(cursor ? { cursor } : {}) }, { signal });
    return { items: page.schedules, total: page.total, next: page.nextCursor };
  });
}

/** @param {HTMLElement} place @param {string} id @param {AbortSignal} signal */
async function showSchedule(place, id, signal) {
  const [of, spent, mayFire] = await Promise.all([get("/v1/schedules/{id}", {}, { path: { id }, signal }), spending(signal), mayWrite()]);
  const [said, list] = [h("div", {}), h("section", {}, h("p", { class: "busy" }, "Reading the firings"))];
  const path = `/v1/schedules/${encodeURIComponent(id)}`;
  const call = intention();
  const button = (/** @type {string} */ text, /** @type {string} */ what, /** @type {string} */ done) =>
    h("button", { type: "button", onclick: () => act(said, async () => { await call(`${path}/${what}`); await firings(list, id, signal); return done; }) }, text);
  fill(place, h("p", {}, anchor("‹ All schedules", "schedules")), h("h2", { class: "id" }, of.name),
    facts("The schedule", [["Id", of.id], ["State", outcome(state(of))], ["Cron", `${of.cron}, ${of.timezone}`], ["Next", of.next.map(moment).join(", ") || "–"], ["While one still runs", of.overlap], ["After an outage", of.catchUp],
      ["Failures in a row", `${of.consecutiveFailures}; it pauses after ${of.pauseAfterFailures}`], ["Begins", moment(of.startsAt)], ["Ends", moment(of.endsAt)], ["Credits, this month", spent(of.id)], ["Made by", of.createdBy]]),
    mayFire && h("div", { class: "row" }, button("Fire now", "fire", "It is fired."), of.pausedReason ? button("Resume", "resume", "It goes on.") : null), said,
    h("h2", {}, "Firings"), list, h("h2", {}, "The work order that it creates"), block("Work order", JSON.stringify(of.workOrder, null, 2)));
  await firings(list, id, signal);
}

/** @param {HTMLElement} list @param {string} id @param {AbortSignal} signal */
async function firings(list, id, signal) {
  await showPages(list, {
    caption: "Firings, newest first", none: "It has not fired yet.",
    columns: [{ name: "For" }, { name: "Result" }, { name: "Reason" }, { name: "Work order" }, { name: "Fired at" }],
    row: (/** @type {Firing} */ of) => [moment(of.scheduledFor), outcome(of.result), of.reason ?? (of.count ? `${of.count} times, ${moment(of.from)} to ${moment(of.to)}` : "–"), of.workOrderId ? anchor(of.workOrderId, "runs", { order: of.workOrderId }) : "–", moment(of.firedAt)],
  }, async (cursor) => {
    const page = await get("/v1/schedules/{id}/firings", { limit: LIMIT, ...(cursor ? { cursor } : {}) }, { path: { id }, signal });
    return { items: page.firings, total: page.total, next: page.nextCursor };
  });
}
