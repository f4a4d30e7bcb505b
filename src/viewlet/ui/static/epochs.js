// The history of epochs: newest first, loaded as one scrolls, with what each view did in the one that is chosen.

import { bars, epochTitle, rounds, shownSpeed, speed, speedTitle } from "./charts.js";
import { get } from "./api.js";
import { ago, clock, duration, h, number, plural } from "./dom.js";
import { href, on } from "./state.js";
import { VirtualList } from "./virtual.js";

const PAGE = 200;
const CHARTED = 120;

export function what(record) {
  if (record.kind === "flow") return `stage ${record.stage} of flow ${record.name}`;
  if (record.kind !== "epoch") return `${record.kind} ${record.name ?? ""}`.trim();
  return Object.entries(record.tables).map(([name, [plus, minus]]) =>
    `${name}${plus ? ` +${number(plus)}` : ""}${minus ? ` −${number(minus)}` : ""}`).join(", ");
}

// A table of epochs: of all, or of one table or view.
export class Epochs {
  constructor(name, choose) {
    this.name = name;
    this.choose = choose;
    this.records = [];
    this.total = 0;
    this.chosen = null;
    const head = (text, css) => h("span", { class: css }, text);
    this.scroll = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Epochs, newest first" });
    this.element = h("div", { class: "epochs" },
      h("div", { class: "epoch head", "aria-hidden": "true" }, head("epoch", "n"), head("when", "when"), head("what", "what"), head("views", "views"), head("time", "ms"), head("engine", "engine"), head("rows handled", "speed")),
      this.scroll);
    this.list = new VirtualList(this.scroll, 34, (at) => this.row(at), { near: (at) => this.more(at) });
    this.loaded = this.load();
  }

  async load(most = PAGE) {
    const last = this.records.at(-1)?.epoch;
    const found = await get("epochs", { most, ...(last ? { before: last } : {}), ...(this.name ? { name: this.name } : {}) });
    this.records.push(...found.records);
    this.total = found.records.length ? found.total : this.records.length;
    this.list.reset(this.total);
  }

  // Load as far as the last row seen: in one step however far that is, and again if one has scrolled on meanwhile.
  more(at) {
    this.seen = at;
    if (at < this.records.length || this.records.length >= this.total || this.waiting) return;
    this.waiting = this.load(at - this.records.length + PAGE)
      .finally(() => (this.waiting = null)).then(() => this.more(this.seen));
  }

  row(at) {
    const record = this.records[at];
    if (!record) return h("div", { class: "epoch" }, h("span", { class: "what quiet" }, "…"));
    return h("button", {
      type: "button", class: `epoch${record === this.chosen ? " selected" : ""}`,
      onclick: () => this.select(record),
    },
    h("span", { class: "n" }, number(record.epoch)),
    h("span", { class: "when", title: ago(record.timestamp) }, clock(record.timestamp)),
    h("span", { class: "what" }, what(record)),
    h("span", { class: "views" }, Object.keys(record.views).length || ""),
    h("span", { class: "ms" }, duration(record.ms)),
    h("span", { class: "engine" }, record.engine ?? ""),
    h("span", { class: speed(record) > 1 ? "speed gain" : "speed", title: speedTitle(record) }, shownSpeed(record)));
  }

  select(record) {
    this.chosen = record;
    this.list.reset(this.total);
    this.choose?.(record);
  }

  add(records) {
    const own = records.filter((record) => !this.name || record.touched.includes(this.name));
    const known = this.records[0]?.epoch ?? 0;
    const fresh = own.filter((record) => record.epoch > known).reverse();
    this.records.unshift(...fresh);
    this.total += fresh.length;
    if (fresh.length) this.list.reset(this.total);
  }
}

function chosen(record) {
  const rows = Object.entries(record.views).sort((a, b) => b[1][2] - a[1][2]).map(([name, [plus, minus, ms]]) =>
    h("tr", null, h("td", null, h("a", { href: href(name) }, name)), h("td", { class: "number plus" }, `+${number(plus)}`),
      h("td", { class: "number minus" }, `−${number(minus)}`), h("td", { class: "number" }, duration(ms))));
  return h("section", { class: "chosen", "aria-label": `Epoch ${record.epoch}` },
    h("h2", null, `Epoch ${number(record.epoch)}`),
    h("p", null, what(record) || record.kind, record.lag ? `, ${record.lag.toFixed(1)} s behind its source` : ""),
    h("p", { class: "quiet" }, speedTitle(record)),
    rows.length ? h("table", null, h("thead", null, h("tr", null, ["view", "in", "out", "time"].map((t, i) => h("th", { scope: "col", class: i ? "number" : null }, t)))), h("tbody", null, rows)) : null,
    Object.entries(record.rounds).map(([name, sizes]) => [h("h3", null, `Rounds of ${name}`), rounds(sizes)]));
}

// The scale of the chart, in words.
function range(times) {
  const there = times.filter((ms) => ms > 0);
  return there.length < 2 ? "" : `${duration(Math.min(...there))} to ${duration(Math.max(...there))}, on a logarithmic scale`;
}

let shown = null;

export async function show(main) {
  const panel = h("div", { class: "panel" });
  const chart = h("div", { class: "chart-box" });
  shown = new Epochs(null, (record) => { panel.replaceChildren(chosen(record)); draw(); });
  const draw = () => {
    const last = shown.records.slice(0, CHARTED).reverse();
    const classes = (at) => `${last[at].engine ?? "none"}${last[at] === shown.chosen ? " chosen" : ""}`;
    const choose = (at) => shown.select(last[at]);
    chart.replaceChildren(
      h("h2", null, "Time of the last ", plural(last.length, "epoch"), h("span", { class: "range" }, range(last.map((r) => r.ms)))),
      last.length ? bars(last.map((r) => r.ms ?? 0), "Time of the last epochs, on a logarithmic scale", { title: (at) => epochTitle(last[at]), classes, choose, width: 1200 }) : h("p", { class: "quiet" }, "Nothing has happened yet."));
  };
  shown.draw = draw;
  main.replaceChildren(h("div", { class: "page epochs-page" }, chart, h("div", { class: "split" }, shown.element, panel)));
  await shown.loaded;
  draw();
}

on("touched", (records) => {
  if (!shown?.element.isConnected) return;
  shown.add(records);
  shown.draw();
});
