// The queue and the runs, by what one looks for.

import { get, optional, reason } from "./api.js";
import { go } from "./address.js";
import { anchor, fill, h, note, outcome, problem, table } from "./dom.js";
import { between, count, credits, moment } from "./format.js";
import { showQueue } from "./queue.js";
import { showMissing, showRun } from "./run.js";
import { may } from "./scopes.js";

/** How often the list is read again. */
const REFRESH_MS = 5_000;
const PAGE_RUNS = 50;
/** Most pages that one search reads, for what the service cannot filter by itself. */
const MAX_SEARCHED = 10;
const STATUSES = ["queued", "building", "running", "succeeded", "failed", "canceled"];
/** Longest beginning of a prompt in the list. */
const MAX_PROMPT = 90;

/** @typedef {Awaited<ReturnType<typeof get<"/v1/runs">>>["runs"][number]} Run */
/** @typedef {Awaited<ReturnType<typeof get<"/v1/work-orders">>>["workOrders"][number]} Order */
/** @typedef {{status: string, tenant: string, agent: string, repository: string, from: string, to: string, cost: string, order: string}} Filters */
/** @typedef {{runs: Run[], total: number, next: string, searched: number}} Found */

/** The work orders that were read: what of them is shown does not change. @type {Map<string, Order>} */
const orders = new Map();
const MAX_ORDERS = 2_000;
addEventListener("awo-key", () => orders.clear());

/** @type {import("./address.js").Page} */
export async function showRuns(place, where, signal) {
  const run = where.get("run");
  if (run) {
    return showRun(place, run, signal).catch((error) => {
      if (error?.status !== 404) throw error;
      showMissing(place, error);
    });
  }
  const of = filters(where);
  const [queue, list] = [h("section", {}), h("section", {}, h("p", { class: "busy" }, "Reading the runs"))];
  const mayCreate = await may("work-orders:write").catch(() => true);
  const submit = anchor("New work order", "submit");
  submit.className = "button";
  fill(place, h("div", { class: "row between" }, h("h2", {}, "Runs"), mayCreate ? submit : null), queue, controls(of), list);
  let cursor = where.get("cursor") ?? "";
  const refresh = async () => {
    if (signal.aborted) return;
    try {
      const turn = (/** @type {string} */ next) => { cursor = next; void refresh(); };
      await Promise.all([showQueue(queue, signal), showList(list, of, cursor, signal, turn)]);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Error && "status" in error && error.status === 401) throw error;
      fill(list, problem("The runs cannot be shown.", reason(error), () => void refresh()));
    }
  };
  await refresh();
  // A search of many pages, and a page of the past, stay as they are.
  const timer = setInterval(() => { if (!cursor && !searches(of) && !document.hidden) void refresh(); }, REFRESH_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
}

/** @param {URLSearchParams} where @returns {Filters} */
function filters(where) {
  const of = (/** @type {string} */ name) => where.get(name) ?? "";
  const status = of("status");
  return { status: STATUSES.includes(status) ? status : "", tenant: of("tenant"), agent: of("agent"), repository: of("repository"), from: of("from"), to: of("to"), cost: of("cost"), order: of("order") };
}

/** Whether the service cannot filter by all of it. @param {Filters} of */
const searches = (of) => Boolean(of.agent || of.repository || of.from || of.to || of.cost);

/** @param {Filters} of */
function controls(of) {
  const input = (/** @type {"tenant" | "agent" | "repository" | "from" | "to" | "cost"} */ name, type = "search", more = {}) => h("input", { type, name, value: of[name], maxlength: 1_000, ...more });
  const select = h("select", { name: "status" }, ["", ...STATUSES].map((name) => h("option", { value: name, selected: name === of.status }, name || "all")));
  const id = h("input", { type: "search", value: of.order, placeholder: "run_… or wo_…", maxlength: 64 });
  const inputs = { tenant: input("tenant"), agent: input("agent"), repository: input("repository"), from: input("from", "date"), to: input("to", "date"), cost: input("cost", "number", { min: 0, step: "any" }) };
  const apply = () => {
    const written = id.value.trim();
    if (written.startsWith("run_")) return go("runs", { run: written });
    /** @type {Record<string, string>} */
    const next = { status: select.value, order: written };
    for (const [name, element] of Object.entries(inputs)) next[name] = element.value.trim();
    go("runs", Object.fromEntries(Object.entries(next).filter(([, value]) => value)));
  };
  select.addEventListener("change", apply);
  const isOpen = searches(of) || Boolean(of.tenant || of.order);
  const form = h("form", { class: "filters" }, h("div", { class: "row" }, h("label", {}, "Status", select), h("label", {}, "Id of a run or work order", id)),
    h("details", { open: isOpen }, h("summary", {}, "More filters"), h("div", { class: "row" }, h("label", {}, "Tenant", inputs.tenant), h("label", {}, "Agent", inputs.agent),
      h("label", {}, "Repository contains", inputs.repository), h("label", {}, "Created from", inputs.from), h("label", {}, "until", inputs.to), h("label", {}, "Credits at least", inputs.cost))),
    h("div", { class: "row" }, h("button", { type: "submit" }, "Show"), isOpen || of.status ? anchor("No filter", "runs") : null));
  form.addEventListener("submit", (event) => { event.preventDefault(); apply(); });
  return form;
}

