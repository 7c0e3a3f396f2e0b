// The month: what was spent, on what, against the month before and the budgets, down to the ledger entry.

import { get, optional, reason, report } from "./api.js";
import { COLOURS, stackedDays } from "./chart.js";
import { go } from "./address.js";
import { announce, fill, h, link, problem, table } from "./dom.js";
import { download } from "./download.js";
import { drilled } from "./drill.js";
import { charges } from "./focus.js";
import { count, credits, daysOf, duration, micro, moment, monthOf, monthPlus, ofMicro, percent } from "./format.js";
import { showStatements } from "./statements.js";

/** Most groups that a chart shows; the others are one. */
const MAX_SERIES = 7;
const GROUPS = ["model", "tenant", "outcome"];

/** @typedef {Awaited<ReturnType<typeof report>>} Report */
/** @typedef {import("./drill.js").Filter} Filter */

/** The net amount of a row: charges less refunds. @param {{credits: number, refunds: number}} row */
const net = (row) => micro(row.credits) - micro(row.refunds);

/**
 * Where the page is, read from the address.
 * @param {URLSearchParams} where
 */
function state(where) {
  const now = monthOf(new Date());
  const wanted = where.get("month") ?? "";
  const month = /^\d{4}-(0[1-9]|1[0-2])$/.test(wanted) ? wanted : now;
  const by = where.get("by") ?? "model";
  const day = where.get("day") ?? "";
  /** @type {Filter[]} */
  const filters = [];
  for (const [name, value] of where) {
    if (GROUPS.includes(name) || name.startsWith("label:")) filters.push({ by: name, value });
  }
  return {
    month, now, filters,
    by: GROUPS.includes(by) || /^label:.+/.test(by) ? by : "model",
    day: daysOf(month).includes(day) ? day : undefined,
    at: Object.fromEntries(["order", "run", "entry"].flatMap((name) => (where.get(name) ? [[name, where.get(name)]] : []))),
  };
}

/** @typedef {ReturnType<typeof state>} State */

/** The page's address. @param {State} of @param {Partial<State>} change */
function open(of, change) {
  const next = { ...of, ...change };
  /** @type {Record<string, string>} */
  const where = { month: next.month, by: next.by };
  if (next.day) where["day"] = next.day;
  for (const filter of next.filters) where[filter.by] = filter.value;
  for (const [name, value] of Object.entries(change.at ?? {})) where[name] = String(value);
  go("money", where);
}

/** @param {State} of @param {string} by @param {string} value */
function filtered(of, by, value) {
  const others = of.filters.filter((filter) => filter.by !== by);
  open(of, { filters: [...others, { by, value }], at: {} });
}

/** @type {import("./address.js").Page} */
export async function showMoney(place, where, signal) {
  const of = state(where);
  const chart = h("div", { class: "chart" }, h("p", { class: "busy" }, "Reading the report"));
  const [cards, below, budgets, statements] = [1, 2, 3, 4].map(() => h("section", {}));
  if (!cards || !below || !budgets || !statements) return;
  cards.append(h("p", { class: "busy" }, "Reading the month"));
  fill(place, controls(of), crumbs(of), cards, h("h2", { id: "chart-title" }, `Credits by day and ${shownName(of.by)}`), chart, below, budgets, statements, downloads(of));
  const [from, to] = [`${of.month}-01`, `${monthPlus(of.month, 1)}-01`];
  /** @type {Record<string, string>} */
  const only = Object.fromEntries(of.filters.map((filter) => [filter.by, filter.value]));
  const month = report({ from, to, groupBy: of.by, bucket: "day", ...only }, signal);
  // What is handled below must not be reported as unhandled before.
  month.catch(() => {});
  void panel(budgets, "Budgets", signal, () => showBudgets(budgets, signal));
  void panel(statements, "Statements", signal, () => showStatements(statements, signal));
  void panel(cards, "This month", signal, async () => {
    const before = { from: `${monthPlus(of.month, -1)}-01`, to: from, groupBy: "outcome", ...only };
    const [balance, last, outcomes] = await Promise.all([get("/v1/credits", {}, { signal }), report(before, signal), report({ from, to, groupBy: "outcome", ...only }, signal)]);
    showCards(cards, of, balance, outcomes, last);
  });
  try {
    const found = await month;
    showChart(chart, of, found);
    await showTable(below, of, found, signal);
  } catch (error) {
    if (signal.aborted) return;
    fill(chart, problem("The report cannot be shown.", reason(error), () => dispatchEvent(new Event("hashchange"))));
    if (error instanceof Error && "status" in error && error.status === 401) throw error;
  }
}

