// What one can do with a run: stop it, start it again, follow it up.

import { post, reason } from "./api.js";
import { go } from "./address.js";
import { anchor, announce, fill, h, problem } from "./dom.js";

/** @typedef {Awaited<ReturnType<typeof import("./api.js").get<"/v1/runs/{id}">>>} Run */

const isOver = (/** @type {Run} */ run) => ["succeeded", "failed", "canceled"].includes(run.status);

/**
 * The buttons that fit a run's status. A key that may not do something learns so from the answer.
 * @param {HTMLElement} place @param {Run} run @param {() => void} changed
 */
export function showActions(place, run, changed) {
  const order = encodeURIComponent(run.workOrderId);
  const said = h("div", {});
  /** @param {string} doing @param {() => Promise<void>} act */
  const doing = (doing, act) => async () => {
    const buttons = [...place.querySelectorAll("button")];
    for (const button of buttons) button.disabled = true;
    fill(said, h("p", { class: "busy" }, doing));
    try {
      await act();
      said.replaceChildren();
    } catch (error) {
      fill(said, problem("The service did not do it.", reason(error)));
    }
    for (const button of buttons) button.disabled = false;
  };
  const button = (/** @type {string} */ text, /** @type {() => void} */ act, kind = "") => h("button", { type: "button", class: kind, onclick: act }, text);
  const again = anchor("Start again with another prompt", "submit", { from: run.workOrderId });
  again.className = "button";
  if (!isOver(run)) {
    const cancel = doing("Canceling", async () => {
      await post(`/v1/runs/${encodeURIComponent(run.runId)}/cancel`, { reason: "canceled in the console" });
      announce("The run is canceled.");
      changed();
    });
    const kill = doing("Killing; this waits until its processes are dead", async () => {
      await post(`/api/v1/work-orders/${order}/kill`, { immediate: true, reason: "killed in the console" });
      announce("The run is killed.");
      changed();
    });
    return fill(place, h("div", { class: "row" }, button("Cancel", cancel), button("Kill", () => sure(said, "Its processes end at once, without time to save anything.", "Kill it now", kill), "danger"), again), said);
  }
  const restart = doing("Starting", async () => {
    const started = /** @type {{runId: string}} */ (await post(`/api/v1/work-orders/${order}/runs`));
    go("runs", { run: started.runId });
  });
  const followUp = () => showFollowUp(said, order);
  fill(place, h("div", { class: "row" }, run.status === "failed" ? button("Start again", restart) : null, again, button("Follow up", followUp)), said);
}

/** Asks once more. @param {HTMLElement} place @param {string} text @param {string} name @param {() => void} act */
function sure(place, text, name, act) {
  const yes = h("button", { type: "button", class: "danger", onclick: act }, name);
  fill(place, h("p", {}, text), h("div", { class: "row" }, yes, h("button", { type: "button", onclick: () => place.replaceChildren() }, "No")));
  yes.focus();
}

/** The next turn of the thread. @param {HTMLElement} place @param {string} order */
function showFollowUp(place, order) {
  const prompt = h("textarea", { rows: 5, required: true, maxlength: 100_000 });
  const wrong = h("div", {});
  const form = h("form", { class: "stack" }, h("h2", {}, "Follow up"), h("label", {}, "What is left to do, on the same branch", prompt),
    h("div", { class: "row" }, h("button", { type: "submit" }, "Send"), h("button", { type: "button", onclick: () => place.replaceChildren() }, "Not now")), wrong);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const made = /** @type {{runId: string}} */ (await post(`/v1/work-orders/${order}/follow-ups`, { taskPrompt: prompt.value }));
      go("runs", { run: made.runId });
    } catch (error) {
      fill(wrong, problem("There is no follow-up.", reason(error)));
    }
  });
  fill(place, form);
  prompt.focus();
}
