// Bars: what epochs took, and what the rounds of a loop changed.

import { duration, h, number, plural, s } from "./dom.js";

const HEIGHT = 84;

// One bar for each value, the last ones to the right; on a logarithmic scale, since epochs differ by powers of ten.
export function bars(values, label, { width = 640, title, classes = () => "", choose } = {}) {
  const greatest = Math.max(...values, 1e-9), least = Math.min(...values.filter((value) => value > 0), greatest);
  const low = Math.log(Math.max(least / 2, 1e-9)), high = Math.log(greatest * 1.1);
  const step = Math.min(14, width / Math.max(values.length, 1));
  const height = (value) => (value > 0 ? Math.max(2, ((Math.log(value) - low) / Math.max(high - low, 1e-9)) * HEIGHT) : 0);
  const marks = values.map((value, at) =>
    s("rect", {
      class: `bar ${classes(at)}`, x: at * step, y: HEIGHT - height(value), rx: Math.min(2, step / 4),
      width: Math.max(1, step - (step > 4 ? 2 : 0.5)), height: height(value), onclick: choose && (() => choose(at)),
    }, s("title", null, title(at))));
  return h("figure", { class: "chart" },
    s("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": label, preserveAspectRatio: "xMinYMax meet" }, marks));
}

// What each round of a loop changed.
export function rounds(sizes) {
  const entries = Object.entries(sizes);
  if (!entries.length) return h("p", { class: "quiet" }, "No round changed anything.");
  const text = (at) => `round ${entries[at][0]}: ${number(entries[at][1])} rows changed`;
  return h("div", null,
    bars(entries.map(([, size]) => size), `Rows changed in each of ${entries.length} rounds`, { title: text, classes: () => "kind-loop", width: 320 }),
    h("p", { class: "quiet" }, `${plural(entries.length, "round")}; the last one changed ${plural(entries.at(-1)[1], "row")}.`));
}

export const speed = (record) =>
  record.increment && record.recompute ? record.recompute / record.increment : null;

export function shownSpeed(record) {
  const times = speed(record);
  if (times === null) return "";
  const factor = Math.max(times, 1 / times);
  return `${factor >= 10 ? number(Math.round(factor)) : factor.toFixed(1)} × ${times < 1 ? "more" : "fewer"}`;
}

export const speedTitle = (record) =>
  speed(record) === null ? "" : `${number(record.increment)} rows handled; recomputing handles ${number(record.recompute)}`;

export const epochTitle = (record) => `epoch ${record.epoch}: ${duration(record.ms)}${record.engine ? ` on ${record.engine}` : ""}`;
