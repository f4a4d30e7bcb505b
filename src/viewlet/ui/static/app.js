// The page: loads what there is, shows the part that the address names, follows epochs as they are committed.

import { events, get } from "./api.js";
import * as detail from "./detail.js";
import { ago, h, number } from "./dom.js";
import * as epochs from "./epochs.js";
import * as failures from "./failures.js";
import * as graph from "./graph.js";
import "./list.js";
import * as query from "./query.js";
import { state, tell } from "./state.js";

const PAGES = { graph, epochs, query, failures, list: { show: () => {} } };
const main = document.getElementById("main");
let page = null;

// ——— what there is

async function load() {
  const found = await get("overview");
  Object.assign(state, found, {
    failed: new Set(found.failed),
    byId: new Map(found.nodes.map((node) => [node.id, node])),
    edges: found.edges.map(([from, to], at) => [from, to, found.bends[at]]),
  });
  document.getElementById("path").textContent = found.path.split("/").at(-1);
  document.getElementById("path").title = found.path;
  document.getElementById("mode").textContent = found.may.write ? "may write" : "read-only";
  const count = document.querySelector(".count");
  count.textContent = found.failures;
  count.hidden = !found.failures;
  document.title = `${found.path.split("/").at(-1)} · Viewlet`;
  live();
  tell("overview");
}

let last = null;
function live(isOpen = true) {
  const newest = Math.max(0, ...state.nodes.map((node) => node.timestamp ?? 0));
  last = Math.max(last ?? 0, newest);
  document.querySelector(".live").classList.toggle("lost", !isOpen);
  document.getElementById("epoch").textContent = isOpen ? `epoch ${number(state.epoch)} · ${ago(last)}` : "connection lost";
}

// Many epochs a second are told in one go; the graph's sizes follow at most twice a second.
let due = null;
function committed(records) {
  state.epoch = records.at(-1).epoch;
  tell("touched", records);
  due ??= setTimeout(() => { due = null; load().catch(() => live(false)); }, 500);
}

// ——— the part that the address names

function route() {
  const [, first, id, tab] = location.hash.split("/").map(decodeURIComponent);
  const wanted = first in PAGES ? first : page ?? "graph";
  if (wanted !== page) {
    page = wanted;
    document.body.dataset.page = page;
    for (const link of document.querySelectorAll("header nav a")) link.toggleAttribute("aria-current", link.dataset.page === page);
    PAGES[page].show(main);
  }
  state.selected = first === "node" ? id : null;
  tell("selected");
  if (first === "node") detail.show(id, tab).then(() => graph.reveal(id));
  else detail.close();
}

// ——— light and dark

const THEMES = { auto: "◐", light: "☀", dark: "☾" };
const themeButton = document.getElementById("theme");
function theme(name) {
  document.documentElement.dataset.theme = name;
  themeButton.textContent = THEMES[name];
  themeButton.setAttribute("aria-label", `Theme: ${name}`);
  localStorage.setItem("viewlet-theme", name);
}
themeButton.addEventListener("click", () => {
  const names = Object.keys(THEMES);
  theme(names[(names.indexOf(document.documentElement.dataset.theme) + 1) % names.length]);
});
theme(localStorage.getItem("viewlet-theme") ?? "auto");

// ——— keys

const keys = document.getElementById("keys");
document.getElementById("help").addEventListener("click", () => keys.showModal());
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || keys.open) return;
  if (event.target.matches("input, textarea")) return;
  const pages = { g: "graph", e: "epochs", q: "query", f: "failures" };
  if (event.key in pages) location.hash = `#/${pages[event.key]}`;
  else if (event.key === "/") document.getElementById("find").focus();
  else if (event.key === "?") keys.showModal();
  else if (event.key === "Escape" && state.selected) location.hash = `#/${page}`;
  else if (page === "graph" && event.key === "0") graph.fit();
  else if (page === "graph" && (event.key === "+" || event.key === "=")) graph.zoom(1.25);
  else if (page === "graph" && event.key === "-") graph.zoom(0.8);
  else return;
  event.preventDefault();
});

// ——— begin

setInterval(() => { live(); tell("minute"); }, 30000);
load().then(() => {
  document.body.dataset.ready = "";
  route();
  addEventListener("hashchange", route);
  events({ since: state.epoch }, { epochs: committed, state: live });
}, (error) => main.replaceChildren(h("p", { class: "problem" }, error.message)));
