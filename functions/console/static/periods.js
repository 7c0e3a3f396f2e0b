// The period that a page of money is about: a month, a quarter, a year, or days of somebody's choice. All of UTC.

import { daysOf, monthOf, monthPlus } from "./format.js";

/** Longest period whose days are shown one by one. */
const MAX_DAYS = 92;
const DAY_MS = 86_400_000;

/**
 * `from` and `to` are days, `to` is the first one after it. `parts` are its days, or the months of a longer one.
 * @typedef {{text: string, title: string, from: string, to: string, bucket: "day" | "month", parts: string[], months: string[], before: {from: string, to: string}, isMonth: boolean}} Period
 */

/** @param {number} time */
const dayAt = (time) => new Date(time).toISOString().slice(0, 10);
/** @param {string} day @param {number} by */
const dayPlus = (day, by) => dayAt(Date.parse(day) + by * DAY_MS);

/** A period of whole months. @param {string} text @param {string} title @param {string} first a month @param {number} months @returns {Period} */
function ofMonths(text, title, first, months) {
  const [from, to] = [`${first}-01`, `${monthPlus(first, months)}-01`];
  return made(text, title, from, to, { from: `${monthPlus(first, -months)}-01`, to: from }, months === 1);
}

/** @param {string} text @param {string} title @param {string} from @param {string} to @param {{from: string, to: string}} before @param {boolean} isMonth @returns {Period} */
function made(text, title, from, to, before, isMonth) {
  const months = [];
  for (let month = from.slice(0, 7); `${month}-01` < to; month = monthPlus(month, 1)) months.push(month);
  const days = months.flatMap(daysOf).filter((day) => day >= from && day < to);
  const bucket = days.length <= MAX_DAYS ? "day" : "month";
  return { text, title, from, to, bucket, parts: bucket === "day" ? days : months, months, before, isMonth };
}

/** A period as an address writes it: `2026-11`, `2026-Q4`, `2026`, or `2026-11-03..2026-11-20` with both days in it. @param {string} text @returns {Period | null} */
export function period(text) {
  if (/^\d{4}-(0[1-9]|1[0-2])$/.test(text)) return ofMonths(text, text, text, 1);
  const quarter = /^(\d{4})-Q([1-4])$/.exec(text);
  if (quarter) return ofMonths(text, `Quarter ${quarter[2]} of ${quarter[1]}`, `${quarter[1]}-${String(Number(quarter[2]) * 3 - 2).padStart(2, "0")}`, 3);
  if (/^\d{4}$/.test(text)) return ofMonths(text, text, `${text}-01`, 12);
  const [from = "", last = ""] = text.split("..");
  const isDays = [from, last].every((day) => /^\d{4}-\d\d-\d\d$/.test(day) && !Number.isNaN(Date.parse(day)) && dayAt(Date.parse(day)) === day);
  if (!isDays || last < from || Date.parse(last) - Date.parse(from) > 3 * 366 * DAY_MS) return null;
  const to = dayPlus(last, 1);
  const length = (Date.parse(to) - Date.parse(from)) / DAY_MS;
  return made(text, `${from} to ${last}`, from, to, { from: dayPlus(from, -length), to: from }, false);
}

/** This month. */
export const thisMonth = () => monthOf(new Date());

/** Periods to choose from, with what they are called. @returns {[string, string][]} */
export function choices() {
  const now = thisMonth();
  const [year, quarter] = [now.slice(0, 4), Math.ceil(Number(now.slice(5)) / 3)];
  const before = quarter === 1 ? `${Number(year) - 1}-Q4` : `${year}-Q${quarter - 1}`;
  const half = monthPlus(now, -5);
  return [[now, "This month"], [monthPlus(now, -1), "Last month"], [`${year}-Q${quarter}`, "This quarter"], [before, "Last quarter"], [`${half}-01..${dayPlus(`${monthPlus(now, 1)}-01`, -1)}`, "Six months"], [year, "This year"], [String(Number(year) - 1), "Last year"]];
}

/** The same kind of period so many steps away, if there is one. @param {Period} of @param {number} by @returns {string} */
export function stepped(of, by) {
  if (of.isMonth) return monthPlus(of.text, by);
  if (/^\d{4}$/.test(of.text)) return String(Number(of.text) + by);
  const quarter = /^(\d{4})-Q([1-4])$/.exec(of.text);
  if (quarter) {
    const at = Number(quarter[1]) * 4 + Number(quarter[2]) - 1 + by;
    return `${Math.floor(at / 4)}-Q${(at % 4) + 1}`;
  }
  const length = (Date.parse(of.to) - Date.parse(of.from)) / DAY_MS;
  return `${dayPlus(of.from, by * length)}..${dayPlus(of.to, by * length - 1)}`;
}