/** @param {HTMLElement} place @param {Filters} of @param {string} cursor @param {AbortSignal} signal @param {(cursor: string) => void} turn */
async function showList(place, of, cursor, signal, turn) {
  const found = await optional(search(of, cursor, signal));
  if ("missing" in found) return fill(place, note(found.missing));
  const { runs, total, next, searched } = found.value;
  const isFiltered = searches(of) || Boolean(of.status || of.tenant || of.order);
  const turns = h("div", { class: "row" }, cursor ? h("button", { type: "button", onclick: () => turn("") }, "Newest") : null, next ? h("button", { type: "button", onclick: () => turn(next) }, "Older") : null);
  const seen = searches(of) ? note(`${count(searched)} of ${count(total)} runs were searched${next ? "; Older goes on" : ""}.`) : null;
  if (runs.length === 0) return fill(place, note(isFiltered ? "No run is like that." : "There are no runs yet. `awo submit`, or New work order, makes the first one."), seen, turns);
  const focused = document.activeElement instanceof HTMLAnchorElement && place.contains(document.activeElement) ? document.activeElement.href : null;
  const caption = searches(of) ? `${count(runs.length)} runs, newest first` : `${count(total)} runs, newest first`;
  fill(place, table(caption, [{ name: "Run" }, { name: "Status" }, { name: "Task" }, { name: "Repository" }, { name: "Agent" }, { name: "Tenant" }, { name: "Created at" }, { name: "Took", number: true }, { name: "Credits", number: true }], runs.map(row)), seen, turns);
  // The list is made anew while somebody may be going through it.
  if (focused) for (const link of place.querySelectorAll("a")) if (link.href === focused) link.focus();
}

/** @param {Run} run */
function row(run) {
  const order = orders.get(run.workOrderId);
  const prompt = order?.taskPrompt.trim().split("\n")[0] ?? "–";
  const state = run.phase && run.status === "running" ? h("span", {}, outcome(run.status), ` ${run.phase.replaceAll("_", " ")}`) : outcome(run.status);
  return [anchor(short(run.runId), "runs", { run: run.runId }, `Run ${run.runId}, ${short(run.runId)}`), state, prompt.length > MAX_PROMPT ? `${prompt.slice(0, MAX_PROMPT)}…` : prompt, order ? name(order.workspaceSource.repository) : "–",
    order?.agent.type ?? "–", run.tenantContext?.tenantId ?? "–", moment(run.createdAt), run.startedAt ? between(run.startedAt, run.completedAt) : "–", run.cost ? credits(run.cost.credits) : "–"];
}

/** The end of an id, which is what differs between two of the same hour. @param {string} id */
const short = (id) => id.slice(-8);

/** The last parts of a repository's address. @param {string} repository */
const name = (repository) => repository.replace(/\/$/, "").replace(/\.git$/, "").split("/").slice(-2).join("/");

/** @param {Filters} of @param {string} cursor @param {AbortSignal} signal @returns {Promise<Found>} */
async function search(of, cursor, signal) {
  /** @type {Record<string, string>} */
  const query = { limit: String(searches(of) ? 100 : PAGE_RUNS) };
  if (of.status) query["status"] = of.status;
  if (of.tenant) query["tenantId"] = of.tenant;
  if (of.order) query["workOrderId"] = of.order;
  /** @type {Found} */
  const found = { runs: [], total: 0, next: cursor, searched: 0 };
  for (let pages = 0; pages < MAX_SEARCHED; pages += 1) {
    const page = await get("/v1/runs", found.next ? { ...query, cursor: found.next } : query, { signal });
    await readOrders(page.runs, of, signal);
    const matching = page.runs.filter((run) => matches(run, of));
    found.runs.push(...matching);
    found.searched += page.runs.length;
    found.total = page.total;
    found.next = page.nextCursor ?? "";
    const isBefore = of.from && page.runs.some((run) => run.createdAt.slice(0, 10) < of.from);
    if (isBefore) found.next = "";
    if (!found.next || !searches(of) || found.runs.length >= PAGE_RUNS) break;
  }
  return found;
}

/** @param {Run} run @param {Filters} of */
function matches(run, of) {
  const day = run.createdAt.slice(0, 10);
  if ((of.from && day < of.from) || (of.to && day > of.to)) return false;
  if (of.cost && (run.cost?.credits ?? 0) < Number(of.cost)) return false;
  const order = orders.get(run.workOrderId);
  if (of.agent && !`${order?.agent.type} ${order?.agent.model ?? ""}`.includes(of.agent)) return false;
  return !of.repository || Boolean(order?.workspaceSource.repository.includes(of.repository));
}

/** Reads the work orders of runs, which a key may be refused. @param {Run[]} runs @param {Filters} of @param {AbortSignal} signal */
async function readOrders(runs, of, signal) {
  const missing = () => [...new Set(runs.map((run) => run.workOrderId))].filter((id) => !orders.has(id));
  if (missing().length === 0) return;
  if (orders.size > MAX_ORDERS) orders.clear();
  const page = await optional(get("/v1/work-orders", { limit: "100", ...(of.tenant ? { tenantId: of.tenant } : {}) }, { signal }));
  if ("missing" in page) return;
  for (const order of page.value.workOrders) orders.set(order.id, order);
  await Promise.all(missing().map(async (id) => {
    const found = await optional(get("/v1/work-orders/{id}", {}, { path: { id }, signal }));
    if ("value" in found) orders.set(id, found.value);
  }));
}
