// What runs are made with: environments, templates and profiles.

import { get } from "./api.js";
import { anchor, block, fill, h } from "./dom.js";
import { showDefinition, showNew } from "./editor.js";
import { showPages } from "./list.js";
import { may } from "./scopes.js";

const LIMIT = "50";
const KINDS = { environments: "Environments", templates: "Templates", profiles: "Profiles" };

/** @typedef {Awaited<ReturnType<typeof get<"/v1/environments">>>["environments"][number]} Environment */
/** @typedef {Awaited<ReturnType<typeof get<"/v1/templates">>>["templates"][number]} Template */
/** @typedef {Awaited<ReturnType<typeof get<"/api/v1/profiles">>>["data"]["items"][number]} Profile */

/** @type {import("./address.js").Page} */
export async function showSetup(place, where, signal) {
  const [kind, name] = [where.get("kind") ?? "", where.get("name")];
  if (Object.hasOwn(KINDS, kind)) return showOne(place, kind, name || null, signal);
  const [environments, templates, profiles] = [1, 2, 3].map(() => h("section", {}, h("p", { class: "busy" }, "Reading")));
  if (!environments || !templates || !profiles) return;
  const titled = async (/** @type {keyof typeof KINDS} */ of) => {
    const make = anchor("New", "setup", { kind: of }, `New: ${of}`);
    make.className = "button";
    return h("div", { class: "row between" }, h("h2", {}, KINDS[of]), (await may(`${of}:write`).catch(() => true)) ? make : null);
  };
  const [first, second, third] = await Promise.all([titled("environments"), titled("templates"), titled("profiles")]);
  fill(place, first, environments, second, templates, third, profiles);
  await Promise.all([
    showPages(environments, {
      caption: KINDS.environments, none: "There are no environments.", columns: [{ name: "Name" }, { name: "Description" }, { name: "Extends" }, { name: "Size" }, { name: "Image" }, { name: "Secrets" }],
      row: (/** @type {Environment} */ of) => [one("environments", of.name), of.description || "–", of.extends ?? "–", of.size ?? "–", of.image ?? "–", of.secrets.map((secret) => `${secret.name}${secret.set ? "" : " (not set)"}`).join(", ") || "–"],
    }, async (cursor) => {
      const page = await get("/v1/environments", { limit: LIMIT, ...(cursor ? { cursor } : {}) }, { signal });
      return { items: page.environments, total: page.total, next: page.nextCursor };
    }),
    showPages(templates, {
      caption: KINDS.templates, none: "There are no templates.", columns: [{ name: "Id" }, { name: "Name" }, { name: "Description" }, { name: "Repository" }, { name: "Tags" }],
      row: (/** @type {Template} */ of) => [one("templates", of.id), of.name, of.description || "–", of.source.repository, of.tags.join(", ") || "–"],
    }, async (cursor) => {
      const page = await get("/v1/templates", { limit: LIMIT, ...(cursor ? { cursor } : {}) }, { signal });
      return { items: page.templates, total: page.total, next: page.nextCursor };
    }),
    showPages(profiles, {
      caption: KINDS.profiles, none: "There are no profiles.", columns: [{ name: "Name" }, { name: "Description" }, { name: "Extends" }, { name: "Whose" }],
      row: (/** @type {Profile} */ of) => [one("profiles", of.name), of.description || "–", of.extends ?? "–", of.isBuiltIn ? "built in" : "the organization's"],
    }, async () => {
      const { data } = await get("/api/v1/profiles", {}, { signal });
      return { items: data.items, total: data.total };
    }),
  ]);
}

/** @param {string} kind @param {string} name */
const one = (kind, name) => anchor(name, "setup", { kind, name });

/** The kinds of definitions, with what a new one begins with. @param {AbortSignal} signal @returns {Record<string, import("./editor.js").Kind>} */
function kinds(signal) {
  const how = (/** @type {string} */ name) => ({ path: { name, id: name }, signal });
  return {
    environments: { kind: "environments", path: "/v1/environments", title: "environments", read: (name) => get("/v1/environments/{name}", {}, how(name)), empty: { name: "", description: "", setup: [{ name: "tools", run: "make tools" }], variables: {} } },
    templates: { kind: "templates", path: "/v1/templates", title: "templates", read: (name) => get("/v1/templates/{id}", {}, how(name)), empty: { id: "", name: "", description: "", source: { type: "git", repository: "https://" }, tags: [], variables: [] } },
    profiles: { kind: "profiles", path: "/api/v1/profiles", title: "profiles", read: async (name) => ({ ...(await get("/api/v1/profiles/{name}", {}, how(name))).data }), empty: { name: "", description: "", extends: "default", executionLimits: { maxIterations: 5 } } },
  };
}

/** @param {HTMLElement} place @param {string} kind @param {string | null} name @param {AbortSignal} signal */
async function showOne(place, kind, name, signal) {
  const of = /** @type {import("./editor.js").Kind} */ (kinds(signal)[kind]);
  const scope = /** @type {import("./scopes.js").Scope} */ (`${kind}:write`);
  const [found, mayWrite] = await Promise.all([name === null ? null : of.read(name), may(scope).catch(() => true)]);
  const [definition, effective] = [h("section", {}), h("section", {})];
  fill(place, h("p", {}, anchor("‹ All of them", "setup")), h("h2", { class: "id" }, name ?? `New: ${of.title}`), definition, effective);
  if (name === null || found === null) return showNew(definition, of);
  showDefinition(definition, of, name, found, mayWrite);
  if (kind !== "profiles") return;
  const { data } = await get("/api/v1/profiles/{name}", { resolve: "true" }, { path: { name }, signal });
  fill(effective, h("h2", {}, "With what it extends"), block(`What runs with ${name} get`, JSON.stringify(data, null, 2)));
}
