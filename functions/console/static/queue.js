// How full the queue is, and what its next work orders wait for.

import { fetched, get, MAX_PAGES, optional } from "./api.js";
import { anchor, fill, h, note, outcome, table } from "./dom.js";
import { between, count } from "./format.js";

/** Most waiting runs whose place is asked for. */
const MAX_WAITING = 20;
const REASONS = { budget: "a budget that is used up: it begins with the budget's next period, or once it is raised", thread: "the turn before it" };

/** @typedef {Awaited<ReturnType<typeof get<"/v1/runs">>>["runs"][number]} Run */

/** @param {HTMLElement} place @param {AbortSignal} signal */
export async function showQueue(place, signal) {
  // A queue that is full answers 503, with its health.
  const found = await optional(fetched("/api/v1/queue/health", {}, { signal, full: true }).then((answer) => answer.json()));
  if ("missing" in found) return fill(place, note(found.missing));
  const { stats, status, utilization } = found.value.data;
  const waiting = `${count(stats.waiting)} of at most ${count(stats.maxQueueSize)} wait`;
  fill(place, stats.waiting > 0 ? h("progress", { max: 1, value: Math.min(utilization, 1), "aria-label": waiting }) : null,
    h("p", { class: "note" }, `${waiting}; ${count(stats.running)} of ${count(stats.maxConcurrent)} slots are taken. The queue is `, outcome(status), ". ",
      stats.waiting > 0 ? anchor("What they wait for", "queue") : null));
}

/** @type {import("./address.js").Page} */
export async function showWaiting(place, _where, signal) {
  const [health, list] = [h("section", {}), h("section", {}, h("p", { class: "busy" }, "Reading the queue"))];
  fill(place, h("p", {}, anchor("‹ All runs", "runs")), h("h2", {}, "Queue"), health, list);
  await showQueue(health, signal);
  // The oldest wait first, and the list has the newest first: its last page is the first of the queue.
  let page = await get("/v1/runs", { status: "queued", limit: "100" }, { signal });
  for (let pages = 1; page.nextCursor && pages < MAX_PAGES; pages += 1) page = await get("/v1/runs", { status: "queued", limit: "100", cursor: page.nextCursor }, { signal });
  const first = page.runs.slice(-MAX_WAITING).reverse();
  if (first.length === 0) return fill(list, note("Nothing waits."));
  const rows = await Promise.all(first.map((run) => row(run, position(run, signal))));
  fill(list, table(`The ${count(first.length)} that wait longest`, [{ name: "Run" }, { name: "Place", number: true }, { name: "Waits for" }, { name: "Waits since", number: true }, { name: "Tenant" }], rows));
}

/** @param {Run} run @param {AbortSignal} signal */
const position = (run, signal) => optional(get("/api/v1/queue/position/{workOrderId}", {}, { path: { workOrderId: run.workOrderId }, signal }));

/** @param {Run} run @param {ReturnType<typeof position>} answered */
async function row(run, answered) {
  const answer = await answered;
  const place = "value" in answer ? answer.value.data : null;
  const why = place?.waitsFor ? REASONS[place.waitsFor] : "a free slot";
  return [anchor(run.runId, "runs", { run: run.runId }), place ? count(place.position) : "–", "missing" in answer ? answer.missing : why, between(run.createdAt), run.tenantContext?.tenantId ?? "–"];
}
