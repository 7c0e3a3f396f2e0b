// A provider's report beside what this service counted, by model and day. The files are read in the browser and
// go nowhere.

import { reason, report } from "./api.js";
import { announce, fill, h, problem, table } from "./dom.js";
import { count, monthOf, monthPlus, usd } from "./format.js";
import { add, nano, plain, read, row } from "./provider_report.js";

/** @typedef {import("./provider_report.js").Provider} Provider */
/** @typedef {import("./provider_report.js").Rows} Rows */
/** @typedef {import("./provider_report.js").Used} Used */
/** @typedef {"agrees" | "prices-differ" | "calls-elsewhere" | "calls-unknown"} Finding */
/** @typedef {{period: string, model: string, ours: Used, theirs: Used, inputError: number, outputError: number, tokensError: number, usdError: number | null, finding: Finding}} Compared */

/** What a provider's models are called. @type {Record<Provider, {name: string, models: string[]}>} */
const PROVIDERS = {
  anthropic: { name: "Anthropic", models: ["claude"] },
  openai: { name: "OpenAI", models: ["gpt-", "chatgpt-", "o1", "o3", "o4", "codex-", "computer-use-", "text-embedding-"] },
};

/** @type {Record<Finding, string>} */
const MEANINGS = {
  agrees: "Tokens and dollars differ by no more than the tolerance.",
  "prices-differ": "Tokens agree and dollars do not: the price lists differ, by a discount or a price of the operator's own.",
  "calls-elsewhere": "The provider counts more tokens: calls with its account did not come through this service.",
  "calls-unknown": "This service counts more tokens: the report is of another account or period, or an agent reported usage of itself.",
};

/** @type {import("./address.js").Page} */
export async function showInvoice(place, where, signal) {
  const now = monthOf(new Date());
  const wanted = where.get("month") ?? "";
  const month = h("input", { type: "month", value: /^\d{4}-(0[1-9]|1[0-2])$/.test(wanted) ? wanted : now, max: now, required: true });
  const provider = h("select", {}, Object.entries(PROVIDERS).map(([value, of]) => h("option", { value }, of.name)));
  const files = h("input", { type: "file", multiple: true, required: true, accept: ".json,.jsonl,.ndjson,.txt,application/json" });
  const tolerance = h("input", { type: "number", min: 0, max: 100, step: "any", value: "1", required: true });
  const found = h("section", { "aria-label": "What was found" });
  const form = h("form", { class: "row" }, h("label", {}, "Month", month), h("label", {}, "Provider", provider), h("label", {}, "Tolerance, %", tolerance),
    h("label", {}, "Files of its report", files), h("button", { type: "submit" }, "Compare"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    fill(found, h("p", { class: "busy" }, "Comparing"));
    try {
      const of = /** @type {Provider} */ (provider.value);
      const theirs = await read(of, [...(files.files ?? [])], month.value);
      const ours = await counted(of, theirs, month.value, signal);
      showFound(found, month.value, ours, theirs, Number(tolerance.value));
    } catch (error) {
      if (!signal.aborted) fill(found, problem("This cannot be compared.", reason(error), null));
    }
  });
  fill(place, h("h2", {}, "Does a provider's invoice agree?"), form,
    h("p", { class: "note" }, "The files are answers of the provider's usage and cost API, by day and model, saved as JSON. They are read in this tab and sent nowhere."), found);
}

/** What this service counted of a provider's models, by day. @param {Provider} provider @param {Rows} theirs @param {string} month @param {AbortSignal} signal */
async function counted(provider, theirs, month, signal) {
  const { rows } = await report({ from: `${month}-01`, to: `${monthPlus(month, 1)}-01`, groupBy: "model", bucket: "day" }, signal);
  const named = new Set([...theirs.keys()].map((at) => JSON.parse(at)[1]));
  /** @type {Rows} */
  const ours = new Map();
  for (const one of rows) {
    const name = one.group?.["model"] ?? "";
    const model = plain(name);
    // Compute, and what no model is known of, is in parentheses.
    const isTheirs = !name.startsWith("(") && (named.has(model) || PROVIDERS[provider].models.some((begin) => model.startsWith(begin)));
    if (isTheirs) add(ours, row(one.bucket ?? "", model), { inputTokens: one.inputTokens, outputTokens: one.outputTokens, usdNano: nano(one.modelUsd) });
  }
  return ours;
}

