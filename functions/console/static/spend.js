// What triggers and schedules have spent: in reports their ids stand as keys.

import { optional, report } from "./api.js";
import { anchor } from "./dom.js";
import { credits, micro, monthOf, monthPlus, ofMicro } from "./format.js";

/** Reads this month's credits by key, and shows those of one. @param {AbortSignal} signal */
export async function spending(signal) {
  const month = monthOf(new Date());
  const found = await optional(report({ from: `${month}-01`, to: `${monthPlus(month, 1)}-01`, groupBy: "key" }, signal));
  if ("missing" in found) return () => "–";
  const rows = new Map(found.value.rows.map((row) => [row.group?.["key"], micro(row.credits) - micro(row.refunds)]));
  return (/** @type {string} */ id) => {
    const spent = rows.get(id);
    return spent ? anchor(ofMicro(spent), "money", { month, by: "outcome", key: id }, `${ofMicro(spent)} credits of ${id}`) : credits(0);
  };
}
