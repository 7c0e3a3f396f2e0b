// What one can do with a run: stop it, start it again, follow it up. A key sees what its scopes allow.

import { intention, reason } from "./api.js";
import { go } from "./address.js";
import { anchor, announce, fill, h, problem } from "./dom.js";
import { may } from "./scopes.js";

/** @typedef {Awaited<ReturnType<typeof import("./api.js").get<"/v1/runs/{id}">>>} Run */
/** @typedef {{text: string, warning: string, doing: string, kind?: string, act: () => Promise<void>}} Action */

const isOver = (/** @type {Run} */ run) => ["succeeded", "failed", "canceled"].includes(run.status);

/** Shows the buttons that fit a run's status. @param {HTMLElement} place @param {Run} run @param {() => void} changed */
export async function showActions(place, run, changed) {
  // If it cannot be learnt, the service decides at the call.
  const [canStop, canCreate] = await Promise.all([may("runs:write").catch(() => true), may("work-orders:write").catch(() => true)]);
  const order = encodeURIComponent(run.workOrderId);
  const asked = h("div", { class: "asked" });
  /** @param {Action} action */
  const button = (action) => {
    const opener = h("button", { type: "button", class: action.kind ?? "" }, action.text);
    opener.addEventListener("click", () => confirm(asked, opener, action));
    return opener;
  };
  const again = anchor("New work order like this", "submit", { from: run.workOrderId });
  again.className = "button";
  const buttons = canStop ? (isOver(run) ? restarts(run, order) : stops(run, order, changed)).map(button) : [];
  const followUp = h("button", { type: "button" }, "Follow up");
  followUp.addEventListener("click", () => showFollowUp(asked, followUp, order));
  const all = [...buttons, ...(canCreate ? [...(isOver(run) ? [followUp] : []), again] : [])];
  fill(place, all.length > 0 ? h("div", { class: "row" }, all) : null, asked);
}

/** @param {Run} run @param {string} order @param {() => void} changed @returns {Action[]} */
function stops(run, order, changed) {
  const call = intention();
  return [
    { text: "Cancel", warning: "Cancel this run? Its agent has some seconds to end.", doing: "Canceling", act: async () => {
      await call(`/v1/runs/${encodeURIComponent(run.runId)}/cancel`, { reason: "canceled in the console" });
      announce("The run is canceled.");
      changed();
    } },
    { text: "Kill", kind: "danger", warning: "Kill this run? Its processes end at once, without time to save anything.", doing: "Killing; this waits until its processes are dead", act: async () => {
      await call(`/api/v1/work-orders/${order}/kill`, { immediate: true, reason: "killed in the console" });
      announce("The run is killed.");
      changed();
    } },
  ];
}

/** @param {Run} run @param {string} order @returns {Action[]} */
function restarts(run, order) {
  if (run.status !== "failed") return [];
  const call = intention();
  return [{ text: "Start again", warning: "Start the same work order again? The new run is charged as any other.", doing: "Starting", act: async () => {
    const started = /** @type {{runId: string}} */ (await call(`/api/v1/work-orders/${order}/runs`));
    go("runs", { run: started.runId });
  } }];
}

/**
 * Does something after it was confirmed.
 * @param {HTMLElement} place @param {HTMLElement} opener the button that the focus returns to @param {Action} action
 */
function confirm(place, opener, action) {
  const close = () => { place.replaceChildren(); opener.focus(); };
  const wrong = h("div", {});
  const yes = h("button", { type: "button", class: action.kind ?? "" }, `${action.text} now`);
  const no = h("button", { type: "button", onclick: close }, "No");
  yes.addEventListener("click", async () => {
    for (const button of [yes, no]) button.disabled = true;
    fill(wrong, h("p", { class: "busy" }, action.doing));
    try {
      await action.act();
      place.replaceChildren();
    } catch (error) {
      fill(wrong, problem("The service did not do it.", reason(error)));
      for (const button of [yes, no]) button.disabled = false;
      yes.focus();
    }
  });
  fill(place, h("p", {}, action.warning), h("div", { class: "row" }, yes, no), wrong);
  yes.focus();
}

/** The next turn of the thread. @param {HTMLElement} place @param {HTMLElement} opener @param {string} order */
function showFollowUp(place, opener, order) {
  const prompt = h("textarea", { rows: 5, required: true, maxlength: 50_000 });
  const [wrong, call] = [h("div", {}), intention()];
  const send = h("button", { type: "submit" }, "Send");
  const close = () => { place.replaceChildren(); opener.focus(); };
  const form = h("form", { class: "stack" }, h("h2", {}, "Follow up"), h("label", {}, "What is left to do, on the same branch", prompt),
    h("div", { class: "row" }, send, h("button", { type: "button", onclick: close }, "Not now")), wrong);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    send.disabled = true;
    try {
      const made = /** @type {{runId: string}} */ (await call(`/v1/work-orders/${order}/follow-ups`, { taskPrompt: prompt.value }));
      go("runs", { run: made.runId });
    } catch (error) {
      fill(wrong, problem("There is no follow-up.", reason(error)));
      send.disabled = false;
    }
  });
  fill(place, form);
  prompt.focus();
}
