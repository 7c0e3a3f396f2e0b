// Environments, templates and profiles as JSON, to read, write and delete.

import { ApiError, reason, send } from "./api.js";
import { go } from "./address.js";
import { announce, block, fill, h, note, problem } from "./dom.js";

/** What the service adds to a definition by itself. */
const ADDED = ["id", "createdAt", "updatedAt", "builtIn", "isBuiltIn", "configHash"];

/**
 * A kind of definition: where its list is, what a new one begins with, and how one of its names is read.
 * @typedef {{kind: string, path: string, title: string, empty: Record<string, unknown>, read: (name: string) => Promise<Record<string, unknown>>}} Kind
 */

/** A definition as somebody writes it. @param {Record<string, unknown>} of */
function written(of) {
  const own = Object.fromEntries(Object.entries(of).filter(([name]) => !ADDED.includes(name)));
  // Whether a secret is set, and when, is not for the definition to say.
  const secrets = Array.isArray(own["secrets"]) ? { secrets: own["secrets"].map(({ name, phases }) => ({ name, phases })) } : {};
  return { ...own, ...secrets };
}

/** @param {string} text @returns {Record<string, unknown>} */
function parsed(text) {
  const found = JSON.parse(text);
  if (typeof found !== "object" || found === null || Array.isArray(found)) throw new Error("A definition is an object.");
  return found;
}

/** @param {unknown} error */
const why = (error) => (error instanceof SyntaxError ? `This is no JSON: ${error.message}` : reason(error));

/** A definition, and a form for it where the key may write. @param {HTMLElement} place @param {Kind} kind @param {string} name @param {Record<string, unknown>} found @param {boolean} mayWrite */
export function showDefinition(place, kind, name, found, mayWrite) {
  const isBuiltIn = found["builtIn"] === true || found["isBuiltIn"] === true;
  if (!mayWrite || isBuiltIn) return fill(place, isBuiltIn ? note("It is built in: nobody changes it.") : null, block(`Definition of ${name}`, JSON.stringify(found, null, 2)));
  const path = `${kind.path}/${encodeURIComponent(name)}`;
  const done = h("div", {});
  fill(place, form("Save", JSON.stringify(written(found), null, 2), async (text) => {
    const body = parsed(text);
    // Somebody else may have written it since it was read.
    const now = await kind.read(name);
    if (now["updatedAt"] !== found["updatedAt"]) throw new ApiError(409, "", "It was changed meanwhile. Read it again, so that nothing of that is lost.");
    await send("PUT", path, body);
    showDefinition(place, kind, name, await kind.read(name), mayWrite);
    announce("It is saved.");
    place.prepend(h("p", { class: "good" }, "It is saved."));
  }), h("div", { class: "row" }, h("button", { type: "button", class: "danger", onclick: () => confirm(done, path, kind) }, "Delete")), done);
}

/** @param {HTMLElement} place @param {string} path @param {Kind} kind */
function confirm(place, path, kind) {
  const wrong = h("div", {});
  const yes = h("button", { type: "button", class: "danger" }, "Delete now");
  yes.addEventListener("click", async () => {
    yes.disabled = true;
    try {
      await send("DELETE", path);
      go("setup", {});
    } catch (error) {
      fill(wrong, problem("It was not deleted.", reason(error)));
      yes.disabled = false;
    }
  });
  fill(place, h("p", {}, `Delete it? Later runs cannot use it; ${kind.title} that extend it are invalid.`), h("div", { class: "row" }, yes, h("button", { type: "button", onclick: () => fill(place) }, "No")), wrong);
  yes.focus();
}

/** A form for a new definition. @param {HTMLElement} place @param {Kind} kind */
export function showNew(place, kind) {
  fill(place, form("Create", JSON.stringify(kind.empty, null, 2), async (text) => {
    const made = await send("POST", kind.path, parsed(text));
    go("setup", { kind: kind.kind, name: String(made["id"] ?? made["name"]) });
  }));
}

/** @param {string} title @param {string} text @param {(text: string) => Promise<void>} act */
function form(title, text, act) {
  const area = h("textarea", { rows: Math.min(Math.max(text.split("\n").length + 1, 8), 40), class: "code", spellcheck: "false", required: true }, text);
  const [wrong, button] = [h("div", {}), h("button", { type: "submit", class: "main" }, title)];
  const made = h("form", { class: "stack" }, h("label", {}, "Definition, as JSON", area), h("div", { class: "row" }, button), wrong);
  made.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      await act(area.value);
    } catch (error) {
      fill(wrong, problem("It was not saved.", why(error)));
    } finally {
      button.disabled = false;
    }
  });
  return made;
}
