// The checks of a verification, and what is known of each on the base commit.

import { fill, h, note, outcome, table } from "./dom.js";
import { count } from "./format.js";

/** Longest message of a check that a row shows; the rest is behind it. */
const MAX_MESSAGE = 300;

/** @typedef {{name: string, status: string, message: string, tests?: {failed: number, passed: number, skipped: number}}} Check */
/** @typedef {{preExisting?: string[], introduced?: string[], fixed?: string[]}} Baseline */

/** @param {HTMLElement} place @param {Record<string, unknown>} data of an event that ends a verification */
export function showChecks(place, data) {
  const results = /** @type {{level: string, checks: Check[]}[]} */ (Array.isArray(data["results"]) ? data["results"] : []);
  const baseline = /** @type {Baseline} */ (data["baseline"] ?? {});
  const rows = results.flatMap((result) => result.checks.map((check) => [check.name, result.level, outcome(check.status), tests(check), outcome(compared(baseline, check.name)), message(check)]));
  // Findings that pass have no checks.
  const named = new Set(results.flatMap((result) => result.checks.map((check) => check.name)));
  const gone = (baseline.fixed ?? []).filter((name) => !named.has(name)).map((name) => [name, "–", outcome("passed"), "–", outcome("fixed"), ""]);
  const all = [...rows, ...gone];
  if (all.length === 0) return fill(place, note("There was nothing to check."));
  fill(place, typeof data["summary"] === "string" ? h("p", {}, data["summary"]) : null,
    table("Checks, compared with the base commit", [{ name: "Check" }, { name: "Level" }, { name: "Status" }, { name: "Tests" }, { name: "Base" }, { name: "Message" }], all));
}

/** @param {Baseline} baseline @param {string} name */
function compared(baseline, name) {
  if (baseline.preExisting?.includes(name)) return "pre-existing";
  if (baseline.introduced?.includes(name)) return "introduced";
  return baseline.fixed?.includes(name) ? "fixed" : "–";
}

/** @param {Check} check */
function tests(check) {
  if (!check.tests) return "–";
  const { passed, failed, skipped } = check.tests;
  return `${count(passed)} passed, ${count(failed)} failed, ${count(skipped)} skipped`;
}

/** @param {Check} check */
function message(check) {
  if (check.message.length <= MAX_MESSAGE) return check.message;
  return h("details", {}, h("summary", {}, `${check.message.slice(0, MAX_MESSAGE)}…`), h("pre", {}, check.message));
}