/** @param {Rows} days @param {string} month */
function ofMonth(days, month) {
  /** @type {Rows} */
  const sums = new Map();
  for (const [at, used] of days) add(sums, row(month, JSON.parse(at)[1]), used);
  return sums;
}

/** By how many per cent of theirs ours differ; all of it, where they have none. @param {number} ours @param {number} theirs */
const difference = (ours, theirs) => (theirs !== 0 ? ((ours - theirs) * 100) / theirs : ours === 0 ? 0 : 100);

/** @param {Rows} ours @param {Rows} theirs @param {number} tolerance @returns {Compared[]} by period and model */
function compared(ours, theirs, tolerance) {
  /** @type {Used} */
  const nothing = { inputTokens: 0, outputTokens: 0, usdNano: null };
  const hasDollars = [...theirs.values()].some((used) => used.usdNano !== null);
  return [...new Set([...ours.keys(), ...theirs.keys()])].sort().map((at) => {
    const [period, model] = JSON.parse(at);
    const [a, b] = [ours.get(at) ?? nothing, theirs.get(at) ?? nothing];
    const [input, output] = [difference(a.inputTokens, b.inputTokens), difference(a.outputTokens, b.outputTokens)];
    const tokensError = Math.abs(input) > Math.abs(output) ? input : output;
    const usdError = hasDollars ? difference(a.usdNano ?? 0, b.usdNano ?? 0) : null;
    return { period, model, ours: a, theirs: b, inputError: input, outputError: output, tokensError, usdError, finding: finding(tokensError, usdError ?? 0, tolerance) };
  });
}

/** @param {number} tokens @param {number} dollars @param {number} tolerance @returns {Finding} */
function finding(tokens, dollars, tolerance) {
  if (Math.abs(tokens) > tolerance) return tokens < 0 ? "calls-elsewhere" : "calls-unknown";
  return Math.abs(dollars) > tolerance ? "prices-differ" : "agrees";
}

/** @param {HTMLElement} place @param {string} month @param {Rows} ours @param {Rows} theirs @param {number} tolerance */
function showFound(place, month, ours, theirs, tolerance) {
  const models = compared(ofMonth(ours, month), ofMonth(theirs, month), tolerance);
  const days = compared(ours, theirs, tolerance).filter((one) => one.finding !== "agrees");
  const found = [...new Set(models.map((one) => one.finding))];
  const agrees = found.every((one) => one === "agrees");
  const verdict = models.length === 0 ? "Neither side has anything of this month." : agrees ? `${month} agrees.` : `${month} does not agree.`;
  fill(place, h("p", {}, h("strong", { class: agrees ? "good" : "bad" }, verdict)),
    models.length > 0 && compare(`Models in ${month}`, "Model", models, (one) => one.model),
    h("ul", {}, found.map((one) => h("li", {}, h("strong", {}, one), ` – ${MEANINGS[one]}`))),
    days.length > 0 && compare("Days that differ", "Day and model", days, (one) => `${one.period} ${one.model}`),
    h("p", { class: "note" }, "A run counts here on the day on which it was settled, at the provider on the day of its calls, so single days can differ while the month agrees."));
  announce(verdict);
}

/** @param {string} caption @param {string} first @param {Compared[]} all @param {(one: Compared) => string} name */
function compare(caption, first, all, name) {
  const signed = new Intl.NumberFormat("en", { signDisplay: "exceptZero", minimumFractionDigits: 2, maximumFractionDigits: 2 });
  const dollars = (/** @type {Used} */ of) => (of.usdNano === null ? "–" : usd(of.usdNano / 1e9));
  const names = ["Input tokens, ours", "provider", "difference, %", "Output tokens, ours", "provider", "difference, %", "USD, ours", "provider", "difference, %"];
  const columns = [{ name: first }, ...names.map((one) => ({ name: one, number: true })), { name: "Finding" }];
  return table(caption, columns, all.map((one) => [
    name(one), count(one.ours.inputTokens), count(one.theirs.inputTokens), signed.format(one.inputError), count(one.ours.outputTokens), count(one.theirs.outputTokens), signed.format(one.outputError),
    dollars(one.ours), dollars(one.theirs), one.usdError === null ? "–" : signed.format(one.usdError), one.finding]));
}
