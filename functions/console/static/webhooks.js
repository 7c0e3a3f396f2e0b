// The webhooks, what was delivered to them, and what was not.

import { get, intention, post, reason } from "./api.js";
import { anchor, announce, facts, fill, h, link, outcome, problem } from "./dom.js";
import { moment } from "./format.js";
import { showPages } from "./list.js";
import { may } from "./scopes.js";

const STATUSES = ["pending", "delivered", "abandoned"];
const LIMIT = "50";

/** @typedef {Awaited<ReturnType<typeof get<"/v1/webhooks/{id}/deliveries">>>["deliveries"][number]} Delivery */

/** @type {import("./address.js").Page} */
export async function showWebhooks(place, where, signal) {
  const id = where.get("id");
  if (id) return showWebhook(place, id, where.get("status") ?? "", signal);
  const list = h("section", {}, h("p", { class: "busy" }, "Reading the webhooks"));
  fill(place, h("h2", {}, "Webhooks"), list);
  await showPages(list, {
    caption: "Webhooks", none: "There are no webhooks. `awo webhooks create` makes one.",
    columns: [{ name: "Webhook" }, { name: "State" }, { name: "Events" }, { name: "Description" }, { name: "Created at" }],
    row: (/** @type {Awaited<ReturnType<typeof get<"/v1/webhooks">>>["webhooks"][number]} */ of) => [anchor(of.url, "webhooks", { id: of.id }, `Webhook ${of.url}`), outcome(of.enabled ? "on" : "off"), of.events.join(", "), of.description ?? "–", moment(of.createdAt)],
  }, async (cursor) => {
    const page = await get("/v1/webhooks", { limit: LIMIT, ...(cursor ? { cursor } : {}) }, { signal });
    return { items: page.webhooks, total: page.total, next: page.nextCursor };
  });
}

/** @param {HTMLElement} place @param {string} id @param {string} status @param {AbortSignal} signal */
async function showWebhook(place, id, status, signal) {
  const [of, mayWrite] = await Promise.all([get("/v1/webhooks/{id}", {}, { path: { id }, signal }), may("webhooks:write").catch(() => true)]);
  const [said, list] = [h("div", {}), h("section", {}, h("p", { class: "busy" }, "Reading the deliveries"))];
  const wanted = STATUSES.includes(status) ? status : "";
  const select = h("select", {}, ["", ...STATUSES].map((name) => h("option", { value: name, selected: name === wanted }, name || "all")));
  const read = () => deliveries(list, said, id, select.value, signal);
  select.addEventListener("change", () => void read());
  const test = h("button", { type: "button", onclick: () => act(said, async () => {
    const result = /** @type {{delivered: boolean, statusCode?: number, error?: string}} */ (await post(`/v1/webhooks/${encodeURIComponent(id)}/test`));
    return result.delivered ? `The receiver answered ${result.statusCode}.` : `It was not delivered: ${result.error ?? `the receiver answered ${result.statusCode}`}.`;
  }) }, "Send a test");
  fill(place, h("p", {}, anchor("‹ All webhooks", "webhooks")), h("h2", { class: "id" }, of.url),
    facts("The webhook", [["Id", of.id], ["State", outcome(of.enabled ? "on" : "off")], ["Events", of.events.join(", ")], ["Description", of.description ?? "–"], ["Created at", moment(of.createdAt)],
      ...(of.disabledReason ? [/** @type {[string, string]} */ (["Disabled", `${of.disabledReason}, ${moment(of.disabledAt)}`])] : [])]),
    mayWrite && h("div", { class: "row" }, test), h("h2", {}, "Deliveries"), h("div", { class: "row" }, h("label", {}, "Status", select), h("button", { type: "button", onclick: () => void read() }, "Read again")), said, list);
  await read();
}

/** @param {HTMLElement} list @param {HTMLElement} said @param {string} id @param {string} status @param {AbortSignal} signal */
async function deliveries(list, said, id, status, signal) {
  const [again, mayWrite] = [intention(), await may("webhooks:write").catch(() => true)];
  const redeliver = (/** @type {Delivery} */ of) => act(said, async () => {
    const path = `/v1/webhooks/${encodeURIComponent(id)}/deliveries/${encodeURIComponent(of.id)}/redeliver`;
    const made = /** @type {{id: string}} */ (await again(path));
    await deliveries(list, said, id, status, signal);
    return `It is delivered again as ${made.id}.`;
  });
  await showPages(list, {
    caption: "Deliveries, newest first", none: status ? `No delivery is ${status}.` : "Nothing was delivered yet.",
    columns: [{ name: "Delivery" }, { name: "Event" }, { name: "Status" }, { name: "Attempts" }, { name: "Run" }, { name: "Created at" }, ...(mayWrite ? [{ name: "Again" }] : [])],
    row: (/** @type {Delivery} */ of) => [of.id, of.eventType, outcome(of.status), attempts(of), of.runId ? anchor(of.runId.slice(-8), "runs", { run: of.runId }, `Run ${of.runId}, ${of.runId.slice(-8)}`) : "–", moment(of.createdAt),
      ...(mayWrite ? [of.status === "pending" ? "" : link("Redeliver", () => void redeliver(of), `Redeliver ${of.id}`)] : [])],
  }, async (cursor) => {
    const page = await get("/v1/webhooks/{id}/deliveries", { limit: LIMIT, ...(status ? { status } : {}), ...(cursor ? { cursor } : {}) }, { path: { id }, signal });
    return { items: page.deliveries, total: page.total, next: page.nextCursor };
  });
}

/** @param {Delivery} of */
function attempts(of) {
  const lines = of.attempts.map((one) => h("li", {}, `${moment(one.startedAt)}: ${one.error ?? `answered ${one.statusCode ?? "nothing"}`}`));
  if (of.nextAttemptAt) lines.push(h("li", {}, `next at ${moment(of.nextAttemptAt)}`));
  if (of.abandonedReason) lines.push(h("li", {}, of.abandonedReason));
  return lines.length > 0 ? h("ul", { class: "lines" }, lines) : "none yet";
}

/** @param {HTMLElement} said @param {() => Promise<string>} doing */
export async function act(said, doing) {
  fill(said, h("p", { class: "busy" }, "Asking the service"));
  try {
    const text = await doing();
    fill(said, h("p", { class: "good" }, text));
    announce(text);
  } catch (error) {
    fill(said, problem("The service did not do it.", reason(error)));
  }
}
