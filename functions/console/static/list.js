// Lists of the service, a page at a time.

import { fill, h, note, table } from "./dom.js";
import { count } from "./format.js";
import { optional } from "./api.js";

/**
 * @template T
 * @typedef {{items: T[], total: number, next?: string | undefined}} Page
 */

/**
 * Shows a list, and buttons for its further pages.
 * @template T
 * @param {HTMLElement} place
 * @param {{caption: string, none: string, columns: import("./dom.js").Column[], row: (item: T) => import("./dom.js").Child[]}} how
 * @param {(cursor: string) => Promise<Page<T>>} read a page; the first has no cursor
 * @param {string} [cursor]
 */
export async function showPages(place, how, read, cursor = "") {
  const found = await optional(read(cursor));
  if ("missing" in found) return fill(place, note(found.missing));
  const { items, total, next } = found.value;
  if (items.length === 0) return fill(place, note(how.none));
  const turn = (/** @type {string} */ to) => () => void showPages(place, how, read, to);
  fill(place, table(`${how.caption}: ${count(total)}`, how.columns, items.map(how.row)),
    h("div", { class: "row" }, cursor ? h("button", { type: "button", onclick: turn("") }, "First page") : null, next ? h("button", { type: "button", onclick: turn(next) }, "Next page") : null));
}
