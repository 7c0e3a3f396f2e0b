// From a group of charges to the ledger entry: work orders, their runs, the entry of a run. Each level adds
// up to the one before.

import { get } from "./api.js";
import { h, link, problem, table } from "./dom.js";
import { exactMicro, matches } from "./focus.js";
import { amount, amountOf, count, moment, percent } from "./format.js";

/** Most rows of a table; the sum below counts all of them. */
const MAX_ROWS = 200;

/** @typedef {import("./focus.js").Charge} Charge */
/** @typedef {{by: string, value: string}} Filter */
/** @typedef {{order?: string, run?: string, entry?: string}} At how deep the page is */

/** The sum of charges, in micro-credits. @param {Charge[]} charges */
const sum = (charges) => charges.reduce((all, one) => all + exactMicro(one["PricingCurrencyEffectiveCost"] ?? "0"), 0);

/** @param {Charge[]} charges @param {string} column @returns {[string, Charge[]][]} largest first */
function grouped(charges, column) {
  /** @type {Map<string, Charge[]>} */
  const groups = new Map();
  for (const charge of charges) {
    const name = charge[column] || "(not known)";
    const group = groups.get(name);
    if (group) group.push(charge);
    else groups.set(name, [charge]);
  }
  return [...groups].sort((a, b) => sum(b[1]) - sum(a[1]));
}

/**
 * @param {Charge[]} all
 * @param {Filter[]} filters
 * @param {At} at
 * @param {(at: At) => void} go
 * @returns {HTMLElement | null} nothing if there are no charges
 */
export function drilled(all, filters, at, go) {
  const usage = all.filter((one) => one["ChargeCategory"] === "Usage" && filters.every((of) => matches(one, of.by, of.value)));
  if (usage.length === 0 && !at.entry) return null;
  if (at.entry) return entry(usage.filter((one) => one["x_TransactionId"] === at.entry), at.entry);
  if (at.run) {
    return level("Ledger entries of this run", "Entry", "x_TransactionId", usage.filter((one) => one["ResourceId"] === at.run),
      (id) => go({ ...at, entry: id }));
  }
  if (at.order) {
    return level("Runs of this work order", "Run", "ResourceId", usage.filter((one) => one["x_WorkOrderId"] === at.order),
      (id) => go({ ...at, run: id }));
  }
  return level("Work orders", "Work order", "x_WorkOrderId", usage, (id) => go({ order: id }));
}

/** @param {string} caption @param {string} name @param {string} column @param {Charge[]} charges @param {(id: string) => void} open */
function level(caption, name, column, charges, open) {
  const groups = grouped(charges, column);
  const whole = sum(charges);
  const rows = groups.slice(0, MAX_ROWS).map(([id, of]) => {
    const last = of[0];
    return [link(id, () => open(id), `${name} ${id}`), last?.["x_Outcome"] ?? "", last?.["SubAccountName"] || "(none)", moment(last?.["ChargePeriodStart"]), amountOf(sum(of)), percent(sum(of), whole)];
  });
  const more = groups.length > MAX_ROWS ? `, the ${MAX_ROWS} largest of ${count(groups.length)}` : "";
  return table(`${caption}${more}`, [{ name }, { name: "Outcome" }, { name: "Tenant" }, { name: "Booked in the hour from" }, { name: "Credits", number: true }, { name: "Share", number: true }],
    rows, [`All ${count(groups.length)}`, "", "", "", amountOf(whole), ""]);
}

/** The charges of an entry, and the entry as the ledger has it. @param {Charge[]} charges @param {string} id */
function entry(charges, id) {
  const rows = charges.map((one) => [one["SkuMeter"] ?? "", one["x_Model"] || "–", `${count(Number(one["ConsumedQuantity"] || 0))} ${one["ConsumedUnit"] ?? ""}`, amountOf(exactMicro(one["PricingQuantity"] ?? "0")), amountOf(sum([one]))]);
  const place = h("div", {}, h("p", { class: "busy" }, "Reading the ledger"));
  void ledger(charges[0], id).then((shown) => place.replaceChildren(shown), (error) => place.replaceChildren(problem("The ledger entry cannot be shown.", String(error.message))));
  return h("div", {},
    table("What this entry is for", [{ name: "Meter" }, { name: "Model" }, { name: "Used", number: true }, { name: "Before its hold, credits", number: true }, { name: "Charged, credits", number: true }], rows,
      ["All", "", "", "", amountOf(sum(charges))]),
    place);
}

/** @param {Charge | undefined} charge @param {string} id */
async function ledger(charge, id) {
  if (!charge) return h("p", {}, "No entry has this id.");
  const query = { startDate: charge["ChargePeriodStart"] ?? "", endDate: charge["ChargePeriodEnd"] ?? "", limit: "100" };
  let page = await get("/v1/credits/usage", query);
  let found = page.transactions.find((one) => one.id === id);
  for (let pages = 1; !found && page.nextCursor && pages < 50; pages += 1) {
    page = await get("/v1/credits/usage", { ...query, cursor: page.nextCursor });
    found = page.transactions.find((one) => one.id === id);
  }
  if (!found) return h("p", {}, "This run was not charged, so the ledger has no entry of it.");
  const parts = found.breakdown;
  const rows = [
    ["Type", found.type], ["Amount, credits", amount(found.amount)], ["Made at", moment(found.createdAt)],
    ["Run", found.runId ?? "–"], ["Work order", found.workOrderId ?? "–"], ["Tenant", found.tenantId ?? "–"],
    ...(parts ? [["Models, credits", amount(parts.modelCredits)], ["Compute, credits", amount(parts.computeCredits)], ["Not covered by the hold, credits", amount(parts.cappedCredits)]] : []),
    ["Price list", found.priceList ?? "–"], ["Note", found.note ?? "–"], ["Reference", found.reference ?? "–"],
  ];
  return table(`Ledger entry ${id}`, [{ name: "Field" }, { name: "Value" }], rows);
}
