// Elements, and text for people. Data becomes text nodes only, never markup.

const SVG = "http://www.w3.org/2000/svg";

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const h = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);
export const s = (tag, attributes, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);
export const icon = (kind) => s("svg", { class: `icon kind-${kind}`, "aria-hidden": "true" }, s("use", { href: `#i-${kind}` }));

const grouped = new Intl.NumberFormat("en-US");
export const number = (value) => grouped.format(value);
export const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;

export function bytes(count) {
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (count < 1000) return `${unit === "B" ? count : count.toFixed(1)} ${unit}`;
    count /= 1000;
  }
  return `${count.toFixed(1)} TB`;
}

export function duration(ms) {
  if (ms === null || ms === undefined) return "";
  if (ms < 10) return `${ms.toFixed(2)} ms`;
  if (ms < 1000) return `${ms.toFixed(0)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60000)} min`;
}

export function ago(timestamp) {
  if (!timestamp) return "never";
  const seconds = Math.max(0, Date.now() / 1000 - timestamp);
  for (const [unit, length] of [["d", 86400], ["h", 3600], ["min", 60]]) {
    if (seconds >= length) return `${Math.floor(seconds / length)} ${unit} ago`;
  }
  return seconds < 2 ? "now" : `${Math.floor(seconds)} s ago`;
}

// The time of day; before it the date, unless it is today.
export function clock(timestamp) {
  const [text, now] = [new Date(timestamp * 1000), new Date()].map((date) => date.toLocaleString("sv-SE"));
  return text.slice(0, 10) === now.slice(0, 10) ? text.slice(11) : text.slice(5, 16);
}
export const shortened = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);

// Rows of a result, with a fixed head; `total` says when not all of them are there.
export function table(found, label, classes = () => "") {
  const heads = found.columns.map(([name, type, numeric]) =>
    h("th", { scope: "col", class: numeric ? "number" : null, title: type }, name));
  const rows = found.rows.map((row, i) =>
    h("tr", { class: classes(row, i) }, row.map((cell, j) =>
      h("td", { class: cell === null ? "null" : found.columns[j][2] ? "number" : null, title: cell }, cell ?? "NULL"))));
  const more = found.total > found.rows.length ? ` The first ${number(found.rows.length)} are shown.` : "";
  return h("figure", { class: "rows" },
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
      h("table", null, h("thead", null, h("tr", null, heads)), h("tbody", null, rows))),
    h("figcaption", null, plural(found.total, "row") + "." + more));
}

const WORDS = new Set(("select from where group by order having limit join left right full outer inner cross semi anti on using and or not in is null as with recursive union all distinct case when then else end create materialized view table replace over partition between exists like cast interval key initialize iterate repeat until return set step values asc desc rows range").split(" "));

// SQL with its words, texts, numbers and comments told apart.
export function sql(text) {
  const parts = text.match(/--[^\n]*|'(?:[^'\\]|\\.|'')*'|`[^`]*`|\b\d[\d.]*\b|\w+|\s+|[^\w\s]/g) ?? [];
  const kind = (part) =>
    part.startsWith("--") ? "comment" : part.startsWith("'") ? "text" : /^\d/.test(part) ? "digits" : WORDS.has(part.toLowerCase()) ? "word" : null;
  return h("pre", { class: "code sql", tabindex: "0" }, parts.map((part) => (kind(part) ? h("span", { class: kind(part) }, part) : part)));
}
