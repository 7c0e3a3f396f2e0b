// What became of threads: pull requests that were merged, and what all attempts at them cost.

import { get, MAX_PAGES, optional } from "./api.js";
import { go } from "./address.js";
import { anchor, fill, h, note, table } from "./dom.js";
import { download } from "./download.js";
import { count, credits, moment, monthOf, monthPlus, percent } from "./format.js";

const GROUPS = ["repository", "agent", "harness", "tenant", "trigger"];

/** @typedef {Awaited<ReturnType<typeof get<"/v1/outcomes">>>} Report */
/** @typedef {Report["totals"]} Row */

/** @type {import("./address.js").Page} */
export async function showOutcomes(place, where, signal) {
  const now = monthOf(new Date());
  const wanted = where.get("month") ?? "";
  const month = /^\d{4}-(0[1-9]|1[0-2])$/.test(wanted) ? wanted : now;
  const named = where.get("by") ?? "";
  const by = GROUPS.includes(named) || named.startsWith("label:") ? named : "repository";
  const query = { from: `${month}-01`, to: `${monthPlus(month, 1)}-01`, groupBy: by };
  const found = h("section", {}, h("p", { class: "busy" }, "Reading the outcomes"));
  fill(place, h("h2", {}, "Outcomes"), controls(month, now, by), found);
  const read = await optional(outcomes(query, signal));
  if ("missing" in read) return fill(found, note(read.missing));
  const { rows, totals, asOf } = read.value;
  const columns = [{ name: by.startsWith("label:") ? `label ${by.slice(6)}` : by }, ...["Threads", "With pull request", "Open", "Merged", "Closed", "Merge rate", "As verified", "Credits", "Credits per merged one", "Median hours to merge"].map((name) => ({ name, number: true }))];
  fill(found, cards(totals), rows.length === 0 ? note("No thread began in this month.") : table(`Outcomes by ${by}, ${month}`, columns, rows.map((row) => cells(name(by, row.group?.[by] ?? "(none)"), row)), cells("All", totals)),
    note(`Threads whose first work order was created in ${month}, with all their runs. Counted up to ${moment(asOf)}.`),
    h("div", { class: "row" }, download("These outcomes as CSV", "/v1/outcomes", query, "text/csv", `outcomes-${month}.csv`)));
}

/** @param {string} month @param {string} now @param {string} by */
function controls(month, now, by) {
  const input = h("input", { type: "month", value: month, max: now, required: true });
  const select = h("select", {}, [...GROUPS, "label"].map((name) => h("option", { value: name, selected: name === by || (name === "label" && by.startsWith("label:")) }, name === "label" ? "cost label…" : name)));
  const label = h("input", { type: "text", value: by.startsWith("label:") ? by.slice(6) : "", maxlength: 64, placeholder: "team" });
  const labelled = h("label", {}, "Name of the label", label);
  labelled.hidden = select.value !== "label";
  const open = () => {
    labelled.hidden = select.value !== "label";
    if (select.value === "label" && !label.value) return label.focus();
    if (/^\d{4}-\d\d$/.test(input.value)) go("outcomes", { month: input.value, by: select.value === "label" ? `label:${label.value}` : select.value });
  };
  for (const element of [input, select, label]) element.addEventListener("change", open);
  return h("div", { class: "row" }, h("label", {}, "Month", input), h("label", {}, "Divided by", select), labelled);
}

/** @param {Record<string, string>} query @param {AbortSignal} signal @returns {Promise<Report>} */
async function outcomes(query, signal) {
  const first = await get("/v1/outcomes", { ...query, limit: "100" }, { signal });
  let cursor = first.nextCursor;
  for (let page = 1; cursor && page < MAX_PAGES; page += 1) {
    const next = await get("/v1/outcomes", { ...query, limit: "100", cursor }, { signal });
    first.rows.push(...next.rows);
    cursor = next.nextCursor;
  }
  first.rows.sort((a, b) => b.credits - a.credits);
  return first;
}

/** @param {string} by @param {string} value */
function name(by, value) {
  if (by !== "trigger" || !/^(trg|sch)_/.test(value)) return value;
  return value.startsWith("trg_") ? anchor(value, "triggers", { id: value }) : anchor(value, "schedules", { id: value });
}

/** @param {number | null} rate */
const rated = (rate) => (rate === null ? "–" : percent(rate, 1));
/** @param {number | null} value */
const perhaps = (value) => (value === null ? "–" : credits(value));

/** @param {import("./dom.js").Child} first @param {Row} row @returns {import("./dom.js").Child[]} */
function cells(first, row) {
  const rate = rated(row.mergeRate);
  return [first, count(row.threads), count(row.withPullRequest), count(row.open), count(row.merged), count(row.closed), rate, count(row.mergedAsVerified), credits(row.credits), perhaps(row.creditsPerMerged), perhaps(row.medianHoursToMerge)];
}

/** @param {Row} of */
function cards(of) {
  /** @type {[string, string, string, string][]} */
  const all = [
    ["threads", "Threads", count(of.threads), `${count(of.withPullRequest)} with a pull request`],
    ["merged", "Merged", rated(of.mergeRate), `${count(of.merged)} merged, ${count(of.closed)} closed, ${count(of.open)} open`],
    ["permerged", "Credits per merged pull request", perhaps(of.creditsPerMerged), `${credits(of.credits)} for all attempts`],
    ["hours", "Median hours to the merge", perhaps(of.medianHoursToMerge), `${count(of.mergedAsVerified)} merged as they were verified`],
  ];
  return h("ul", { class: "cards" }, all.map(([id, title, value, text]) => h("li", { id: `card-${id}` }, h("div", { class: "name" }, title), h("div", { class: "value" }, value), h("div", { class: "note" }, text))));
}
