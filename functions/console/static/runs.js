// The queue and the runs, and one run as it goes on: its timeline live, what its agent wrote, what it changed.

import { fetched, get, optional, reason } from "./api.js";
import { go } from "./address.js";
import { announce, fill, h, link, problem, table } from "./dom.js";
import { count, credits, moment, usd } from "./format.js";

/** How often the page reads again, and after how long a live timeline that broke off begins again. */
const REFRESH_MS = 5_000;
const AGAIN_MS = 3_000;
/** Most events that the timeline shows. */
const MAX_EVENTS = 500;
const STATUSES = ["queued", "building", "running", "succeeded", "failed", "canceled"];

/** @typedef {{sequence: number, type: string, timestamp: string, data: Record<string, unknown>}} TimelineEvent */

/** @type {import("./address.js").Page} */
export async function showRuns(place, where, signal) {
  const run = where.get("run");
  if (run) return showRun(place, run, signal);
  const status = STATUSES.includes(where.get("status") ?? "") ? String(where.get("status")) : "";
  const select = h("select", { onchange: () => go("runs", select.value ? { status: select.value } : {}) }, ["", ...STATUSES].map((name) => h("option", { value: name, selected: name === status }, name || "all")));
  const [queue, list] = [h("section", {}), h("section", {}, h("p", { class: "busy" }, "Reading the runs"))];
  fill(place, h("h2", {}, "Queue"), queue, h("h2", {}, "Runs"), h("div", { class: "row" }, h("label", {}, "Status", select)), list);
  let cursor = where.get("cursor") ?? "";
  const refresh = async () => {
    if (signal.aborted) return;
    try {
      await Promise.all([showQueue(queue, signal), showList(list, status, cursor, signal, (next) => { cursor = next; void refresh(); })]);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Error && "status" in error && error.status === 401) throw error;
      fill(list, problem("The runs cannot be shown.", reason(error), () => void refresh()));
    }
  };
  await refresh();
  const timer = setInterval(() => void refresh(), REFRESH_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
}

/** @param {HTMLElement} place @param {AbortSignal} signal */
async function showQueue(place, signal) {
  // A queue that is full answers 503, with its health.
  const found = await optional(fetched("/api/v1/queue/health", {}, { signal, full: true }).then((answer) => answer.json()));
  if ("missing" in found) return fill(place, h("p", { class: "note" }, found.missing));
  const { stats, status, utilization } = found.value.data;
  const waiting = `${count(stats.waiting)} of at most ${count(stats.maxQueueSize)} wait`;
  fill(place, h("progress", { max: 1, value: Math.min(utilization, 1), "aria-label": waiting }),
    h("p", {}, `${waiting}; ${count(stats.running)} of ${count(stats.maxConcurrent)} slots are taken. The queue is `, h("strong", { class: status === "healthy" ? "good" : "bad" }, status), "."));
}

/** @param {HTMLElement} place @param {string} status @param {string} cursor @param {AbortSignal} signal @param {(cursor: string) => void} turn */
async function showList(place, status, cursor, signal, turn) {
  /** @type {Record<string, string>} */
  const query = { limit: "50" };
  if (status) query["status"] = status;
  if (cursor) query["cursor"] = cursor;
  const found = await optional(get("/v1/runs", query, { signal }));
  if ("missing" in found) return fill(place, h("p", { class: "note" }, found.missing));
  const { runs, total, nextCursor } = found.value;
  if (runs.length === 0) return fill(place, h("p", { class: "note" }, status ? `No run is ${status}.` : "There are no runs yet. `awo submit` makes the first one."));
  const rows = runs.map((run) => [link(run.runId, () => go("runs", { run: run.runId }), `Run ${run.runId}`), outcome(run.status), run.phase ?? "–", `${run.iteration} of ${run.maxIterations}`, run.tenantContext?.tenantId ?? "–", moment(run.createdAt), run.cost ? credits(run.cost.credits) : "–"]);
  const focused = document.activeElement?.getAttribute("aria-label");
  const next = nextCursor ?? null;
  fill(place, table(`${count(total)} runs, newest first`, [{ name: "Run" }, { name: "Status" }, { name: "Phase" }, { name: "Iteration" }, { name: "Tenant" }, { name: "Created at" }, { name: "Credits", number: true }], rows),
    h("div", { class: "row" }, cursor ? h("button", { type: "button", onclick: () => turn("") }, "Newest") : null, next ? h("button", { type: "button", onclick: () => turn(next) }, "Older") : null));
  // The list is made anew while somebody may be going through it.
  for (const button of place.querySelectorAll("button")) if (focused && button.getAttribute("aria-label") === focused) button.focus();
}