/** Shows a part of the page, or why it cannot be shown. @param {HTMLElement} place @param {string} title @param {AbortSignal} signal @param {() => Promise<void>} show */
async function panel(place, title, signal, show) {
  try {
    await show();
  } catch (error) {
    if (!signal.aborted) fill(place, h("h2", {}, title), problem("This part cannot be shown.", reason(error), () => void panel(place, title, signal, show)));
  }
}

/** @param {string} by */
const shownName = (by) => (by.startsWith("label:") ? `label ${by.slice(6)}` : by);

/** @param {State} of */
function controls(of) {
  const month = h("input", { type: "month", value: of.month, max: of.now, required: true, onchange: () => /^\d{4}-\d\d$/.test(month.value) && open(of, { month: month.value, day: undefined, at: {} }) });
  const isLabel = of.by.startsWith("label:");
  const label = h("input", { type: "text", value: isLabel ? of.by.slice(6) : "", maxlength: 64, placeholder: "team", onchange: () => label.value && open(of, { by: `label:${label.value}`, at: {} }) });
  const labelled = h("label", {}, "Name of the label", label);
  labelled.hidden = !isLabel;
  const by = h("select", { onchange: () => {
    labelled.hidden = by.value !== "label";
    if (by.value === "label") label.focus();
    else open(of, { by: by.value, at: {} });
  } }, [...GROUPS, "label"].map((name) => h("option", { value: name, selected: isLabel ? name === "label" : name === of.by }, name === "label" ? "cost label…" : name)));
  const step = (/** @type {string} */ text, /** @type {number} */ months) => h("button", { type: "button", "aria-label": months < 0 ? "Month before" : "Next month", disabled: months > 0 && of.month >= of.now, onclick: () => open(of, { month: monthPlus(of.month, months), day: undefined, at: {} }) }, text);
  return h("div", { class: "row" }, step("‹", -1), h("label", {}, "Month", month), step("›", 1), h("label", {}, "Divided by", by), labelled);
}

/** What is filtered by, each with a way back. @param {State} of */
function crumbs(of) {
  const items = of.filters.map((filter) => link(`${shownName(filter.by)}: ${filter.value} ✕`, () => open(of, { filters: of.filters.filter((one) => one !== filter), at: {} }), `Remove the filter ${shownName(filter.by)} ${filter.value}`));
  if (of.day) items.push(link(`day: ${of.day} ✕`, () => open(of, { day: undefined, at: {} }), `Remove the filter day ${of.day}`));
  /** @type {Record<string, string>} */
  const at = {};
  for (const [name, value] of Object.entries(of.at)) {
    at[name] = String(value);
    const here = { ...at };
    items.push(link(String(value), () => open(of, { at: here })));
  }
  const all = link("All charges", () => open(of, { filters: [], day: undefined, at: {} }));
  return h("nav", { "aria-label": "Filters" }, h("ol", { class: "crumbs" }, [all, ...items].map((item) => h("li", {}, item))));
}

