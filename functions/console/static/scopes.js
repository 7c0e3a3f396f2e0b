// The scopes of the key. The service tells no key what it may do, but refuses for the scope before anything else:
// a list, a call about something that cannot exist, or a body without anything shows it and changes nothing.

import { ApiError, fetched, post } from "./api.js";

/** The part of an id that no resource has. */
const NOTHING = "0".repeat(26);

/** Each scope that the page has a use for: the call that shows it, and that use. */
export const SCOPES = /** @type {const} */ ({
  "runs:read": { read: "/v1/runs", use: "Runs, their output and their changes" },
  "runs:write": { write: `/v1/runs/run_${NOTHING}/cancel`, use: "Cancel, kill and start again" },
  "work-orders:read": { read: "/v1/work-orders", use: "Prompts, repositories, threads and the queue" },
  "work-orders:write": { write: `/v1/work-orders/wo_${NOTHING}/follow-ups`, use: "New work orders and follow-ups" },
  "schedules:read": { read: "/v1/schedules", use: "Schedules and their firings" },
  "schedules:write": { write: `/v1/schedules/sch_${NOTHING}/resume`, use: "Fire and resume" },
  "webhooks:read": { read: "/v1/webhooks", use: "Webhooks and their deliveries" },
  "webhooks:write": { write: `/v1/webhooks/wh_${NOTHING}/test`, use: "Test and redeliver" },
  "triggers:read": { read: "/v1/triggers", use: "Triggers, inboxes and their deliveries" },
  "triggers:write": { write: `/v1/inboxes/inb_${NOTHING}/rotate-secret`, use: "Replay deliveries" },
  "environments:read": { read: "/v1/environments", use: "Environments" },
  "environments:write": { write: "/v1/environments", use: "Write environments" },
  "templates:read": { read: "/v1/templates", use: "Templates" },
  "templates:write": { write: "/v1/templates", use: "Write templates" },
  "profiles:read": { read: "/api/v1/profiles", use: "Profiles" },
  "profiles:write": { write: "/api/v1/profiles", use: "Write profiles" },
  "credits:read": { read: "/v1/credits", use: "Money and invoices" },
  "budgets:read": { read: "/v1/budgets", use: "Budgets" },
  "budgets:write": { write: "/v1/budgets", use: "Write budgets" },
});

/** @typedef {keyof typeof SCOPES} Scope */

/** @type {Map<Scope, Promise<boolean>>} */
const answers = new Map();
addEventListener("awo-key", () => answers.clear());

/** Whether the key has a scope. @param {Scope} scope @returns {Promise<boolean>} */
export function may(scope) {
  const before = answers.get(scope);
  if (before) return before;
  const answer = read(scope);
  answers.set(scope, answer);
  answer.catch(() => answers.delete(scope));
  return answer;
}

/** @param {Scope} scope */
async function read(scope) {
  const of = SCOPES[scope];
  try {
    await ("write" in of ? post(of.write) : fetched(of.read, {}));
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 403) return false;
    // Nothing has that id, a body says nothing, or this service lacks the resource: the scope was there.
    if (error.status === 404 || error.status === 400) return true;
    throw error;
  }
}
