// A diff by files, with lines that came and went in their colours.

import { fill, h, note } from "./dom.js";
import { count } from "./format.js";

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

/** @param {string} line @param {boolean} inHunk */
function tone(line, inHunk) {
  if (line.startsWith("@@")) return "hunk";
  if (!inHunk) return "meta";
  return line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "";
}

/** @param {string[]} lines */
function coloured(lines) {
  let inHunk = false;
  return lines.map((line) => {
    inHunk ||= line.startsWith("@@");
    return h("span", { class: `line ${tone(line, inHunk)}` }, `${line}\n`);
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
    return h("details", { class: "file", open: lines.length > 0 && lines.length <= MAX_OPEN_LINES }, h("summary", {}, h("code", {}, file.name), " ", counts),
      h("pre", { class: "diff", tabindex: 0, role: "region", "aria-label": `Changes of ${file.name}` }, coloured(lines)),
      lines.length < file.lines.length ? note("The rest is not shown here: `awo diff` has it.") : null);
  });
  const sum = (/** @type {"added" | "removed"} */ what) => count(all.reduce((whole, file) => whole + file[what], 0));
  fill(place, h("p", {}, `${count(all.length)} ${all.length === 1 ? "file" : "files"}, ${sum("added")} lines more, ${sum("removed")} less`, found.truncated ? "; the diff is longer than what is kept" : "", "."), shown);
}