/** @param {string} status */
function outcome(status) {
  const tone = status === "succeeded" ? "good" : status === "failed" ? "bad" : "";
  return h("span", { class: tone }, status);
}

/** @param {HTMLElement} place @param {string} id @param {AbortSignal} signal */
async function showRun(place, id, signal) {
  const [facts, checks, timeline, logs, diff] = [1, 2, 3, 4, 5].map(() => h("section", {}));
  if (!facts || !checks || !timeline || !logs || !diff) return;
  fill(checks, h("p", { class: "note" }, "Nothing was verified yet."));
  fill(place, h("p", {}, link("‹ All runs", () => go("runs", {}))), h("h2", {}, id), facts, h("h2", {}, "Checks of the last verification"), checks, h("h2", {}, "Timeline"), timeline, h("h2", {}, "What the agent wrote"), logs, h("h2", {}, "What it changed"), diff);
  const path = { id };
  const reads = async () => {
    const run = await get("/v1/runs/{id}", {}, { path, signal });
    showFacts(facts, run);
    const [written, changed] = await Promise.all([optional(get("/v1/runs/{id}/logs", {}, { path, signal })), optional(get("/v1/runs/{id}/diff", {}, { path, signal }))]);
    if ("missing" in written) fill(logs, h("p", { class: "note" }, written.missing));
    else fill(logs, written.value.logs.length === 0 ? h("p", { class: "note" }, "Nothing yet.") : written.value.logs.map((log) => h("div", {}, h("h3", {}, `Iteration ${log.iteration}${log.truncated ? ", its end" : ""}`), h("pre", { tabindex: 0, role: "region", "aria-label": `Output of iteration ${log.iteration}` }, log.output))));
    if ("missing" in changed) fill(diff, h("p", { class: "note" }, "There are no changes, or none yet."));
    else fill(diff, h("pre", { tabindex: 0, role: "region", "aria-label": "Changes" }, changed.value.diff || "No change."));
    return run;
  };
  await reads();
  void follow(timeline, id, signal, (event) => {
    if (["verification.passed", "verification.failed"].includes(event.type)) showChecks(checks, event.data);
    void reads().catch(() => {});
  });
}

/** @typedef {{name: string, status: string, message: string}} Check */

/**
 * The checks of a verification, and what is known of each on the base commit.
 * @param {HTMLElement} place @param {Record<string, unknown>} data
 */
function showChecks(place, data) {
  const results = /** @type {{level: string, checks: Check[]}[]} */ (Array.isArray(data["results"]) ? data["results"] : []);
  const baseline = /** @type {{preExisting?: string[], introduced?: string[], fixed?: string[]}} */ (data["baseline"] ?? {});
  /** @param {Check} check */
  const compared = (check) => {
    if (baseline.preExisting?.includes(check.name)) return "pre-existing";
    if (baseline.introduced?.includes(check.name)) return "introduced";
    return baseline.fixed?.includes(check.name) ? "fixed" : "–";
  };
  const rows = results.flatMap((result) => result.checks.map((check) => [result.level, check.name, verdict(check.status), compared(check), check.message.slice(0, 300)]));
  // Findings that pass have no checks.
  const named = new Set(results.flatMap((result) => result.checks.map((check) => check.name)));
  const gone = (baseline.fixed ?? []).filter((name) => !named.has(name)).map((name) => ["–", name, verdict("passed"), "fixed", ""]);
  const all = [...rows, ...gone];
  if (all.length === 0) return fill(place, h("p", { class: "note" }, "There was nothing to check."));
  fill(place, table("Checks, compared with the base commit", [{ name: "Level" }, { name: "Check" }, { name: "Status" }, { name: "Base" }, { name: "Message" }], all));
}

