// A new work order, written from nothing or from another one.

import { get, intention, optional, reason } from "./api.js";
import { go } from "./address.js";
import { fill, h, note, problem } from "./dom.js";

const AGENTS = ["claude-code", "codex", "opencode", "command", "patch", "verify"];

/** @typedef {Awaited<ReturnType<typeof get<"/v1/work-orders/{id}">>>} Order */

/** @type {import("./address.js").Page} */
export async function showSubmit(place, where, signal) {
  const from = where.get("from");
  const read = from ? await optional(get("/v1/work-orders/{id}", {}, { path: { id: from }, signal })) : null;
  const before = read && "value" in read ? read.value : null;
  const form = orderForm(before);
  fill(place, h("h2", {}, "New work order"), read && "missing" in read ? note(read.missing) : null, before ? note(`As ${before.id}, with what you change.`) : null, form);
  form.querySelector("textarea")?.focus();
}

/** @param {Order | null} before */
function orderForm(before) {
  const source = before?.workspaceSource;
  const prompt = h("textarea", { rows: 8, required: true, maxlength: 100_000 }, before?.taskPrompt);
  const text = (/** @type {string | undefined} */ value, more = {}) => h("input", { type: "text", value, maxlength: 1_000, spellcheck: "false", ...more });
  const number = (/** @type {number | undefined} */ value) => h("input", { type: "number", min: 1, value });
  const repository = text(source?.repository, { required: true, placeholder: "https://…" });
  const branch = text(source?.branch, { placeholder: "the default branch" });
  const agent = h("select", {}, ["", ...AGENTS].map((name) => h("option", { value: name, selected: name === before?.agent.type }, name || "the service's own")));
  const model = text(before?.agent.model, { placeholder: "the agent's own" });
  const command = h("textarea", { rows: 1, maxlength: 10_000, spellcheck: "false", placeholder: "for the agent command" }, (before?.agent.command ?? []).map(quoted).join(" "));
  const [harness, environment, tenant] = [text(before?.harness, { placeholder: "default" }), text(before?.environment), text(before?.tenantContext?.tenantId)];
  const [iterations, maxCredits] = [number(before?.maxIterations), number(before?.limits?.maxCredits)];
  const labels = h("textarea", { rows: 2, placeholder: "team = payments" }, Object.entries(before?.metadata ?? {}).map(([name, value]) => `${name} = ${value}`).join("\n"));
  const wrong = h("div", {});
  const create = intention();
  const send = h("button", { type: "submit", class: "main" }, "Submit");
  const form = h("form", { class: "stack" }, h("label", {}, "What is to be done", prompt),
    h("div", { class: "fields" }, h("label", {}, "Repository", repository), h("label", {}, "Branch to begin from", branch), h("label", {}, "Agent", agent), h("label", {}, "Model", model), h("label", {}, "Command, quoted as in a shell", command),
      h("label", {}, "Profile", harness), h("label", {}, "Environment", environment), h("label", {}, "Tenant", tenant), h("label", {}, "Most iterations", iterations), h("label", {}, "Most credits", maxCredits)),
    h("label", {}, "Labels, one a line", labels), h("div", { class: "row" }, send), wrong);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    send.disabled = true;
    const words = divided(command.value);
    const at = source?.commit && branch.value === (source.branch ?? "") && repository.value === source.repository ? { commit: source.commit } : {};
    const body = {
      taskPrompt: prompt.value,
      workspaceSource: { type: "git", repository: repository.value.trim(), ...(branch.value.trim() ? { branch: branch.value.trim() } : {}), ...at },
      ...(agent.value ? { agent: { type: agent.value, ...(model.value.trim() ? { model: model.value.trim() } : {}), ...(words.length > 0 ? { command: words } : {}) } } : {}),
      ...(harness.value.trim() ? { harness: harness.value.trim() } : {}),
      ...(environment.value.trim() ? { environment: environment.value.trim() } : {}),
      ...(tenant.value.trim() ? { tenantContext: { ...before?.tenantContext, tenantId: tenant.value.trim() } } : {}),
      ...(iterations.value ? { maxIterations: Number(iterations.value) } : {}),
      ...(maxCredits.value ? { limits: { ...before?.limits, maxCredits: Number(maxCredits.value) } } : {}),
      metadata: metadata(labels.value),
    };
    try {
      const made = /** @type {{runId: string}} */ (await create("/v1/work-orders", body));
      go("runs", { run: made.runId });
    } catch (error) {
      fill(wrong, problem("The work order was not created.", reason(error)));
      send.disabled = false;
    }
  });
  return form;
}

/** A word as a shell would take it. @param {string} word */
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** The words of a command, by a shell's quotes. @param {string} text @returns {string[]} */
function divided(text) {
  /** @type {string[]} */
  const words = [];
  let word = "";
  let isOpen = false;
  for (const [, single, double, escaped, plain, space] of text.matchAll(/'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^\s'"\\]+|['"\\])|(\s+)/gs)) {
    if (space === undefined) {
      word += single ?? double?.replace(/\\(["\\$`])/g, "$1") ?? escaped ?? plain ?? "";
      isOpen = true;
    } else if (isOpen) {
      words.push(word);
      [word, isOpen] = ["", false];
    }
  }
  return isOpen ? [...words, word] : words;
}

/** @param {string} text lines of `name = value` */
function metadata(text) {
  const pairs = text.split("\n").filter((line) => line.trim()).map((line) => {
    const [name = "", ...value] = line.split("=");
    return [name.trim(), value.join("=").trim()];
  });
  return Object.fromEntries(pairs);
}
