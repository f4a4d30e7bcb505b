// The graph: nodes where the server placed them, in layers; only what is in sight exists as elements.

import { ago, h, number, s, shortened } from "./dom.js";
import { condition, CONDITIONS, href, on, state } from "./state.js";

const MARGIN = 40;
const SMALL = 0.45; // below this scale, texts cannot be read and are left out

let svg, world, edgeLayer, nodeLayer, box;
let view = null; // the upper left corner that is seen, and the scale
let drawn = new Map();
let wires = new Map();

export function show(main) {
  edgeLayer = s("g", { class: "edges", "aria-hidden": "true" });
  nodeLayer = s("g", { class: "nodes" });
  world = s("g", null, edgeLayer, nodeLayer);
  svg = s("svg", { class: "graph", role: "group", "aria-label": "Graph of what reads what" }, world);
  const button = (text, label, action) => h("button", { type: "button", title: label, "aria-label": label, onclick: action }, text);
  box = h("div", { class: "graph-box" }, svg,
    h("div", { class: "zoom" },
      button("+", "Zoom in", () => zoom(1.25)), button("−", "Zoom out", () => zoom(0.8)), button("⤢", "Fit", fit)),
    legend());
  main.replaceChildren(box);
  drawn.clear();
  wires.clear();
  follow(svg);
  new ResizeObserver(() => (view ? schedule() : fit())).observe(box);
  redraw();
}

function legend() {
  const kinds = [...new Set(state.nodes.map((node) => node.kind))];
  return h("ul", { class: "legend" }, kinds.map((kind) =>
    h("li", null, s("svg", { class: `icon kind-${kind}`, "aria-hidden": "true" }, s("use", { href: `#i-${kind}` })), kind)));
}

// ——— what is in sight

function extent() {
  const [width, height] = state.size;
  const xs = state.nodes.map((n) => n.at[0]), ys = state.nodes.map((n) => n.at[1]);
  return { left: Math.min(...xs), right: Math.max(...xs) + width, top: Math.min(...ys), bottom: Math.max(...ys) + height };
}

export function fit() {
  if (!state.nodes.length || !box?.clientWidth) return;
  const e = extent(), width = e.right - e.left + 2 * MARGIN, height = e.bottom - e.top + 2 * MARGIN;
  const scale = Math.max(0.06, Math.min(1.1, box.clientWidth / width, box.clientHeight / height));
  view = {
    x: (e.left + e.right) / 2 - box.clientWidth / 2 / scale,
    y: (e.top + e.bottom) / 2 - box.clientHeight / 2 / scale,
    scale,
  };
  if (scale < SMALL && box.clientWidth < 700) { // on a narrow screen, begin where the data comes in
    view = { x: e.left - MARGIN / 2, y: (e.top + e.bottom) / 2 - box.clientHeight / 2 / 0.8, scale: 0.8 };
  }
  schedule();
}

export function zoom(factor, at = { x: box.clientWidth / 2, y: box.clientHeight / 2 }) {
  const scale = Math.max(0.05, Math.min(2, view.scale * factor));
  view = { x: view.x + at.x / view.scale - at.x / scale, y: view.y + at.y / view.scale - at.y / scale, scale };
  schedule();
}

let frame = null;
function schedule() {
  frame ??= requestAnimationFrame(() => { frame = null; draw(); });
}

function draw() {
  if (!view || !box.isConnected) return;
  world.setAttribute("transform", `scale(${view.scale}) translate(${-view.x} ${-view.y})`);
  svg.classList.toggle("small", view.scale < SMALL);
  const [width, height] = state.size;
  const right = view.x + box.clientWidth / view.scale, bottom = view.y + box.clientHeight / view.scale;
  const sees = ([x, y]) => x + width >= view.x && x <= right && y + height >= view.y && y <= bottom;
  cull(drawn, state.nodes, (node) => node.id, (node) => sees(node.at), node, nodeLayer);
  cull(wires, state.edges, ([from, to]) => `${from}→${to}`, (edge) => crosses(edge, right, bottom), wire, edgeLayer);
}

// Keep the elements of what is in sight, make those that came into it, remove the others.
function cull(elements, items, key, isSeen, make, layer) {
  const seen = new Set();
  for (const item of items) {
    if (!isSeen(item)) continue;
    const name = key(item);
    seen.add(name);
    if (!elements.has(name)) {
      const element = make(item);
      elements.set(name, element);
      layer.append(element);
    }
  }
  for (const [name, element] of elements) {
    if (!seen.has(name)) { element.remove(); elements.delete(name); }
  }
}

function crosses([from, to, bends], right, bottom) {
  const a = state.byId.get(from)?.at, b = state.byId.get(to)?.at;
  if (!a || !b) return false;
  const [width, height] = state.size, xs = [a[0], b[0]], ys = [a, b, ...bends].map(([, y]) => y);
  return Math.min(...xs) <= right && Math.max(...xs) + width >= view.x
    && Math.min(...ys) <= bottom && Math.max(...ys) + height >= view.y;
}

// ——— elements

