// The end of a month on one page: whether it is closed and unchanged, what was booked later, whether the export adds up to
// the ledger, and one package of everything that somebody keeps of it.

import { fetched, optional, reason } from "./api.js";
import { anchor, announce, fill, h, note, outcome, problem, save, table } from "./dom.js";
import { csv, exactMicro } from "./focus.js";
import { amount, amountOf, count, micro, moment, monthPlus } from "./format.js";
import { thisMonth } from "./periods.js";
import { every, faultOf, sha256 } from "./statements.js";
import { zip } from "./zip.js";

/** @typedef {import("./statements.js").Statement} Statement */
/** @typedef {{name: string, path: string, query: Record<string, string>, accept: string}} Part */

/** @type {import("./address.js").Page} */
export async function showClose(place, where, signal) {
  const wanted = where.get("month") ?? "";
  const month = /^\d{4}-(0[1-9]|1[0-2])$/.test(wanted) ? wanted : monthPlus(thisMonth(), -1);
  const list = h("section", {}, h("p", { class: "busy" }, "Checking the month"));
  fill(place, h("p", {}, anchor("‹ Money", "money", { month })), h("h2", {}, `The end of ${month}`), list);
  const read = await optional(every(signal));
  if ("missing" in read) return fill(list, note(read.missing));
  const at = read.value.findIndex((one) => one.month === month);
  const statement = read.value[at];
  if (!statement) return fill(list, note(`There is no statement of ${month}.`));
  const fault = statement.status === "closed" ? await faultOf(statement, read.value[at - 1], signal) : null;
  const [exported, packed] = [h("span", {}, "It is checked when the package is made."), h("div", {})];
  const button = h("button", { type: "button", class: "main", onclick: () => void make(button, packed, exported, statement, fault, signal) }, "Download the package");
  fill(list, table(`What to look at, ${month}`, [{ name: "Step" }, { name: "State" }, { name: "About it" }], [
    ["Closed", outcome(statement.status === "closed" ? "yes" : "no"), statement.status === "closed" ? moment(statement.closedAt) : "A month closes by itself on the third day of the next one."],
    ["Unchanged", outcome(statement.status !== "closed" ? "–" : fault ? "no" : "yes"), statement.status !== "closed" ? "–" : (fault ?? `its content has the hash ${statement.hash}, and it follows the month before it`)],
    ["Charges", "–", h("span", {}, amount(statement.deductions), " charged, ", amount(statement.refunds), " refunded, closing balance ", amount(statement.closingBalance))],
    ["Booked later", "–", statement.corrections.length === 0 ? "nothing about runs of earlier months" : `${count(statement.corrections.length)} about runs of earlier months: they are in the package`],
    ["The provider's invoice", "–", anchor("Compare its report", "invoice", { month })],
    ["The export adds up", "–", exported],
  ]), h("div", { class: "row" }, button), packed,
    note("The package has the statement as JSON, as CSV and for print, all charges as FOCUS 1.2, the report by model and day, and a text with what was checked and the SHA-256 of each file."));
}

/** @param {string} month @returns {Part[]} */
function parts(month) {
  const statement = `/v1/statements/${encodeURIComponent(month)}`;
  return [
    { name: `statement-${month}.json`, path: statement, query: {}, accept: "application/json" }, { name: `statement-${month}.csv`, path: statement, query: {}, accept: "text/csv" }, { name: `statement-${month}.html`, path: statement, query: {}, accept: "text/html" },
    { name: `focus-${month}.csv`, path: "/v1/exports/focus", query: { month }, accept: "text/csv" },
    { name: `costs-${month}.csv`, path: "/v1/usage/report", query: { from: `${month}-01`, to: `${monthPlus(month, 1)}-01`, groupBy: "model", bucket: "day" }, accept: "text/csv" },
  ];
}

/** Usage of an export, in micro-credits. @param {string} text */
function usage(text) {
  if (text.includes("\n# incomplete")) throw new Error("The export broke off. Please try again.");
  const [header = [], ...rows] = csv(text);
  const [category, cost] = ["ChargeCategory", "PricingCurrencyEffectiveCost"].map((name) => header.indexOf(name));
  return rows.reduce((sum, row) => (row[category ?? -1] === "Usage" ? sum + exactMicro(row[cost ?? -1] ?? "0") : sum), 0);
}

/** @param {HTMLButtonElement} button @param {HTMLElement} place @param {HTMLElement} exported @param {Statement} statement @param {string | null} fault @param {AbortSignal} signal */
async function make(button, place, exported, statement, fault, signal) {
  const { month } = statement;
  button.disabled = true;
  fill(place, h("p", { class: "busy" }, "Reading its parts"));
  try {
    /** @type {{name: string, data: Uint8Array<ArrayBuffer>}[]} */
    const files = [];
    for (const part of parts(month)) {
      const answer = await fetched(part.path, part.query, { accept: part.accept, signal });
      files.push({ name: part.name, data: new Uint8Array(await answer.arrayBuffer()) });
    }
    const text = (/** @type {string} */ begin) => new TextDecoder().decode(files.find((file) => file.name.startsWith(begin))?.data);
    const [sum, charged] = [usage(text("focus")), micro(statement.deductions) - micro(statement.refunds)];
    fill(exported, outcome(sum === charged ? "yes" : "no"), " ", amountOf(sum), " in the export, ", amountOf(charged), " in the ledger");
    const state = statement.status !== "closed" ? "is not closed" : fault ? `closed ${statement.closedAt}; ${fault}` : `closed ${statement.closedAt}, unchanged, hash ${statement.hash}`;
    const lines = [`Month ${month}: ${state}`, `Usage in the export, micro-credits: ${sum}`, `Deductions less refunds in the ledger, micro-credits: ${charged}`, sum === charged ? "They agree." : "They do not agree.", `Checked at ${new Date().toISOString()}`, ""];
    for (const file of files) lines.push(`${await sha256(file.data)}  ${file.name}`);
    files.push({ name: `check-${month}.txt`, data: new TextEncoder().encode(`${lines.join("\n")}\n`) });
    save(zip(files), `close-${month}.zip`);
    fill(place, h("p", { class: "good" }, `close-${month}.zip is saved.`));
    announce(`close-${month}.zip is saved.`);
  } catch (error) {
    if (!signal.aborted) fill(place, problem("There is no package.", reason(error), null));
  } finally {
    button.disabled = false;
  }
}