/** @param {string} status */
function verdict(status) {
  const tone = status === "passed" ? "good" : ["failed", "error"].includes(status) ? "bad" : "";
  return h("span", { class: tone }, status);
}

/** @param {HTMLElement} place @param {Awaited<ReturnType<typeof get<"/v1/runs/{id}">>>} run */
function showFacts(place, run) {
  /** @type {[string, import("./dom.js").Child][]} */
  const rows = [
    ["Status", outcome(run.status)], ["Work order", run.workOrderId], ["Phase", run.phase ?? "–"], ["Iteration", `${run.iteration} of ${run.maxIterations}`],
    ["Tenant", run.tenantContext?.tenantId ?? "–"], ["Created at", moment(run.createdAt)], ["Completed at", moment(run.completedAt)],
    ["Cost", run.cost ? `${credits(run.cost.credits)} credits, ${usd(run.cost.usd)} USD of models` : "–"], ["Branch", run.branch ?? "–"],
    ["Pull request", run.prUrl?.startsWith("https://") ? h("a", { href: run.prUrl, rel: "noreferrer noopener", target: "_blank" }, run.prUrl) : (run.prUrl ?? "–")],
    ...(run.error ? [/** @type {[string, string]} */ (["Error", `${run.error.code}: ${run.error.message}`])] : []),
  ];
  fill(place, h("progress", { max: run.maxIterations || 1, value: run.status === "succeeded" ? run.maxIterations || 1 : run.iteration, "aria-label": `Iteration ${run.iteration} of at most ${run.maxIterations}` }),
    table("The run", [{ name: "Field" }, { name: "Value" }], rows));
}

/**
 * The timeline of a run, live until the run is over.
 * @param {HTMLElement} place @param {string} id @param {AbortSignal} signal @param {(event: TimelineEvent) => void} changed
 */
async function follow(place, id, signal, changed) {
  const list = h("ol", {});
  const state = h("p", { class: "note" }, "Waiting for events");
  fill(place, state, list);
  let last = 0;
  while (!signal.aborted) {
    try {
      const answer = await fetched(`/v1/runs/${encodeURIComponent(id)}/events`, { after: String(last) }, { accept: "text/event-stream", signal, live: true });
      state.textContent = "Live";
      for await (const event of events(answer)) {
        last = Math.max(last, event.sequence);
        list.append(h("li", {}, `${moment(event.timestamp)} `, h("strong", {}, event.type), ` ${summary(event)}`));
        while (list.children.length > MAX_EVENTS) list.firstElementChild?.remove();
        announce(event.type);
        changed(event);
        if (["run.completed", "run.failed", "run.cancelled"].includes(event.type)) {
          state.textContent = "The run is over.";
          return;
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      state.textContent = `${reason(error)} The timeline tries again.`;
    }
    await new Promise((done) => setTimeout(done, AGAIN_MS));
  }
}

/** What of an event fits into a line. @param {TimelineEvent} event */
function summary(event) {
  const shown = ["phase", "iteration", "summary", "overallStatus", "message", "reason", "code", "branch"];
  return shown.filter((name) => ["string", "number"].includes(typeof event.data[name])).map((name) => `${name}: ${String(event.data[name]).slice(0, 300)}`).join("; ");
}

/** The events of a stream, as `text/event-stream` has them. @param {Response} answer @returns {AsyncGenerator<TimelineEvent>} */
async function* events(answer) {
  if (!answer.body) return;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let unread = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (unread + value).split("\n\n");
    unread = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = block.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trim()).join("\n");
      if (data) yield JSON.parse(data);
    }
  }
}
