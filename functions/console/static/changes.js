// Why a period cost more or less than the one before: the groups with the largest differences, each divided into
// more or fewer runs and dearer or cheaper ones. And the days that stand out.

import { fill, h, link } from "./dom.js";
import { amountOf, count, micro, percent } from "./format.js";

/** Most groups that are named, and most days. */
const MAX_NAMED = 3;
/** So many times the median day is a day that stands out. */
const STANDS_OUT = 3;
/** Days with charges that there must be to speak of a median. */
const MIN_DAYS = 5;

/** @typedef {{name: string, spent: number, runs: number}} Group `spent` in micro-credits */
/** @typedef {{group?: Record<string, string>, credits: number, refunds: number, runs: number}} Row */

/** The groups of a report that has no buckets. @param {Row[]} rows @param {string} by @returns {Map<string, Group>} */
export function grouped(rows, by) {
  /** @type {Map<string, Group>} */
  const all = new Map();
  for (const row of rows) {
    const name = row.group?.[by] ?? "(none)";
    const group = all.get(name) ?? { name, spent: 0, runs: 0 };
    group.spent += micro(row.credits) - micro(row.refunds);
    group.runs += row.runs;
    all.set(name, group);
  }
  return all;
}

/** @param {Group} now @param {Group} before */
function sentence(now, before) {
  const [more, runs] = [now.spent - before.spent, now.runs - before.runs];
  const difference = [amountOf(Math.abs(more)), more > 0 ? " more" : " less"];
  if (before.runs === 0 || now.runs === 0) return [...difference, before.spent === 0 ? ": it is new." : now.spent === 0 ? ": there is no more of it." : "."];
  // More runs at the price of before, and what the price of now adds to all of them.
  const [was, is] = [before.spent / before.runs, now.spent / now.runs];
  const [volume, price] = [Math.round(runs * was), more - Math.round(runs * was)];
  const part = (/** @type {number} */ of) => [of < 0 ? "−" : "+", amountOf(Math.abs(of))];
  return [...difference, `: ${count(now.runs)} runs instead of ${count(before.runs)} (`, ...part(volume), "), ", amountOf(is), " instead of ", amountOf(was), " for each (", ...part(price), ")."];
}

/**
 * @param {HTMLElement} place @param {Map<string, Group>} now @param {Map<string, Group>} before
 * @param {(name: string) => void} open shows what a group is made of
 */
export function showChanges(place, now, before, open) {
  const none = (/** @type {string} */ name) => ({ name, spent: 0, runs: 0 });
  const all = [...new Set([...now.keys(), ...before.keys()])].map((name) => ({ now: now.get(name) ?? none(name), before: before.get(name) ?? none(name) }));
  const largest = all.filter((one) => one.now.spent !== one.before.spent).sort((a, b) => Math.abs(b.now.spent - b.before.spent) - Math.abs(a.now.spent - a.before.spent)).slice(0, MAX_NAMED);
  if (largest.length === 0) return place.replaceChildren();
  fill(place, h("h2", {}, "What changed most"), h("ul", { class: "changes" }, largest.map((one) => h("li", {}, link(one.now.name, () => open(one.now.name), `Show the charges of ${one.now.name}`), " ", sentence(one.now, one.before)))));
}

/**
 * The days that cost several times the median of those with charges, the dearest first.
 * @param {Map<string, number>} days their micro-credits
 * @returns {{day: string, spent: number, median: number}[]}
 */
export function outstanding(days) {
  const amounts = [...days.values()].filter((spent) => spent > 0).sort((a, b) => a - b);
  const median = amounts[Math.floor(amounts.length / 2)] ?? 0;
  if (amounts.length < MIN_DAYS || median === 0) return [];
  return [...days].filter(([, spent]) => spent >= STANDS_OUT * median).sort((a, b) => b[1] - a[1]).slice(0, MAX_NAMED).map(([day, spent]) => ({ day, spent, median }));
}

/** @param {{day: string, spent: number, median: number}[]} all @param {number} whole @param {(day: string) => void} open */
export function outstandingDays(all, whole, open) {
  if (all.length === 0) return null;
  return h("ul", { class: "changes", "aria-label": "Days that stand out" }, all.map((one) => h("li", {}, link(one.day, () => open(one.day), `Show the charges of ${one.day}`), " ", amountOf(one.spent), `, ${percent(one.spent, whole)} of all: ${(one.spent / one.median).toFixed(1)} times a usual day.`)));
}
