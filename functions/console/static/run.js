// One run as it goes on: what its agent writes while it writes it, how long each part took, why it failed, what it
// changed, and what can be done with it.

import { get, optional, reason } from "./api.js";
import { showActions } from "./actions.js";
import { showChecks } from "./checks.js";
import { showDiff } from "./diff.js";
import { anchor, announce, block, facts, fill, h, note, outcome, outward, problem } from "./dom.js";
import { between, count, credits, moment, usd } from "./format.js";
import { Phases } from "./phases.js";
import { follow } from "./stream.js";
import { pullRequest } from "./thread.js";

/** Most events that the timeline shows, and most characters of output. */
const MAX_EVENTS = 500;
const MAX_OUTPUT = 200_000;
/** Events come in groups: the run is read once for those of so long a time. */
const GATHER_MS = 400;
const TICK_MS = 1_000;
/** How near to its end somebody must be for the output to scroll on. */
const NEAR_PX = 40;

/** @typedef {import("./stream.js").TimelineEvent} TimelineEvent */
/** @typedef {Awaited<ReturnType<typeof get<"/v1/runs/{id}">>>} Run */
/** @typedef {Awaited<ReturnType<typeof get<"/v1/work-orders/{id}">>>} Order */

const isOver = (/** @type {Run} */ run) => ["succeeded", "failed", "canceled"].includes(run.status);

/** @param {HTMLElement} place @param {string} id @param {AbortSignal} signal */
export async function showRun(place, id, signal) {
  const run = await get("/v1/runs/{id}", {}, { path: { id }, signal });
  const order = await optional(get("/v1/work-orders/{id}", {}, { path: { id: run.workOrderId }, signal }));
  const parts = Object.fromEntries(["top", "prompt", "error", "actions", "phases", "checks", "diff", "facts"].map((name) => [name, h("section", {})]));
  const part = (/** @type {string} */ name) => /** @type {HTMLElement} */ (parts[name]);
  const [output, timeline] = [new Output(), new Timeline()];
  const title = (/** @type {string} */ text) => h("h2", {}, text);
  fill(part("checks"), note("Nothing was verified yet."));
  const work = h("div", {}, part("prompt"), title("What the agent writes"), output.place, title("Checks of the last verification"), part("checks"), title("What it changed"), part("diff"), title("Timeline"), timeline.place);
  const about = h("section", { class: "about", "aria-label": "The run and its work order" }, title("Phases"), part("phases"), title("The run and its work order"), part("facts"));
  fill(place, h("p", {}, anchor("‹ All runs", "runs")), h("h2", { class: "id" }, id), part("top"), part("actions"), part("error"), h("div", { class: "beside" }, work, about));
  const phases = new Phases();
  if ("value" in order) fill(part("prompt"), title("Prompt"), prompt(order.value.taskPrompt));
  let current = run;
  let acted = "";
  let { commit } = run;
  const show = (/** @type {Run} */ found) => {
    current = found;
    showTop(part("top"), found);
    showError(part("error"), found);
    showFacts(part("facts"), found, order);
    // A form that somebody fills in is left as it is.
    if (acted !== found.status) void showActions(part("actions"), found, () => void again());
    acted = found.status;
  };
  const again = async () => {
    try {
      const found = await get("/v1/runs/{id}", {}, { path: { id }, signal });
      show(found);
      // A diff that did not change stays as somebody has opened and scrolled it.
      if (found.commit !== commit || isOver(found)) await showChanges(part("diff"), id, signal);
      commit = found.commit;
      if (isOver(found)) await output.showKept(id, signal);
    } catch (error) {
      if (!signal.aborted) timeline.said(reason(error));
    }
  };
  show(run);
  await Promise.all([showChanges(part("diff"), id, signal), isOver(run) ? output.showKept(id, signal) : null]);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let due;
  void follow(id, signal, (event) => {
    phases.add(event);
    if (event.type === "agent.output") return output.add(event);
    timeline.add(event, isOver(current));
    phases.show(part("phases"));
    if (["verification.passed", "verification.failed"].includes(event.type)) showChecks(part("checks"), event.data);
    if (isOver(current)) return;
    due ??= setTimeout(() => { due = undefined; void again(); }, GATHER_MS);
  }, timeline.said);
  const ticks = setInterval(() => {
    if (isOver(current)) return clearInterval(ticks);
    phases.tick();
    showTop(part("top"), current);
  }, TICK_MS);
  signal.addEventListener("abort", () => { clearInterval(ticks); clearTimeout(due); });
}

