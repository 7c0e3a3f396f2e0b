// Numbers and times as people read them. Credits have at most six places and are added up as whole
// micro-credits, so that a sum on the page is the ledger's.

import { h } from "./dom.js";

/** @param {number} credits @returns {number} */
export function micro(credits) {
  return Math.round(credits * 1e6);
}

/** Exact: every place that is there. @param {number} amount @returns {string} */
export function credits(amount) {
  return new Intl.NumberFormat("en", { maximumFractionDigits: 6 }).format(amount);
}

/** @param {number} microCredits */
export function ofMicro(microCredits) {
  return credits(microCredits / 1e6);
}

/** Two places to read; all of them are behind the number, to point at and for programs. @param {number} credits */
export function amount(credits) {
  const exact = new Intl.NumberFormat("en", { maximumFractionDigits: 6 }).format(credits);
  // An amount that two places would show as nothing keeps its first one.
  const isTiny = credits !== 0 && Math.abs(credits) < 0.01;
  const text = new Intl.NumberFormat("en", isTiny ? { maximumSignificantDigits: 1 } : { minimumFractionDigits: 2, maximumFractionDigits: 2 }).format(credits);
  return h("data", { value: credits, title: `${exact} credits` }, text);
}

/** The same of micro-credits. @param {number} microCredits */
export const amountOf = (microCredits) => amount(microCredits / 1e6);

/** Dollars as people book them. @param {number} dollars */
export function dollars(dollars) {
  return new Intl.NumberFormat("en", { style: "currency", currency: "USD" }).format(dollars);
}

/** @param {number} dollars */
export function usd(dollars) {
  return new Intl.NumberFormat("en", { maximumFractionDigits: 9 }).format(dollars);
}

/** @param {number} whole */
export function count(whole) {
  return new Intl.NumberFormat("en").format(whole);
}

/** @param {number} part @param {number} whole */
export function percent(part, whole) {
  if (whole === 0) return "–";
  return `${new Intl.NumberFormat("en", { maximumFractionDigits: 1 }).format((part / whole) * 100)} %`;
}

/** The month of a day. @param {Date} date */
export function monthOf(date) {
  return date.toISOString().slice(0, 7);
}

/** So many months later. @param {string} month @param {number} by */
export function monthPlus(month, by) {
  const [year, number] = month.split("-").map(Number);
  return monthOf(new Date(Date.UTC(Number(year), Number(number) - 1 + by, 1)));
}

/** The days of a month. @param {string} month @returns {string[]} */
export function daysOf(month) {
  const first = Date.parse(`${month}-01T00:00:00Z`);
  const next = Date.parse(`${monthPlus(month, 1)}-01T00:00:00Z`);
  const days = [];
  for (let at = first; at < next; at += 86_400_000) days.push(new Date(at).toISOString().slice(0, 10));
  return days;
}

/** @param {string | undefined} time */
export function moment(time) {
  return time ? `${time.slice(0, 10)} ${time.slice(11, 19)} UTC` : "–";
}

/** @param {number} days */
export function duration(days) {
  if (days >= 730) return "over 2 years";
  if (days >= 60) return `${Math.floor(days / 30.44)} months`;
  return days >= 2 ? `${Math.floor(days)} days` : `${Math.max(0, Math.floor(days * 24))} hours`;
}

/** How long something took. @param {number} ms */
export function took(ms) {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** From one time to another, or to now. @param {string | undefined} from @param {string | undefined} [to] */
export function between(from, to) {
  return from ? took((to ? Date.parse(to) : Date.now()) - Date.parse(from)) : "–";
}
