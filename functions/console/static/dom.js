// Elements. Whatever comes from the API becomes text and nothing else: nothing here reads markup.

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * An element with properties, attributes and children.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, unknown>} [props] `class`, `on…` handlers, properties, or attributes
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function" && name.startsWith("on")) {
      element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else if (value === true) {
      element.setAttribute(name, "");
    } else {
      element.setAttribute(name, String(value));
    }
  }
  element.append(...nodes(children));
  return element;
}

/** @param {(Child | Child[])[]} children @returns {(Node | string)[]} */
function nodes(children) {
  /** @type {(Node | string)[]} */
  const all = [];
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    all.push(typeof child === "number" ? String(child) : child);
  }
  return all;
}

/** @param {Element} element @param {...(Child | Child[])} children */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
}

/** @param {string} id @returns {HTMLElement} */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no ${id}`);
  return element;
}

/** Announces a text to screen readers. @param {string} text */
export function announce(text) {
  byId("announcer").textContent = text;
}

/** A button that looks like a link. @param {string} text @param {() => void} act @param {string} [label] */
export function link(text, act, label) {
  return h("button", { type: "button", class: "plain", onclick: act, "aria-label": label }, text);
}

/** @typedef {{name: string, number?: boolean}} Column */

/**
 * A table that scrolls by itself where it is wider than the page.
 * @param {string} caption
 * @param {Column[]} columns
 * @param {Child[][]} rows
 * @param {Child[] | null} [totals]
 */
export function table(caption, columns, rows, totals) {
  const cell = (/** @type {"td" | "th"} */ tag, /** @type {Child} */ child, /** @type {number} */ at, /** @type {object} */ more) =>
    h(tag, { class: columns[at]?.number ? "number" : "text", ...more }, child);
  const body = rows.map((row) =>
    h("tr", {}, row.map((child, at) => (at === 0 ? cell("th", child, at, { scope: "row" }) : cell("td", child, at, {})))),
  );
  const foot = totals
    ? h("tfoot", {}, h("tr", {}, totals.map((child, at) => (at === 0 ? cell("th", child, at, { scope: "row" }) : cell("td", child, at, {})))))
    : null;
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    h("table", {},
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, columns.map((column, at) => cell("th", column.name, at, { scope: "col" })))),
      h("tbody", {}, body),
      foot,
    ));
}

/** @param {string} title @param {string} text @param {(() => void) | null} [again] */
export function problem(title, text, again) {
  return h("div", { class: "problem", role: "alert" },
    h("strong", {}, title), h("p", {}, text),
    again ? h("button", { type: "button", onclick: again }, "Try again") : null);
}

/** An anchor to a page of the console. @param {Child} child @param {string} page @param {Record<string, string>} [where] @param {string} [label] */
export function anchor(child, page, where = {}, label) {
  const text = new URLSearchParams(where).toString();
  return h("a", { href: `#/${page}${text ? `?${text}` : ""}`, "aria-label": label }, child);
}

/** A link to another site, if it is one. @param {string} url */
export const outward = (url) => (url.startsWith("https://") ? h("a", { href: url, rel: "noreferrer noopener", target: "_blank" }, url) : url);

/** The facts of one thing. @param {string} name @param {[string, Child][]} facts */
export function facts(name, facts) {
  return h("dl", { class: "facts", "aria-label": name }, facts.map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value))));
}

/** Text of some length that scrolls by itself. @param {string} name @param {Child} child */
export function block(name, child) {
  return h("pre", { tabindex: 0, role: "region", "aria-label": name }, child);
}

/** @param {string} text */
export const note = (text) => h("p", { class: "note" }, text);

/** A state in its colour. @param {string} state */
export function outcome(state) {
  const good = ["succeeded", "passed", "delivered", "created", "followed up", "merged", "fixed", "on", "yes"];
  const bad = ["failed", "error", "abandoned", "introduced", "refused", "closed", "off"];
  const live = ["running", "building", "pending", "integrating", "open", "joined"];
  const tone = good.includes(state) ? "good" : bad.includes(state) ? "bad" : live.includes(state) ? "live" : "";
  return h("span", { class: `state ${tone}` }, state);
}

/** Saves text as a file. @param {Blob} blob @param {string} name */
export function save(blob, name) {
  const url = URL.createObjectURL(blob);
  const saved = h("a", { href: url, download: name });
  saved.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
