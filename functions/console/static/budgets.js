// Budgets, the worst first: what is spent, reserved and forecast of each, and a form for keys that may write them.

import { get, intention, optional, reason, send } from "./api.js";
import { fill, h, note, problem } from "./dom.js";
import { amount, credits, percent } from "./format.js";
import { may } from "./scopes.js";

/** How much of a bar is behind its longest part. */
const ROOM = 1.04;
const DAY_MS = 86_400_000;
const PERIODS = ["day", "month", "quarter", "once"];
const AT_LIMIT = { block: "refuses new work orders", wait: "lets new work orders wait", alert: "alerts only" };

/** @typedef {Awaited<ReturnType<typeof get<"/v1/budgets">>>["budgets"][number]} Budget */

const used = (/** @type {Budget} */ of) => of.spentCredits + of.reservedCredits;
const isOver = (/** @type {Budget} */ of) => used(of) >= of.limitCredits;

/** @param {HTMLElement} place @param {AbortSignal} signal */
export async function showBudgets(place, signal) {
  const [found, mayWrite] = await Promise.all([optional(get("/v1/budgets", { limit: "100" }, { signal })), may("budgets:write").catch(() => false)]);
  const title = h("h2", {}, "Budgets");
  if ("missing" in found) return fill(place, title, note(found.missing));
  const again = () => showBudgets(place, signal);
  const added = h("div", {});
  const add = mayWrite ? h("button", { type: "button", onclick: () => showForm(added, null, again) }, "New budget") : null;
  // Those that are passed first, then those that will be.
  const worst = (/** @type {Budget} */ of) => (isOver(of) ? 1e9 : 0) + Math.max(used(of), of.forecastCredits) / of.limitCredits;
  const all = [...found.value.budgets].sort((a, b) => worst(b) - worst(a) || a.name.localeCompare(b.name));
  const none = all.length === 0 ? note("There are none. New budget, or `awo finance budgets create`, makes one.") : null;
  fill(place, h("div", { class: "row between" }, title, add), added, none, h("div", { class: "budgets" }, all.map((of) => shown(of, mayWrite, again))));
}

/** Whose credits a budget counts. @param {Budget["scope"]} scope */
function scoped(scope) {
  const parts = [scope.tenantId && `tenant ${scope.tenantId}`, scope.tenantUserId && `user ${scope.tenantUserId}`, scope.keyId && `key ${scope.keyId}`, scope.label && `${scope.label.name} = ${scope.label.value}`];
  return parts.filter(Boolean).join(", ") || "the whole organization";
}

/** The day on which a budget is reached, if its rate stays. @param {Budget} of */
function reachedOn(of) {
  const began = Date.parse(of.periodStart);
  const [elapsed, end] = [Date.now() - began, of.periodEnd ? Date.parse(of.periodEnd) : Infinity];
  if (isOver(of) || of.spentCredits <= 0 || elapsed <= 0) return null;
  const at = began + (elapsed * of.limitCredits) / of.spentCredits;
  return at < end && at < Date.now() + 3_650 * DAY_MS ? new Date(at).toISOString().slice(0, 10) : null;
}

/** @param {Budget} of @param {boolean} mayWrite @param {() => Promise<void>} again */
function shown(of, mayWrite, again) {
  const will = !isOver(of) && of.forecastCredits > of.limitCredits;
  const day = reachedOn(of);
  const verdict = isOver(of) ? h("strong", { class: "bad" }, "The limit is reached.") : will ? h("strong", { class: "warn" }, day ? `At this rate it is reached on ${day}.` : "The forecast is above the limit.") : null;
  const figure = (/** @type {string} */ name, /** @type {import("./dom.js").Child} */ value, tone = "") => h("div", {}, h("dt", {}, name), h("dd", { class: tone }, value));
  const form = h("div", {});
  return h("div", { class: "budget" }, h("div", { class: "row between" }, h("h3", {}, of.name), h("span", { class: "note" }, `${scoped(of.scope)}; ${of.period === "once" ? "once" : `each ${of.period}`}; at the limit it ${AT_LIMIT[of.onLimit]}`)),
    bar(of), h("dl", { class: "figures" }, figure("Spent", amount(of.spentCredits)), figure("Reserved", amount(of.reservedCredits)), figure("Limit", amount(of.limitCredits)), figure("Used", percent(used(of), of.limitCredits), isOver(of) ? "bad" : ""),
      figure("Forecast", amount(of.forecastCredits), of.forecastCredits > of.limitCredits ? (isOver(of) ? "bad" : "warn") : ""), figure("Left", amount(of.remainingCredits))),
    h("div", { class: "row between" }, h("span", {}, verdict), mayWrite ? h("button", { type: "button", class: "plain", onclick: () => showForm(form, of, again), "aria-label": `Edit ${of.name}` }, "Edit") : null), form);
}

