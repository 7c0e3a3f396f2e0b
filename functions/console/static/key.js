// The key that was entered, as far as it goes, and the service that it is for.

import { fetched, key, optional } from "./api.js";
import { facts, fill, h, note, outcome, table } from "./dom.js";
import { may, SCOPES } from "./scopes.js";

/** @typedef {import("./scopes.js").Scope} Scope */

/** @type {import("./address.js").Page} */
export async function showKey(place, _where, signal) {
  const [scopes, service] = [h("section", {}, h("p", { class: "busy" }, "Reading the scopes")), h("section", {}, h("p", { class: "busy" }, "Reading the version"))];
  fill(place, h("h2", {}, `Key that ends in ${(key() ?? "").slice(-4)}`), scopes, h("h2", {}, "Service"), service);
  const described = optional(fetched("/openapi.json", {}, { signal }).then((answer) => answer.json()));
  const names = /** @type {Scope[]} */ (Object.keys(SCOPES));
  const rows = await Promise.all(names.map(async (name) => [name, outcome((await may(name)) ? "yes" : "no"), SCOPES[name].use]));
  if (signal.aborted) return;
  fill(scopes, table("Scopes that this page has a use for", [{ name: "Scope" }, { name: "Of this key" }, { name: "Use" }], rows),
    note("An operator of the service gives keys other scopes: `awo admin create-key`."));
  const found = await described;
  fill(service, facts("The service", [["Address", new URL("..", document.baseURI).href], ["Version", "value" in found ? String(found.value.info.version) : found.missing],
    ["Documents", h("span", {}, h("a", { href: "../docs" }, "The API as a page"), ", ", h("a", { href: "../openapi.json" }, "as OpenAPI"))]]));
}