/** @param {HTMLElement} place @param {State} of @param {Awaited<ReturnType<typeof get<"/v1/credits">>>} balance @param {Report} month @param {Report} last */
function showCards(place, of, balance, month, last) {
  const { totals } = month;
  const spent = net(totals);
  const before = net(last.totals);
  const failed = net(month.rows.find((row) => row.group?.["outcome"] === "failed") ?? { credits: 0, refunds: 0 });
  const days = of.month === of.now ? Math.max((Date.now() - Date.parse(`${of.month}-01T00:00:00Z`)) / 86_400_000, 1 / 24) : daysOf(of.month).length;
  const daily = spent / 1e6 / days;
  const forecast = of.month === of.now ? `${credits(Math.round(daily * daysOf(of.month).length))} by the month's end at this rate` : "the month is over";
  const runway = daily > 0 ? duration(balance.available / daily) : "–";
  /** @type {[string, string, string, string][]} */
  const all = [
    ["spent", "Spent", ofMicro(spent), forecast],
    ["before", "Month before", ofMicro(before), before > 0 ? `now ${percent(Math.abs(spent - before), before)} ${spent < before ? "less" : "more"}` : "nothing to compare with"],
    ["available", "Available", credits(balance.available), `${credits(balance.reserved)} reserved for open runs`],
    ["runway", "Runway", runway, "of what is available, at this month's rate"],
    ["failed", "Failed runs", percent(totals.failed, totals.runs), `${count(totals.failed)} of ${count(totals.runs)} runs, ${ofMicro(failed)} credits`],
    ["each", "Cost per succeeded run", totals.succeeded > 0 ? credits(Math.round(spent / totals.succeeded) / 1e6) : "–", `${count(totals.succeeded)} succeeded`],
  ];
  const cards = all.map(([id, name, value, note]) => h("li", { id: `card-${id}` }, h("div", { class: "name" }, name), h("div", { class: "value" }, value), h("div", { class: "note" }, note)));
  fill(place, h("h2", {}, `${of.month}, credits`), h("ul", { class: "cards" }, cards), h("p", { class: "note" }, `Counted up to ${moment(month.asOf)}. Days are UTC.`));
}

/** The groups of a report, largest first, with the amount of each on each day. @param {State} of @param {Report} found */
function groups(of, found) {
  const days = daysOf(of.month);
  /** @type {Map<string, {name: string, values: number[], whole: number, runs: number, failed: number, credits: number, refunds: number}>} */
  const all = new Map();
  for (const row of found.rows) {
    const name = row.group?.[of.by] ?? "(none)";
    const group = all.get(name) ?? { name, values: days.map(() => 0), whole: 0, runs: 0, failed: 0, credits: 0, refunds: 0 };
    all.set(name, group);
    const day = days.indexOf(row.bucket ?? "");
    if (of.day && row.bucket !== of.day) continue;
    if (day >= 0) group.values[day] = net(row) / 1e6;
    group.whole += net(row);
    group.runs += row.runs;
    group.failed += row.failed;
    group.credits += micro(row.credits);
    group.refunds += micro(row.refunds);
  }
  return [...all.values()].sort((a, b) => b.whole - a.whole || a.name.localeCompare(b.name));
}

/** @param {HTMLElement} place @param {State} of @param {Report} found */
function showChart(place, of, found) {
  const all = groups({ ...of, day: undefined }, found);
  if (all.every((group) => group.whole === 0)) {
    fill(place, h("p", { class: "note" }, "Nothing was charged in this month, or nothing that these filters leave."));
    place.style.minHeight = "0";
    return;
  }
  const series = all.slice(0, MAX_SERIES).map(({ name, values }) => ({ name, values }));
  const rest = all.slice(MAX_SERIES);
  if (rest.length > 0) {
    const values = daysOf(of.month).map((_, day) => rest.reduce((sum, group) => sum + (group.values[day] ?? 0), 0));
    series.push({ name: `${rest.length} others`, values });
  }
  const isOne = (/** @type {string | null} */ name) => name !== null && all.some((group) => group.name === name);
  stackedDays(place, `credits by day and ${shownName(of.by)}`, daysOf(of.month), series, (day, name) => {
    if (isOne(name)) open(of, { day, filters: [...of.filters.filter((one) => one.by !== of.by), { by: of.by, value: String(name) }], at: {} });
    else open(of, { day, at: {} });
  });
  const legend = series.map((one, at) => {
    const swatch = h("span", { class: "swatch", "aria-hidden": "true" });
    swatch.style.background = COLOURS[at % COLOURS.length] ?? "";
    return h("li", {}, swatch, isOne(one.name) ? link(one.name, () => filtered(of, of.by, one.name), `Filter by ${one.name}`) : one.name);
  });
  place.after(h("ul", { class: "legend", "aria-label": "What the colours are" }, legend));
  announce(`${of.month}: ${ofMicro(net(found.totals))} credits.`);
}