/** A bar as long as the largest of limit, use and forecast: the limit is a mark, and what is beyond it is red. @param {Budget} of */
function bar(of) {
  const whole = Math.max(of.limitCredits, used(of), of.forecastCredits) * ROOM;
  const share = (/** @type {number} */ part) => `${(part / whole) * 100}%`;
  const part = (/** @type {string} */ kind, /** @type {number} */ from, /** @type {number} */ to) => {
    const piece = h("span", { class: kind });
    piece.style.left = share(from);
    piece.style.width = share(Math.max(0, to - from));
    return piece;
  };
  const [spent, limit] = [of.spentCredits, of.limitCredits];
  const label = `${of.name}: ${credits(spent)} spent and ${credits(of.reservedCredits)} reserved of ${credits(limit)}`;
  return h("div", { class: "meter", role: "meter", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": Math.max(limit, used(of)), "aria-valuenow": used(of), "aria-valuetext": percent(used(of), limit) },
    part("forecast", used(of), of.forecastCredits), part("spent", 0, Math.min(spent, limit)), part("reserved", Math.min(spent, limit), Math.min(used(of), limit)), part("beyond", limit, used(of)), part("limit", limit, limit));
}

/** A form for a budget, or for a new one. @param {HTMLElement} place @param {Budget | null} of @param {() => Promise<void>} again */
function showForm(place, of, again) {
  const text = (/** @type {string | undefined} */ value, more = {}) => h("input", { type: "text", value, maxlength: 128, ...more });
  const select = (/** @type {string[]} */ values, /** @type {string | undefined} */ now) => h("select", {}, values.map((value) => h("option", { value, selected: value === now }, value)));
  const scope = of?.scope ?? {};
  const [name, limit] = [text(of?.name, { required: true }), h("input", { type: "number", min: 0.000001, step: "any", required: true, value: of?.limitCredits })];
  const [period, onLimit] = [select(PERIODS, of?.period ?? "month"), select(Object.keys(AT_LIMIT), of?.onLimit ?? "alert")];
  const alerts = text((of?.alertsAt ?? [50, 80, 100]).join(", "), { pattern: "[0-9, ]*" });
  const [tenant, user, key, label, value] = [text(scope.tenantId), text(scope.tenantUserId), text(scope.keyId), text(scope.label?.name, { placeholder: "team" }), text(scope.label?.value)];
  const [wrong, create, save] = [h("div", {}), intention(), h("button", { type: "submit", class: "main" }, of ? "Save" : "Create")];
  const path = of ? `/v1/budgets/${encodeURIComponent(of.id)}` : "/v1/budgets";
  const attempt = async (/** @type {() => Promise<unknown>} */ doing) => {
    try {
      await doing();
      await again();
    } catch (error) {
      fill(wrong, problem("The budget is as it was.", reason(error)));
    }
  };
  const remove = h("button", { type: "button", class: "danger", onclick: () => (remove.textContent === "Delete" ? (remove.textContent = "Delete now") : void attempt(() => send("DELETE", path))) }, "Delete");
  const form = h("form", { class: "stack" }, h("div", { class: "fields" }, h("label", {}, "Name", name), h("label", {}, "Limit, credits", limit), h("label", {}, "Period", period), h("label", {}, "At the limit", onLimit), h("label", {}, "Alerts at, %", alerts),
    h("label", {}, "Tenant", tenant), h("label", {}, "User of the tenant", user), h("label", {}, "Key", key), h("label", {}, "Cost label", label), h("label", {}, "Its value", value)),
    h("div", { class: "row" }, save, h("button", { type: "button", onclick: () => fill(place) }, "Not now"), of ? remove : null), wrong);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const only = Object.fromEntries(Object.entries({ tenantId: tenant.value.trim(), tenantUserId: user.value.trim(), keyId: key.value.trim() }).filter(([, one]) => one));
    const body = { name: name.value, limitCredits: Number(limit.value), period: period.value, onLimit: onLimit.value, alertsAt: alerts.value.split(",").map((one) => one.trim()).filter(Boolean).map(Number),
      scope: { ...only, ...(label.value.trim() ? { label: { name: label.value.trim(), value: value.value } } : {}) } };
    void attempt(() => (of ? send("PUT", path, body) : create(path, body)));
  });
  fill(place, form);
  name.focus();
}