/** What the agent writes: live, and from what is kept once the run is over. */
class Output {
  #live = block("Live output", "");
  #length = 0;
  #isKept = false;
  #iteration = 0;
  place = h("section", {}, note("Nothing yet."));

  /** @param {TimelineEvent} event */
  add(event) {
    if (this.#isKept) return;
    if (!this.#live.isConnected) fill(this.place, this.#live);
    const { text, iteration, leftOutBytes } = event.data;
    const stays = this.#live.scrollHeight - this.#live.scrollTop - this.#live.clientHeight > NEAR_PX;
    const left = Number(leftOutBytes ?? 0);
    const head = iteration !== this.#iteration && this.#iteration > 0 ? `\n— iteration ${iteration} —\n` : "";
    this.#iteration = Number(iteration);
    const more = `${head}${String(text ?? "")}${left > 0 ? `\n[${count(left)} bytes are left out here]\n` : ""}`;
    this.#live.append(more);
    this.#length += more.length;
    while (this.#length > MAX_OUTPUT && this.#live.firstChild) {
      this.#length -= this.#live.firstChild.textContent?.length ?? 0;
      this.#live.firstChild.remove();
    }
    if (!stays) this.#live.scrollTop = this.#live.scrollHeight;
  }

  /** @param {string} id @param {AbortSignal} signal */
  async showKept(id, signal) {
    const found = await optional(get("/v1/runs/{id}/logs", {}, { path: { id }, signal }));
    if ("missing" in found || found.value.logs.length === 0) return;
    const { logs } = found.value;
    this.#isKept = true;
    fill(this.place, logs.map((log, at) => {
      const text = block(`Output of iteration ${log.iteration}`, log.output || "Nothing.");
      const name = `Iteration ${log.iteration}${log.truncated ? ", its end" : ""}`;
      return logs.length === 1 ? h("div", {}, text) : h("details", { open: at === logs.length - 1 }, h("summary", {}, name), text);
    }), found.value.hasMore ? note("There is more: `awo logs` has it.") : null);
  }
}

/** The events, as lines. */
class Timeline {
  #state = h("p", { class: "note" });
  #list = h("ol", { class: "timeline" });
  place = h("section", {}, this.#state, this.#list);
  said = (/** @type {string} */ text) => { this.#state.textContent = text; };

  /** @param {TimelineEvent} event @param {boolean} isPast */
  add(event, isPast) {
    this.#list.append(h("li", {}, h("time", {}, moment(event.timestamp)), " ", h("strong", {}, event.type), ` ${summary(event)}`));
    while (this.#list.children.length > MAX_EVENTS) this.#list.firstElementChild?.remove();
    if (!isPast) announce(event.type);
  }
}

/** What of an event fits into a line. @param {TimelineEvent} event */
function summary(event) {
  const shown = ["name", "phase", "iteration", "durationMs", "exitCode", "summary", "overallStatus", "message", "reason", "code", "branch", "commit"];
  return shown.filter((name) => ["string", "number"].includes(typeof event.data[name])).map((name) => `${name}: ${String(event.data[name]).slice(0, 300)}`).join("; ");
}

/** @param {HTMLElement} place @param {Run} run */
function showTop(place, run) {
  const running = run.startedAt ? between(run.startedAt, run.completedAt) : `waiting for ${between(run.createdAt)}`;
  fill(place, h("p", { class: "lead" }, outcome(run.status), run.phase && !isOver(run) ? ` ${run.phase.replaceAll("_", " ")}` : "", ` · iteration ${run.iteration} of at most ${run.maxIterations} · ${running}`,
    run.verified ? " · verified" : "", run.cost ? ` · ${credits(run.cost.credits)} credits` : ""));
}

/** @param {string} text */
function prompt(text) {
  const shown = block("Prompt", text);
  shown.className = "prompt";
  return shown;
}

/** @param {HTMLElement} place @param {Run} run */
function showError(place, run) {
  const { error } = run;
  if (!error) return place.replaceChildren();
  fill(place, h("div", { class: "problem" }, h("h2", {}, "Why it failed"), h("p", {}, h("strong", {}, error.code), `: ${error.message}`), h("p", {}, error.remedy),
    note(`Category ${error.category}; ${error.retryable ? "the same may succeed if it is started again" : "starting the same again will not help"}.`)));
}

/** @param {HTMLElement} place @param {string} id @param {AbortSignal} signal */
async function showChanges(place, id, signal) {
  const found = await optional(get("/v1/runs/{id}/diff", {}, { path: { id }, signal }));
  if ("missing" in found) return fill(place, note("There are no changes, or none yet."));
  showDiff(place, found.value);
}

/** @param {HTMLElement} place @param {Run} run @param {{value: Order} | {missing: string}} order */
function showFacts(place, run, order) {
  /** @type {[string, import("./dom.js").Child][]} */
  const rows = [
    ["Work order", anchor(run.workOrderId, "runs", { order: run.workOrderId })], ["Tenant", [run.tenantContext?.tenantId, run.tenantContext?.tenantUserId].filter(Boolean).join(", ") || "–"],
    ["Created at", moment(run.createdAt)], ["Started at", moment(run.startedAt)], ["Completed at", moment(run.completedAt)],
    ["Cost", cost(run)], ["Tokens", tokens(run)],
    ["Branch", run.branch ?? "–"], ["Commit", run.commit ?? "–"], ["Pull request", run.prUrl ? outward(run.prUrl) : "–"],
  ];
  if (run.gateChanged?.length) rows.push(["Changed files that decide what is checked", run.gateChanged.join(", ")]);
  if (run.testsChanged?.length) rows.push(["Changed tests", run.testsChanged.join(", ")]);
  if ("value" in order) {
    const of = order.value;
    rows.splice(1, 0, ["Thread", h("span", {}, anchor(of.threadId, "thread", { id: of.threadId }), `, turn ${of.turn}`)],
      ["Repository", outward(of.workspaceSource.repository)], ["From", of.workspaceSource.branch ?? of.workspaceSource.commit ?? "the default branch"],
      ["Agent", [of.agent.type, of.agent.model, of.agent.command?.join(" ")].filter(Boolean).join(" ")],
      ["Profile", of.harness], ["Environment", of.environment ?? "–"],
      ["Labels", Object.entries(of.metadata ?? {}).map(([name, value]) => `${name} = ${value}`).join(", ") || "–"]);
    const { origin } = of;
    if (origin?.scheduleId) rows.push(["Schedule", anchor(origin.scheduleId, "schedules", { id: origin.scheduleId })]);
    if (origin?.triggerId) rows.push(["Trigger", anchor(origin.triggerId, "triggers", { id: origin.triggerId })], ["Event about", [origin.subject, origin.actor].filter(Boolean).join(", by ") || "–"]);
    if (origin?.url) rows.push(["Its page", outward(origin.url)]);
    if (of.parentId) rows.push(["Parent", anchor(of.parentId, "runs", { order: of.parentId })]);
    if (of.pullRequest) rows.push(["State of the pull request", pullRequest(of.pullRequest)]);
  } else {
    rows.push(["Prompt, repository, labels", order.missing]);
  }
  fill(place, facts("The run", rows));
}

/** @param {Run} run */
function tokens(run) {
  const models = Object.entries(run.usage?.byModel ?? {});
  return models.length === 0 ? "–" : h("ul", { class: "lines" }, models.map(([name, of]) => h("li", {}, `${name}: ${count(of.inputTokens)} in, ${count(of.outputTokens)} out`)));
}

/** The charge of a run, with a way to its entry of the ledger. @param {Run} run */
function cost(run) {
  if (!run.cost) return "–";
  const text = `${credits(run.cost.credits)} credits, ${usd(run.cost.usd)} USD of models`;
  if (!run.settledAt) return text;
  return anchor(text, "money", { month: run.settledAt.slice(0, 7), order: run.workOrderId, run: run.runId }, `Charge of this run: ${text}`);
}

/** @param {HTMLElement} place @param {unknown} error */
export function showMissing(place, error) {
  fill(place, h("p", {}, anchor("‹ All runs", "runs")), problem("This run cannot be shown.", reason(error)));
}
