// What runs are made with: environments, templates and profiles, to read.

import { get } from "./api.js";
import { anchor, block, fill, h } from "./dom.js";
import { showPages } from "./list.js";

const LIMIT = "50";
const KINDS = { environments: "Environments", templates: "Templates", profiles: "Profiles" };

/** @typedef {Awaited<ReturnType<typeof get<"/v1/environments">>>["environments"][number]} Environment */
/** @typedef {Awaited<ReturnType<typeof get<"/v1/templates">>>["templates"][number]} Template */
/** @typedef {Awaited<ReturnType<typeof get<"/api/v1/profiles">>>["data"]["items"][number]} Profile */

/** @type {import("./address.js").Page} */
export async function showSetup(place, where, signal) {
  const [kind, name] = [where.get("kind") ?? "", where.get("name")];
  if (name && Object.hasOwn(KINDS, kind)) return showOne(place, kind, name, signal);
  const [environments, templates, profiles] = [1, 2, 3].map(() => h("section", {}, h("p", { class: "busy" }, "Reading")));
  if (!environments || !templates || !profiles) return;
  fill(place, h("h2", {}, KINDS.environments), environments, h("h2", {}, KINDS.templates), templates, h("h2", {}, KINDS.profiles), profiles);
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

/** @param {HTMLElement} place @param {string} kind @param {string} name @param {AbortSignal} signal */
async function showOne(place, kind, name, signal) {
  const how = { path: { name, id: name }, signal };
  const reads = {
    environments: () => get("/v1/environments/{name}", {}, how),
    templates: () => get("/v1/templates/{id}", {}, how),
    profiles: async () => (await get("/api/v1/profiles/{name}", { resolve: "true" }, how)).data,
  };
  const found = await reads[/** @type {keyof typeof reads} */ (kind)]();
  fill(place, h("p", {}, anchor("‹ All of them", "setup")), h("h2", { class: "id" }, name), block(`Definition of ${name}`, JSON.stringify(found, null, 2)));
}
