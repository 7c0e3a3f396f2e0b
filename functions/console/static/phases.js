// How long each part of a run took, from its events.

import { h, note, table } from "./dom.js";
import { between, moment } from "./format.js";

/** @typedef {import("./stream.js").TimelineEvent} TimelineEvent */
/** @typedef {{name: string, from: string, to?: string}} Phase */

/** What a phase begins with. @type {Record<string, (event: TimelineEvent) => string>} */
const BEGINNINGS = {
  "run.created": () => "Waiting in the queue",
  "run.building": () => "Machine and workspace",
  "workspace.ready": () => "Environment",
  "iteration.started": (event) => `Agent, iteration ${event.data["iteration"]}`,
  "provider.waiting": (event) => `Waiting for ${event.data["provider"]}`,
  "provider.resumed": (event) => `Agent, iteration ${event.data["iteration"]}`,
  "agent.finished": () => "Commit of what it changed",
  "verification.started": (event) => `Verification, iteration ${event.data["iteration"]}`,
  "verification.passed": () => "After the verification",
  "verification.failed": () => "After the verification",
  "integration.started": () => "Merge of its children",
  "run.waiting": () => "Waiting for its children",
  "delivery.started": () => "Delivery",
};
const ENDS = ["run.completed", "run.failed", "run.cancelled"];

export class Phases {
  /** @type {Phase[]} */
  #all = [];
  /** How long the last one takes until now. @type {HTMLElement | null} */
  #running = null;

  /** @param {TimelineEvent} event */
  add(event) {
    const name = BEGINNINGS[event.type]?.(event);
    if (!name && !ENDS.includes(event.type)) return;
    const last = this.#all.at(-1);
    if (last && !last.to) last.to = event.timestamp;
    if (name) this.#all.push({ name, from: event.timestamp });
  }

  /** Time goes on, and the rest of the table stays: somebody may be in it. */
  tick() {
    const last = this.#all.at(-1);
    if (this.#running && last) this.#running.textContent = `${between(last.from)}…`;
  }

  /** @param {HTMLElement} place */
  show(place) {
    // What took no time to speak of only lengthens the list.
    const long = this.#all.filter((phase) => !phase.to || Date.parse(phase.to) - Date.parse(phase.from) >= 20);
    if (long.length === 0) return place.replaceChildren(note("Nothing has begun."));
    const rows = long.map((phase) => [phase.name, moment(phase.from).slice(11, 19), h("span", {}, between(phase.from, phase.to))]);
    const last = long.at(-1);
    this.#running = last && !last.to ? /** @type {HTMLElement} */ (rows.at(-1)?.[2]) : null;
    this.tick();
    place.replaceChildren(table("Phases of the run", [{ name: "Phase" }, { name: "Began, UTC" }, { name: "Took", number: true }], rows));
  }
}
