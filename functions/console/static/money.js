// A period: what was spent, on what, against the period before and the budgets, down to the ledger entry.

import { get, reason, report } from "./api.js";
import { COLOURS, stackedDays } from "./chart.js";
import { go } from "./address.js";
import { announce, fill, h, link, problem, table } from "./dom.js";
import { download } from "./download.js";
import { drilled } from "./drill.js";
import { charges } from "./focus.js";
import { showBudgets } from "./budgets.js";
import { grouped, outstanding, outstandingDays, showChanges } from "./changes.js";
import { amount, amountOf, count, credits, dollars, duration, micro, moment, ofMicro, percent } from "./format.js";
import { choices, period, stepped, thisMonth } from "./periods.js";
import { showStatements } from "./statements.js";

/** Most groups that a chart shows; the others are one. */
const MAX_SERIES = 7;
/** What costs are divided by, and what people call it. @type {Record<string, string>} */
const GROUPS = { model: "model", tenant: "tenant", tenantUser: "user of a tenant", repository: "repository", agent: "agent", harness: "profile", key: "key, trigger or schedule", outcome: "outcome" };
const DAY_MS = 86_400_000;

/** @typedef {Awaited<ReturnType<typeof report>>} Report */
/** @typedef {import("./drill.js").Filter} Filter */

/** The net amount of a row: charges less refunds. @param {{credits: number, refunds: number}} row */
const net = (row) => micro(row.credits) - micro(row.refunds);

/**
 * Where the page is, read from the address.
 * @param {URLSearchParams} where
 */
function state(where) {
  const now = thisMonth();
  const chosen = period(where.get("month") ?? "") ?? period(now);
  if (!chosen) throw new Error("There is no such period.");
  const by = where.get("by") ?? "model";
  const day = where.get("day") ?? "";
  /** @type {Filter[]} */
  const filters = [];
  for (const [name, value] of where) {
    if (Object.hasOwn(GROUPS, name) || name.startsWith("label:")) filters.push({ by: name, value });
  }
  return {
    period: chosen, now, filters,
    by: Object.hasOwn(GROUPS, by) || /^label:.+/.test(by) ? by : "model",
    day: chosen.bucket === "day" && chosen.parts.includes(day) ? day : undefined,
    at: Object.fromEntries(["order", "run", "entry"].flatMap((name) => (where.get(name) ? [[name, where.get(name)]] : []))),
  };
}

/** @typedef {ReturnType<typeof state>} State */

