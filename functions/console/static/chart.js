// A chart of days with stacked bars. It shows the data of the table below it; people who cannot see it read
// that table. Days can be walked through with the arrow keys and chosen with Enter, or with a click.

import { h, fill } from "./dom.js";
import { amount, credits } from "./format.js";

/** Colours that people with colour blindness can distinguish, on light and on dark; then they begin again. */
export const COLOURS = ["#2f6fbf", "#d98a00", "#0f8a6a", "#c2477f", "#7a5ad1", "#4f9fb8", "#a8612f", "#6c7480"];
const HEIGHT = 260;

/** What the axis calls a day, or a month. @param {string} part */
const label = (part) => (part.length === 7 ? part : part.slice(8));

/** @typedef {{name: string, values: number[]}} Series `values` are one for each day */

/**
 * @param {HTMLElement} place
 * @param {string} title what the chart is of
 * @param {string[]} days
 * @param {Series[]} series
 * @param {string | undefined} marked a day that is chosen already
 * @param {(day: string, name: string | null) => void} choose a day, and a series if the click was on a bar
 */
export function stackedDays(place, title, days, series, marked, choose) {
  const tip = h("div", { class: "tip", hidden: true });
  place.setAttribute("role", "group");
  place.setAttribute("tabindex", "0");
  place.setAttribute("aria-label", `Chart: ${title}. The table below has the same numbers. Arrow keys go from day to day, Enter chooses a day.`);
  fill(place, tip);
  /** What lies below each bar's top: the last series is drawn first, so that the others stand before it. */
  const tops = series.map(() => new Array(days.length).fill(0));
  days.forEach((_, day) => {
    let sum = 0;
    series.forEach((one, at) => {
      sum += one.values[day] ?? 0;
      const row = tops[at];
      if (row) row[day] = sum;
    });
  });
  const order = series.map((_, at) => at).reverse();
  const style = getComputedStyle(document.documentElement);
  const colour = (/** @type {string} */ name) => {
    const probe = h("span", {});
    probe.style.color = `var(${name})`;
    document.body.append(probe);
    const shown = getComputedStyle(probe).color;
    probe.remove();
    return shown || style.color;
  };
  const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
  const bars = uPlot.paths.bars?.({ size: [0.8, 48] });
  /** @type {uPlot.Options} */
  const options = {
    width: Math.max(place.clientWidth - 18, 260),
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { setScale: false, x: false, y: false }, points: { show: false }, y: false },
    scales: { x: { time: false, range: [-0.6, days.length - 0.4] }, y: { range: (_, __, most) => [0, most > 0 ? most * 1.05 : 1] } },
    axes: [
      { ...axis, values: (_, at) => at.map((day) => (Number.isInteger(day) ? (days[day] ? label(days[day]) : "") : "")) },
      { ...axis, size: 64, values: (_, at) => at.map((value) => credits(value)) },
    ],
    series: [
      {},
      ...order.map((at) => ({ fill: COLOURS[at % COLOURS.length] ?? "", stroke: COLOURS[at % COLOURS.length] ?? "", width: 0, points: { show: false }, ...(bars ? { paths: bars } : {}) })),
    ],
    hooks: { drawClear: [(plot) => mark(plot)], setCursor: [(plot) => show(plot.cursor.idx ?? null, plot.cursor.left ?? 0)] },
  };
  const data = /** @type {uPlot.AlignedData} */ ([days.map((_, at) => at), ...order.map((at) => tops[at] ?? [])]);
  const plot = new uPlot(options, data, place);
  let chosen = -1;

  /** A band behind the day that is chosen. @param {uPlot} plot */
  function mark(plot) {
    const at = marked === undefined ? -1 : days.indexOf(marked);
    if (at < 0) return;
    const { ctx, bbox } = plot;
    const [left, right] = [plot.valToPos(at - 0.5, "x", true), plot.valToPos(at + 0.5, "x", true)];
    ctx.save();
    ctx.fillStyle = colour("--line");
    ctx.fillRect(left, bbox.top, right - left, bbox.height);
    ctx.restore();
  }

  /** @param {number | null} day @param {number} left */
  function show(day, left) {
    const name = day === null ? undefined : days[day];
    tip.hidden = name === undefined || left < 0;
    if (name === undefined || day === null) return;
    chosen = day;
    const lines = series.filter((one) => (one.values[day] ?? 0) !== 0);
    const sum = series.reduce((all, one) => all + Math.round((one.values[day] ?? 0) * 1e6), 0) / 1e6;
    fill(tip, h("strong", {}, name), h("table", {}, h("tbody", {},
      lines.map((one) => h("tr", {}, h("td", {}, one.name), h("td", { class: "number" }, amount(one.values[day] ?? 0)))),
      h("tr", {}, h("td", {}, "All"), h("td", { class: "number" }, amount(sum))))));
    tip.style.left = `${Math.max(4, Math.min(left + 76, place.clientWidth - 190))}px`;
    tip.style.top = "12px";
  }

  plot.over.addEventListener("click", (event) => {
    const day = plot.posToIdx(event.offsetX);
    const value = plot.posToVal(event.offsetY, "y");
    const hit = tops.findIndex((of) => value <= (of[day] ?? 0));
    const name = days[day];
    if (name) choose(name, hit < 0 ? null : (series[hit]?.name ?? null));
  });
  place.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowLeft: -1, Home: -days.length, End: days.length };
    const step = steps[/** @type {keyof typeof steps} */ (event.key)];
    if (step !== undefined) {
      event.preventDefault();
      const day = Math.max(0, Math.min(days.length - 1, chosen + step));
      show(day, plot.valToPos(day, "x"));
      chosen = day;
    } else if (event.key === "Enter" && chosen >= 0) {
      choose(days[chosen] ?? "", null);
    } else if (event.key === "Escape") {
      tip.hidden = true;
    }
  });
  place.addEventListener("pointerleave", () => (tip.hidden = true));
  const observer = new ResizeObserver(() => {
    const width = Math.max(place.clientWidth - 18, 260);
    if (!place.isConnected) observer.disconnect();
    else if (Math.abs(width - plot.width) > 4) plot.setSize({ width, height: HEIGHT });
  });
  observer.observe(place);
}
