// The months of the ledger, and whether closed ones are what they were when they were closed. The rules of the
// check are those of `awo finance verify`, with the report in the place of the ledger's single entries.

import { get, MAX_PAGES, optional, reason, report } from "./api.js";
import { anchor, announce, fill, h, problem, table } from "./dom.js";
import { download } from "./download.js";
import { amount, micro, moment, monthPlus } from "./format.js";

/** @typedef {Awaited<ReturnType<typeof get<"/v1/statements">>>["statements"][number]} Statement */

/** @param {HTMLElement} place @param {AbortSignal} signal */
export async function showStatements(place, signal) {
  const found = await optional(get("/v1/statements", {}, { signal }));
  const title = h("h2", {}, "Statements");
  if ("missing" in found) return fill(place, title, h("p", { class: "note" }, found.missing));
  const { statements } = found.value;
  if (statements.length === 0) return fill(place, title, h("p", { class: "note" }, "There are none yet."));
  const amounts = ["Opening balance", "Purchases", "Deductions", "Refunds", "Closing balance"].map((name) => ({ name, number: true }));
  const rows = statements.map((one) => [anchor(one.month, "close", { month: one.month }, `The end of ${one.month}`), one.status, ...[one.openingBalance, one.purchases, one.deductions, one.refunds, one.closingBalance].map(amount), moment(one.closedAt),
    h("span", {}, download("CSV", `/v1/statements/${encodeURIComponent(one.month)}`, {}, "text/csv", `statement-${one.month}.csv`), " ", download("for print", `/v1/statements/${encodeURIComponent(one.month)}`, {}, "text/html", `statement-${one.month}.html`))]);
  const corrections = statements.flatMap((one) => one.corrections.map((of) => [one.month, of.month, of.type, amount(of.credits), of.runId ? anchor(of.runId, "runs", { run: of.runId }, `Run ${of.runId}`) : "–", entryOf(one.month, of)]));
  fill(place, title, table("Statements by month", [{ name: "Month" }, { name: "Status" }, ...amounts, { name: "Closed at" }, { name: "Download" }], rows),
    h("div", { class: "row" }, checker(signal)),
    corrections.length === 0 ? h("p", { class: "note" }, "Nothing was booked later about runs of an earlier month.")
      : table("Booked later about runs of earlier months", [{ name: "Booked in" }, { name: "About" }, { name: "Type" }, { name: "Credits", number: true }, { name: "Run" }, { name: "Ledger entry" }], corrections));
}

/** The way to a ledger entry that was booked later. @param {string} month @param {Statement["corrections"][number]} of */
function entryOf(month, of) {
  return of.runId ? anchor(of.id, "money", { month, run: of.runId, entry: of.id }) : of.id;
}

/** A button that checks all closed months, and what it found. @param {AbortSignal} signal */
function checker(signal) {
  const found = h("div", {});
  const button = h("button", { type: "button", onclick: async () => {
    button.disabled = true;
    fill(found, h("p", { class: "busy" }, "Checking closed months"));
    try {
      const { checked, faults } = await verified(signal);
      const verdict = faults.length > 0 ? "Closed months are not what they were." : `${checked} closed ${checked === 1 ? "month is" : "months are"} what ${checked === 1 ? "it was" : "they were"}.`;
      fill(found, h("p", {}, h("strong", { class: faults.length > 0 ? "bad" : "good" }, verdict)), h("ul", {}, faults.map((fault) => h("li", {}, fault))));
      announce(verdict);
    } catch (error) {
      if (!signal.aborted) fill(found, problem("Nothing was checked.", reason(error), null));
    } finally {
      button.disabled = false;
    }
  } }, "Check closed months");
  return h("div", {}, button, h("p", { class: "note" }, "Each must have the hash of its content, follow the month before it, and have the sums of its report."), found);
}

/** @param {AbortSignal} signal @returns {Promise<{checked: number, faults: string[]}>} */
async function verified(signal) {
  if (!globalThis.crypto?.subtle) throw new Error("This browser computes hashes on pages of https and of this machine alone.");
  const closed = (await every(signal)).filter((one) => one.status === "closed");
  const faults = [];
  for (const [at, one] of closed.entries()) {
    const fault = await faultOf(one, closed[at - 1], signal);
    if (fault) faults.push(`${one.month}: ${fault}.`);
  }
  return { checked: closed.length, faults };
}

/** All months, oldest first. @param {AbortSignal} signal */
export async function every(signal) {
  /** @type {Statement[]} */
  const all = [];
  /** @type {string | undefined} */
  let cursor;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const found = await get("/v1/statements", { limit: "100", ...(cursor ? { cursor } : {}) }, { signal });
    all.push(...found.statements);
    cursor = found.nextCursor;
    if (!cursor) break;
  }
  return all.reverse();
}

/** @param {Statement} of @param {Statement | undefined} previous @param {AbortSignal} signal @returns {Promise<string | null>} what is wrong with it */
export async function faultOf(of, previous, signal) {
  const { hash, ...content } = of;
  if (previous && monthPlus(previous.month, 1) !== of.month) return "the month before it is missing";
  if (of.previousHash !== previous?.hash) return "it does not follow the month before it";
  if ((await sha256(new TextEncoder().encode(canonical(content)))) !== hash) return "its content is not what was hashed";
  if (previous && micro(of.openingBalance) !== micro(previous.closingBalance)) return "it does not open with what the month before it closed with";
  const charged = micro(of.deductions) - micro(of.refunds);
  if (micro(of.openingBalance) + micro(of.purchases) - charged !== micro(of.closingBalance)) return "its sums do not add up";
  if (of.rows.reduce((sum, row) => sum + micro(row.credits), 0) !== micro(of.deductions)) return "its rows do not add up";
  const { totals } = await report({ from: `${of.month}-01`, to: `${monthPlus(of.month, 1)}-01`, groupBy: "outcome" }, signal);
  return micro(totals.credits) - micro(totals.refunds) === charged ? null : "the report has another amount";
}

/** The RFC 8785 form: members by the UTF-16 code units of their names, numbers and text as JSON.stringify writes them. @param {unknown} value @returns {string} */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, of]) => `${JSON.stringify(name)}:${canonical(of)}`).join(",")}}`;
}

/** @param {Uint8Array<ArrayBuffer>} data */
export async function sha256(data) {
  const digest = await crypto.subtle.digest("SHA-256", data);
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
