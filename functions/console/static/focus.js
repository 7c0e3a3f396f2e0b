// Reads an export of charges, of which the page shows work orders, runs and ledger entries.

import { ApiError, fetched } from "./api.js";

/** Largest export that is read, in characters: some ten thousand runs. */
const MAX_CHARACTERS = 40_000_000;

/** The columns of what costs are divided by. @type {Record<string, string>} */
const COLUMNS = { outcome: "x_Outcome", tenantUser: "x_TenantUserId", repository: "x_Repository", agent: "x_Agent", harness: "x_Harness", key: "x_KeyId" };

/** @typedef {Record<string, string>} Charge a row by its columns' names */

/** The cells of CSV as RFC 4180 has it. @param {string} text @returns {string[][]} */
export function csv(text) {
  const rows = [];
  /** @type {string[]} */
  let row = [];
  let cell = "";
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at];
    if (quoted) {
      if (letter !== '"') cell += letter;
      else if (text[at + 1] === '"') { cell += '"'; at += 1; }
      else quoted = false;
    } else if (letter === '"') quoted = true;
    else if (letter === ",") { row.push(cell); cell = ""; }
    else if (letter === "\n") { row.push(cell); rows.push(row); row = []; cell = ""; }
    else if (letter !== "\r") cell += letter;
  }
  return rows;
}

/**
 * The charges of a month, or of a day of it.
 * @param {string} month
 * @param {string | undefined} day such as `2026-11-20`
 * @param {AbortSignal} [signal]
 * @returns {Promise<Charge[]>}
 */
export async function charges(month, day, signal) {
  const query = day ? { month, day: day.slice(8) } : { month };
  const answer = await fetched("/v1/exports/focus", query, { accept: "text/csv", ...(signal ? { signal } : {}) });
  const text = await bounded(answer);
  if (text.includes("\n# incomplete")) throw new ApiError(0, "", "The list of charges broke off. Please try again.");
  const [header = [], ...rows] = csv(text);
  return rows.map((row) => Object.fromEntries(header.map((name, at) => [name, row[at] ?? ""])));
}

/** The text of an answer that is not too long; a longer one is not read to its end. @param {Response} answer */
async function bounded(answer) {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  const pieces = [];
  for (let length = 0; reader; ) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    pieces.push(value);
    if (length > MAX_CHARACTERS) {
      await reader.cancel();
      throw new ApiError(0, "", "There are too many charges to show: choose a day.");
    }
  }
  return pieces.join("");
}

/** An exact decimal of at most six places as whole micro-credits. @param {string} text */
export function exactMicro(text) {
  const [whole = "0", part = ""] = text.replace("-", "").split(".");
  const micro = Number(whole) * 1_000_000 + Number(part.padEnd(6, "0"));
  return text.startsWith("-") ? -micro : micro;
}

/** Whether a charge has a value of a dimension. @param {Charge} charge @param {string} by @param {string} value */
export function matches(charge, by, value) {
  return valueOf(charge, by) === value;
}

/** @param {Charge} charge @param {string} by @returns {string} as reports name it */
function valueOf(charge, by) {
  const plain = (/** @type {string | undefined} */ text) => (text ?? "").replace(/^'(?=[=+\-@\t\r])/, "") || "(none)";
  if (by === "model") return charge["x_Model"] ? plain(charge["x_Model"]) : "(compute)";
  if (by === "tenant") return plain(charge["SubAccountId"]);
  const column = COLUMNS[by];
  if (column) return plain(charge[column]);
  const tags = charge["Tags"] ? JSON.parse(charge["Tags"]) : {};
  return tags[by.slice("label:".length)] || "(none)";
}
