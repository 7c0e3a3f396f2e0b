// A thread: its turns, one after another on the same branch, and its pull request.

import { get } from "./api.js";
import { anchor, facts, fill, h, outcome, outward, table } from "./dom.js";
import { credits, moment } from "./format.js";

/** @typedef {Awaited<ReturnType<typeof get<"/v1/threads/{id}">>>} Thread */

/** @type {import("./address.js").Page} */
export async function showThread(place, where, signal) {
  const id = where.get("id") ?? "";
  const thread = await get("/v1/threads/{id}", {}, { path: { id }, signal });
  const rows = thread.turns.map((turn) => [`Turn ${turn.turn}`, anchor(turn.runId, "runs", { run: turn.runId }), outcome(turn.status), turn.verified ? "yes" : "no", turn.commit?.slice(0, 12) ?? "–", moment(turn.createdAt)]);
  fill(place, h("p", {}, anchor("‹ All runs", "runs")), h("h2", { class: "id" }, `Thread ${thread.threadId}`),
    facts("The thread", [["Repository", thread.repository], ["Branch", thread.branch ?? "–"], ["Pull request", pullRequest(thread.pullRequest)], ["Base commit", thread.baseCommit ?? "–"], ["Newest commit", thread.headCommit ?? "–"], ["Cost of all turns", `${credits(thread.cost.credits)} credits`]]),
    h("h2", {}, "Turns"), table("Turns, the first one first", [{ name: "Turn" }, { name: "Run" }, { name: "Status" }, { name: "Verified" }, { name: "Commit" }, { name: "Created at" }], rows));
}

/** @param {Thread["pullRequest"]} of */
export function pullRequest(of) {
  if (!of) return "–";
  const end = of.mergedAt ?? of.closedAt;
  const verified = of.mergedAsVerified ? ", as it was verified" : "";
  return h("span", {}, outward(of.url), " ", outcome(of.state), end ? ` ${moment(end)}` : "", verified);
}