function node(found) {
  const [width, height] = state.size;
  const what = found.rows === undefined ? (found.type ?? found.kind) : `${number(found.rows)} rows`;
  const lines = found.timestamp ? `${what} · ${ago(found.timestamp)}` : what;
  const now = condition(found);
  const label = `${found.kind} ${found.name}, ${lines}${found.tier ? `, ${found.tier}` : ""}, ${CONDITIONS[now]}`;
  return s("a", {
    class: `node kind-${found.kind} ${now}${related(found.id)}`, "data-id": found.id, href: href(found.id),
    transform: `translate(${found.at[0]} ${found.at[1]})`, "aria-label": label,
  },
  s("title", null, label),
  s("rect", { class: "card", width, height, rx: 10 }),
  s("rect", { class: "bar", width: 5, height: height - 20, x: 0, y: 10, rx: 2.5 }),
  s("use", { class: "icon", href: `#i-${found.kind}`, x: 15, y: 11, width: 16, height: 16 }),
  s("text", { class: "name", x: 38, y: 23 }, shortened(found.name, 20)),
  s("text", { class: "more", x: 38, y: 41 }, shortened(lines, found.tier ? 22 : 28)),
  found.tier && s("text", { class: `tier ${found.tier}`, x: width - 12, y: 41, "text-anchor": "end" }, found.tier),
  s("circle", { class: "state", cx: width - 15, cy: 18, r: 4 }));
}

// From node to node, and straight through the lanes on the way.
function wire([from, to, bends]) {
  const [width, height] = state.size;
  const [a, b] = [from, to].map((id) => state.byId.get(id).at).map(([x, y]) => [x, y + height / 2]);
  const stops = [a, ...bends, b];
  const parts = stops.slice(1).map(([x2, y2], at) => {
    const x1 = stops[at][0] + width, y1 = stops[at][1];
    const bend = Math.max(36, Math.min(160, Math.abs(x2 - x1) / 2));
    return `${at ? "L" : "M"}${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
  });
  const isLit = lit.size && lit.has(from) && lit.has(to);
  return s("path", { class: isLit ? "lit" : lit.size ? "dim" : null, d: parts.join("") });
}

// ——— what a selected node depends on, and what depends on it

let lit = new Set();

function light() {
  lit = new Set();
  if (!state.byId.has(state.selected)) return;
  for (const [here, there] of [[0, 1], [1, 0]]) {
    const reached = new Set([state.selected]);
    for (const name of reached) { // it grows while it is read
      for (const edge of state.edges) if (edge[here] === name) reached.add(edge[there]);
    }
    for (const name of reached) lit.add(name);
  }
}

const related = (id) => (!lit.size ? "" : id === state.selected ? " selected" : lit.has(id) ? " lit" : " dim");

function redraw() {
  light();
  for (const element of [...drawn.values(), ...wires.values()]) element.remove();
  drawn.clear();
  wires.clear();
  if (view) draw(); else fit();
}

function flash(records) {
  for (const name of new Set(records.flatMap((record) => record.touched))) {
    const card = drawn.get(name)?.querySelector(".card");
    card?.animate?.([{ strokeWidth: 4 }, { strokeWidth: 1 }], { duration: 900, easing: "ease-out" });
  }
}

on("overview", () => box?.isConnected && redraw());
on("selected", () => box?.isConnected && redraw());
on("touched", (records) => box?.isConnected && flash(records));

// ——— moving around: drag, wheel, pinch, keys

function follow(target) {
  const fingers = new Map();
  let moved = 0;
  target.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    moved = 0;
  });
  target.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before || !view) return;
    const now = { x: event.offsetX, y: event.offsetY };
    moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
    if (moved > 4 && !target.hasPointerCapture(event.pointerId)) target.setPointerCapture(event.pointerId);
    if (fingers.size === 2) pinch(fingers, event.pointerId, now);
    else view = { ...view, x: view.x - (now.x - before.x) / view.scale, y: view.y - (now.y - before.y) / view.scale };
    fingers.set(event.pointerId, now);
    schedule();
  });
  for (const end of ["pointerup", "pointercancel", "pointerleave"]) target.addEventListener(end, (event) => fingers.delete(event.pointerId));
  target.addEventListener("click", (event) => { if (moved > 4) event.preventDefault(); }, true);
  target.addEventListener("dragstart", (event) => event.preventDefault());
  target.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (event.ctrlKey || !event.shiftKey) zoom(Math.exp(-event.deltaY / 400), { x: event.offsetX, y: event.offsetY });
    else { view = { ...view, x: view.x + event.deltaY / view.scale }; schedule(); }
  }, { passive: false });
  target.addEventListener("focusin", (event) => reveal(event.target.closest?.(".node")?.dataset.id));
}

function pinch(fingers, id, now) {
  const [other] = [...fingers].filter(([finger]) => finger !== id).map(([, place]) => place);
  const before = fingers.get(id);
  const distance = (a, b) => Math.hypot(a.x - b.x, a.y - b.y) || 1;
  zoom(distance(now, other) / distance(before, other), { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 });
}

// Bring a node that has the focus, or is chosen in the list, into sight.
export function reveal(id) {
  const found = state.byId.get(id);
  if (!found || !view || !box?.isConnected) return;
  const [width, height] = state.size;
  const x = (found.at[0] - view.x) * view.scale, y = (found.at[1] - view.y) * view.scale;
  if (x >= 0 && y >= 0 && x + width * view.scale <= box.clientWidth && y + height * view.scale <= box.clientHeight) return;
  view = { ...view, x: found.at[0] + width / 2 - box.clientWidth / 2 / view.scale, y: found.at[1] + height / 2 - box.clientHeight / 2 / view.scale };
  schedule();
}