/** @param {HTMLElement} place @param {State} of @param {Report} found @param {AbortSignal} signal */
async function showTable(place, of, found, signal) {
  const all = groups(of, found);
  const whole = all.reduce((sum, group) => sum + group.whole, 0);
  const sum = (/** @type {"credits" | "refunds" | "runs" | "failed"} */ of) => all.reduce((sum, group) => sum + group[of], 0);
  const rows = all.map((group) => [link(group.name, () => filtered(of, of.by, group.name), `Show what ${group.name} is made of`), count(group.runs), count(group.failed), ofMicro(group.credits), ofMicro(group.refunds), ofMicro(group.whole), percent(group.whole, whole)]);
  const [runs, failed] = of.day || of.by === "model" ? [sum("runs"), sum("failed")] : [found.totals.runs, found.totals.failed];
  const columns = [{ name: shownName(of.by) }, ...["Runs", "Failed", "Charged", "Refunded", "Net credits", "Share"].map((name) => ({ name, number: true }))];
  const period = of.day ?? of.month;
  const note = of.by === "model" ? h("p", { class: "note" }, "A run counts once for each model that it used.") : null;
  fill(place, table(`Credits by ${shownName(of.by)}, ${period}`, columns, rows, ["All", count(runs), count(failed), ofMicro(sum("credits")), ofMicro(sum("refunds")), ofMicro(whole), ""]), note);
  if (of.filters.length === 0 && !of.day && Object.keys(of.at).length === 0) {
    place.append(h("p", { class: "note" }, "Choose a row or a bar to see its work orders, runs and ledger entries."));
    return;
  }
  const deeper = h("section", { "aria-label": "Work orders, runs and ledger entries" }, h("p", { class: "busy" }, "Reading the charges"));
  place.append(deeper);
  await panel(deeper, "Charges", signal, async () => {
    const found = await charges(of.month, of.day, signal);
    fill(deeper, drilled(found, of.filters, of.at, (at) => open(of, { at })));
  });
}

/** @param {HTMLElement} place @param {AbortSignal} signal */
async function showBudgets(place, signal) {
  const found = await optional(get("/v1/budgets", { limit: "100" }, { signal }));
  const title = h("h2", {}, "Budgets");
  if ("missing" in found) return fill(place, title, h("p", { class: "note" }, found.missing));
  const { budgets } = found.value;
  if (budgets.length === 0) return fill(place, title, h("p", { class: "note" }, "There are none. awo finance budgets create makes one."));
  fill(place, title, budgets.map((budget) => {
    const used = budget.spentCredits + budget.reservedCredits;
    const [label, value] = [`${credits(budget.spentCredits)} spent and ${credits(budget.reservedCredits)} reserved of ${credits(budget.limitCredits)}`, Math.min(used, budget.limitCredits)];
    const scope = Object.entries(budget.scope).map(([name, of]) => (typeof of === "object" && of !== null ? Object.values(of).join(" = ") : `${name} ${String(of)}`)).join(", ");
    const over = used >= budget.limitCredits;
    return h("div", { class: "budget" }, h("h3", {}, budget.name), h("progress", { max: budget.limitCredits, value, "aria-label": `${budget.name}: ${label}` }),
      h("p", { class: over ? "bad" : "note" }, `${label} (${percent(used, budget.limitCredits)}), forecast ${credits(budget.forecastCredits)}; ${credits(budget.remainingCredits)} left in this ${budget.period}. ${scope || "The whole organization"}; at the limit: ${budget.onLimit}.`));
  }));
}

/** @param {State} of */
function downloads(of) {
  const only = Object.fromEntries(of.filters.map((filter) => [filter.by, filter.value]));
  const query = { from: `${of.month}-01`, to: `${monthPlus(of.month, 1)}-01`, groupBy: of.by, bucket: "day", ...only };
  return h("section", {}, h("h2", {}, "Downloads"), h("div", { class: "row" },
    download("This report as CSV", "/v1/usage/report", query, "text/csv", `costs-${of.month}.csv`),
    download("All charges as FOCUS 1.2", "/v1/exports/focus", { month: of.month }, "text/csv", `focus-${of.month}.csv`)));
}

