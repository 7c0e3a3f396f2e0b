// A diff by files, with lines that came and went in their colours.

import { fill, h, note } from "./dom.js";
import { count } from "./format.js";
import { coloured, languageOf } from "./syntax.js";

/** Most lines that are shown, and those of a file that is open from the beginning. */
const MAX_LINES = 5_000;
const MAX_OPEN_LINES = 400;

/** @typedef {{name: string, lines: string[], added: number, removed: number}} Changed */

/** The name in `diff --git a/NAME b/NAME`: a rename is a deletion and an addition, so both are the same. @param {string} line */
function nameOf(line) {
  const both = line.slice("diff --git ".length);
  const half = both.slice(0, (both.length - 1) / 2);
  return half.startsWith('"') ? half.slice(3, -1) : half.slice(2);
}

/** @param {string} text @returns {Changed[]} */
function files(text) {
  /** @type {Changed[]} */
  const all = [];
  let inHunk = false;
  for (const line of text.split("\n")) {
    if (line.startsWith("diff --git ")) {
      all.push({ name: nameOf(line), lines: [], added: 0, removed: 0 });
      inHunk = false;
    }
    const file = all.at(-1);
    if (!file) continue;
    file.lines.push(line);
    if (line.startsWith("@@")) inHunk = true;
    else if (inHunk && line.startsWith("+")) file.added += 1;
    else if (inHunk && line.startsWith("-")) file.removed += 1;
  }
  return all;
}

/** Headers whose content the file's own title has. */
const TOLD = /^(diff --git |index |--- |\+\+\+ )/;

/** The lines of a file's hunks with their numbers before and after, and the headers that say more than its name. @param {Changed} file @param {string[]} lines */
function shownLines(file, lines) {
  const language = languageOf(file.name);
  let [inHunk, before, after] = [false, 0, 0];
  return lines.flatMap((line) => {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
    if (hunk) [inHunk, before, after] = [true, Number(hunk[1]), Number(hunk[2])];
    if (hunk) return [h("span", { class: "line hunk" }, `${line}\n`)];
    if (!inHunk) return TOLD.test(line) || line === "" ? [] : [h("span", { class: "line meta" }, `${line}\n`)];
    if (line === "" || line.startsWith("\\")) return [];
    const [sign, tone] = line.startsWith("+") ? ["+", "added"] : line.startsWith("-") ? ["−", "removed"] : [" ", ""];
    const number = String(sign === "−" ? before : after).padStart(4);
    if (sign !== "+") before += 1;
    if (sign !== "−") after += 1;
    return [h("span", { class: `line ${tone}` }, h("span", { class: "at" }, `${number} ${sign} `), coloured(line.slice(1), language), "\n")];
  });
}

/** @param {HTMLElement} place @param {{diff: string, truncated: boolean, bytes: number}} found */
export function showDiff(place, found) {
  const all = files(found.diff);
  if (all.length === 0) return fill(place, note("No change."));
  let left = MAX_LINES;
  const shown = all.map((file) => {
    const lines = file.lines.slice(0, left);
    left -= lines.length;
    const counts = h("span", {}, h("span", { class: "good" }, `+${count(file.added)}`), " ", h("span", { class: "bad" }, `−${count(file.removed)}`));
    // A rename and a mode have no lines; neither has a file that a limit leaves out.
    return h("details", { class: "file", open: lines.length > 0 && lines.length <= MAX_OPEN_LINES }, h("summary", {}, h("code", {}, file.name), " ", counts),
      h("pre", { class: "diff", tabindex: 0, role: "region", "aria-label": `Changes of ${file.name}` }, shownLines(file, lines)),
      lines.length < file.lines.length ? note("The rest is not shown here: `awo diff` has it.") : null);
  });
  const sum = (/** @type {"added" | "removed"} */ what) => count(all.reduce((whole, file) => whole + file[what], 0));
  fill(place, h("p", {}, `${count(all.length)} ${all.length === 1 ? "file" : "files"}, ${sum("added")} lines more, ${sum("removed")} less`, found.truncated ? "; the diff is longer than what is kept" : "", "."), shown);
}