/** The page's address. @param {State} of @param {Partial<State>} change */
function open(of, change) {
  const next = { ...of, ...change };
  /** @type {Record<string, string>} */
  const where = { month: next.period.text, by: next.by };
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

/** Opens another period; the day is of the one before. @param {State} of @param {string} text */
function openPeriod(of, text) {
  const chosen = period(text);
  if (chosen) open(of, { period: chosen, day: undefined, at: {} });
}

/** @type {import("./address.js").Page} */
export async function showMoney(place, where, signal) {
  const of = state(where);
  const chart = h("div", { class: "chart" }, h("p", { class: "busy" }, "Reading the report"));
  const [deeper, cards, below, changes, budgets, statements] = [1, 2, 3, 4, 5, 6].map(() => h("section", {}));
  if (!deeper || !cards || !below || !changes || !budgets || !statements) return;
  cards.append(h("p", { class: "busy" }, "Reading the period"));
  fill(place, controls(of), crumbs(of), deeper, cards, h("h2", { id: "chart-title" }, `Credits by ${of.period.bucket} and ${shownName(of.by)}`), chart, below, changes, budgets, statements, downloads(of));
  const { from, to, before, bucket } = of.period;
  /** @type {Record<string, string>} */
  const only = Object.fromEntries(of.filters.map((filter) => [filter.by, filter.value]));
  const found = report({ from, to, groupBy: of.by, bucket, ...only }, signal);
  // What is handled below must not be reported as unhandled before.
  found.catch(() => {});
  void panel(budgets, "Budgets", signal, () => showBudgets(budgets, signal));
  void panel(statements, "Statements", signal, () => showStatements(statements, signal));
  void panel(cards, "This period", signal, async () => {
    const [balance, prices, last, outcomes] = await Promise.all([get("/v1/credits", {}, { signal }), get("/v1/prices", {}, { signal }), report({ ...before, groupBy: "outcome", ...only }, signal), report({ from, to, groupBy: "outcome", ...only }, signal)]);
    showCards(cards, of, balance, prices.creditsPerUsd, outcomes, last);
  });
  void panel(changes, "What changed most", signal, async () => {
    const [now, earlier] = await Promise.all([report({ from, to, groupBy: of.by, ...only }, signal), report({ ...before, groupBy: of.by, ...only }, signal)]);
    if (earlier.totals.credits > 0) showChanges(changes, grouped(now.rows, of.by), grouped(earlier.rows, of.by), (name) => filtered(of, of.by, name));
  });
  if (isDeeper(of)) void panel(deeper, "Charges", signal, () => showDeeper(deeper, of, signal));
  try {
    const read = await found;
    offerLabels(of, read.labels);
    showChart(chart, of, read);
    showTable(below, of, read);
  } catch (error) {
    if (signal.aborted) return;
    fill(chart, problem("The report cannot be shown.", reason(error), () => dispatchEvent(new Event("hashchange"))));
    if (error instanceof Error && "status" in error && error.status === 401) throw error;
  }
}

/** Whether somebody has asked for single charges. @param {State} of */
const isDeeper = (of) => of.filters.length > 0 || of.day !== undefined || Object.keys(of.at).length > 0;

/** The charges that somebody has asked for, below the filters that say which. @param {HTMLElement} place @param {State} of @param {AbortSignal} signal */
async function showDeeper(place, of, signal) {
  const title = [of.day ?? of.period.title, ...of.filters.map((filter) => filter.value)].join(" · ");
  fill(place, h("h2", {}, title), h("p", { class: "busy" }, "Reading the charges"));
  const { from, to, months } = of.period;
  const all = of.day ? await charges(of.day.slice(0, 7), of.day, signal) : (await Promise.all(months.map((month) => charges(month, undefined, signal)))).flat();
  const within = all.filter((one) => (one["ChargePeriodStart"] ?? "").slice(0, 10) >= from && (one["ChargePeriodStart"] ?? "").slice(0, 10) < to);
  const shown = drilled(within, of.filters, of.at, (at) => open(of, { at }));
  fill(place, h("h2", {}, title), shown ?? h("p", {}, `Nothing was booked on ${of.day ?? of.period.title}${of.filters.length > 0 ? " that these filters leave" : ""}.`));
  announce(title);
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
const shownName = (by) => (by.startsWith("label:") ? `label ${by.slice(6)}` : (GROUPS[by] ?? by));

/** @param {State} of */
function controls(of) {
  const { text, isMonth, from, to } = of.period;
  const month = h("input", { type: "month", value: isMonth ? text : from.slice(0, 7), max: of.now, required: true, onchange: () => /^\d{4}-\d\d$/.test(month.value) && openPeriod(of, month.value) });
  const all = choices();
  const isChoice = all.some(([value]) => value === text);
  const last = new Date(Date.parse(to) - DAY_MS).toISOString().slice(0, 10);
  const [first, end] = [h("input", { type: "date", value: from, required: true }), h("input", { type: "date", value: last, required: true })];
  const days = h("form", { class: "row" }, h("label", {}, "First day", first), h("label", {}, "Last day", end), h("button", { type: "submit" }, "Show these days"));
  days.hidden = true;
  days.addEventListener("submit", (event) => { event.preventDefault(); openPeriod(of, `${first.value}..${end.value}`); });
  const quick = h("select", { onchange: () => {
    days.hidden = quick.value !== "days";
    if (quick.value === "days") first.focus();
    else if (quick.value) openPeriod(of, quick.value);
  } }, isChoice ? null : h("option", { value: "", selected: true }, of.period.title), all.map(([value, name]) => h("option", { value, selected: value === text }, name)), h("option", { value: "days" }, "Days…"));
  const step = (/** @type {string} */ sign, /** @type {number} */ by, /** @type {string} */ name) => h("button", { type: "button", "aria-label": isMonth ? name : name.replace("Month", "Period").replace("month", "period"), disabled: by > 0 && to > `${of.now}-31`, onclick: () => openPeriod(of, stepped(of.period, by)) }, sign);
  return h("div", { class: "controls" }, h("div", { class: "row" }, step("‹", -1, "Month before"), h("label", {}, "Month", month), step("›", 1, "Next month"), h("label", {}, "Period", quick), grouping(of)), days);
}

/** The id of what costs are divided by: the report says which labels there are. */
const GROUPING = "grouping";

/** What costs are divided by. @param {State} of */
function grouping(of) {
  const all = [...Object.keys(GROUPS), ...(of.by.startsWith("label:") ? [of.by] : [])];
  const by = h("select", { id: GROUPING, onchange: () => open(of, { by: by.value, at: {} }) }, all.map((name) => h("option", { value: name, selected: name === of.by }, shownName(name))));
  return h("label", {}, "Divided by", by);
}

/** Offers the declared labels. @param {State} of @param {string[]} labels */
function offerLabels(of, labels) {
  const by = document.getElementById(GROUPING);
  const more = labels.map((name) => `label:${name}`).filter((name) => name !== of.by);
  by?.append(...more.map((name) => h("option", { value: name }, shownName(name))));
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

/** @param {HTMLElement} place @param {State} of @param {Awaited<ReturnType<typeof get<"/v1/credits">>>} balance @param {number} rate credits of a dollar @param {Report} found @param {Report} last */
function showCards(place, of, balance, rate, found, last) {
  const { totals } = found;
  const spent = net(totals);
  const before = net(last.totals);
  const failed = net(found.rows.find((row) => row.group?.["outcome"] === "failed") ?? { credits: 0, refunds: 0 });
  const [began, end] = [Date.parse(of.period.from), Date.parse(of.period.to)];
  const isNow = Date.now() >= began && Date.now() < end;
  const days = isNow ? Math.max((Date.now() - began) / DAY_MS, 1 / 24) : (end - began) / DAY_MS;
  const daily = spent / 1e6 / days;
  const name = of.period.isMonth ? "month" : "period";
  const forecast = isNow ? `${credits(Math.round((daily * (end - began)) / DAY_MS))} by the ${name}'s end at this rate` : `the ${name} is over`;
  const usd = (/** @type {number} */ of) => (rate > 0 ? `≈ ${dollars(of / rate)}; ` : "");
  /** @type {[string, string, import("./dom.js").Child, string][]} */
  const all = [
    ["spent", "Spent", amountOf(spent), `${usd(spent / 1e6)}${forecast}`],
    ["before", of.period.isMonth ? "Month before" : "Period before", amountOf(before), before > 0 ? `now ${percent(Math.abs(spent - before), before)} ${spent < before ? "less" : "more"}` : "nothing to compare with"],
    ["failed", "Failed runs", percent(totals.failed, totals.runs), `${count(totals.failed)} of ${count(totals.runs)} runs, ${credits(Math.round(failed / 1e4) / 100)} credits`],
    ["each", "Cost per succeeded run", totals.succeeded > 0 ? amountOf(Math.round(spent / totals.succeeded)) : "–", `${totals.succeeded > 0 ? usd(spent / 1e6 / totals.succeeded) : ""}${count(totals.succeeded)} succeeded`],
    ["models", "Paid to providers", dollars(totals.modelUsd), `${amountText(totals.modelCredits)} credits of models, ${amountText(totals.computeCredits)} of compute; ${amountText(totals.cappedCredits)} of them above holds, so not charged`],
  ];
  // What is available, and for how long, is the organization's: it would mean something else beside filtered numbers.
  if (of.filters.length === 0) {
    const runway = daily > 0 ? duration(balance.available / daily) : "–";
    all.splice(2, 0, ["available", "Available", amount(balance.available), `${usd(balance.available)}${credits(Math.round(balance.reserved * 100) / 100)} reserved for open runs`], ["runway", "Runway", runway, `of what is available, at this ${name}'s rate`]);
  }
  const cards = all.map(([id, title, value, text]) => h("li", { id: `card-${id}` }, h("div", { class: "name" }, title), h("div", { class: "value" }, value), h("div", { class: "note" }, text)));
  fill(place, h("h2", {}, `${of.period.title}, credits`), h("ul", { class: "cards" }, cards), h("p", { class: "note" }, `Counted up to ${moment(found.asOf)}. Days are UTC. Point at a number for all its places.${rate > 0 ? ` A dollar is ${credits(rate)} credits now.` : ""}`));
}

/** Two places, as text. @param {number} credits */
const amountText = (credits) => amount(credits).textContent ?? "";

/** The groups of a report, largest first, with the amount of each on each day. @param {State} of @param {Report} found */
function groups(of, found) {
  const days = of.period.parts;
  /** @type {Map<string, {name: string, values: number[], whole: number, runs: number, failed: number, credits: number, refunds: number}>} */
  const all = new Map();
  for (const row of found.rows) {
    const name = row.group?.[of.by] ?? "(none)";
    const group = all.get(name) ?? { name, values: days.map(() => 0), whole: 0, runs: 0, failed: 0, credits: 0, refunds: 0 };
    all.set(name, group);
    const day = days.indexOf(row.bucket ?? "");
    if (of.day && row.bucket !== of.day) continue;
    if (day >= 0) group.values[day] = (group.values[day] ?? 0) + net(row) / 1e6;
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
    fill(place, h("p", { class: "note" }, `Nothing was charged in this ${of.period.isMonth ? "month" : "period"}, or nothing that these filters leave.`));
    place.style.minHeight = "0";
    return;
  }
  const series = all.slice(0, MAX_SERIES).map(({ name, values }) => ({ name, values }));
  const rest = all.slice(MAX_SERIES);
  if (rest.length > 0) {
    const values = of.period.parts.map((_, day) => rest.reduce((sum, group) => sum + (group.values[day] ?? 0), 0));
    series.push({ name: `${rest.length} others`, values });
  }
  const isOne = (/** @type {string | null} */ name) => name !== null && all.some((group) => group.name === name);
  stackedDays(place, `credits by ${of.period.bucket} and ${shownName(of.by)}`, of.period.parts, series, of.day, (part, name) => {
    if (of.period.bucket === "month") return openPeriod(of, part);
    const others = of.filters.filter((one) => one.by !== of.by);
    open(of, isOne(name) ? { day: part, filters: [...others, { by: of.by, value: String(name) }], at: {} } : { day: part, at: {} });
  });
  const legend = series.map((one, at) => {
    const swatch = h("span", { class: "swatch", "aria-hidden": "true" });
    swatch.style.background = COLOURS[at % COLOURS.length] ?? "";
    return h("li", {}, swatch, isOne(one.name) ? link(one.name, () => filtered(of, of.by, one.name), `Filter by ${one.name}`) : one.name);
  });
  const days = new Map(of.period.parts.map((day, at) => [day, all.reduce((sum, group) => sum + micro(group.values[at] ?? 0), 0)]));
  const marked = of.period.bucket === "day" ? outstandingDays(outstanding(days), net(found.totals), (day) => open(of, { day, at: {} })) : null;
  place.after(h("ul", { class: "legend", "aria-label": "What the colours are" }, legend), ...(marked ? [marked] : []));
  announce(`${of.period.title}: ${ofMicro(net(found.totals))} credits.`);
}

/** @param {HTMLElement} place @param {State} of @param {Report} found */
function showTable(place, of, found) {
  const all = groups(of, found);
  const whole = all.reduce((sum, group) => sum + group.whole, 0);
  const sum = (/** @type {"credits" | "refunds" | "runs" | "failed"} */ of) => all.reduce((sum, group) => sum + group[of], 0);
  const rows = all.map((group) => [link(group.name, () => filtered(of, of.by, group.name), `Show what ${group.name} is made of`), count(group.runs), count(group.failed), amountOf(group.credits), amountOf(group.refunds), amountOf(group.whole), percent(group.whole, whole)]);
  const [runs, failed] = of.day || of.by === "model" ? [sum("runs"), sum("failed")] : [found.totals.runs, found.totals.failed];
  const columns = [{ name: shownName(of.by) }, ...["Runs", "Failed", "Charged", "Refunded", "Net credits", "Share"].map((name) => ({ name, number: true }))];
  const when = of.day ?? of.period.title;
  if (of.day && all.every((group) => group.runs === 0 && group.whole === 0 && group.refunds === 0)) return fill(place, h("p", { class: "note" }, `Nothing was booked on ${of.day}.`));
  const isUnknown = of.by.startsWith("label:") && !found.labels.includes(of.by.slice("label:".length));
  fill(place, isUnknown ? h("p", { class: "warn" }, `${of.by.slice("label:".length)} is no declared cost label. ${found.labels.length > 0 ? `These are: ${found.labels.join(", ")}.` : "None is."} An operator declares them: \`awo admin set-cost-labels\`.`) : null,
    table(`Credits by ${shownName(of.by)}, ${when}`, columns, rows, ["All", count(runs), count(failed), amountOf(sum("credits")), amountOf(sum("refunds")), amountOf(whole), ""]),
    of.by === "model" ? h("p", { class: "note" }, "A run counts once for each model that it used.") : null,
    isDeeper(of) ? null : h("p", { class: "note" }, "Choose a row or a bar to see its work orders, runs and ledger entries."));
}

/** @param {State} of */
function downloads(of) {
  const { from, to, bucket, months, text, isMonth } = of.period;
  const only = Object.fromEntries(of.filters.map((filter) => [filter.by, filter.value]));
  const query = { from, to, groupBy: of.by, bucket, ...only };
  return h("section", {}, h("h2", {}, "Downloads"), h("div", { class: "row" },
    download("This report as CSV", "/v1/usage/report", query, "text/csv", `costs-${text}.csv`),
    months.filter((month) => month <= of.now).map((month) => download(isMonth ? "All charges as FOCUS 1.2" : `All charges of ${month} as FOCUS 1.2`, "/v1/exports/focus", { month }, "text/csv", `focus-${month}.csv`))));
}
