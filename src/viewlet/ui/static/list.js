// The list of everything, found by name, walked through with the arrow keys.

import { ago, h, icon, number } from "./dom.js";
import { condition, CONDITIONS, href, on, state } from "./state.js";
import { VirtualList } from "./virtual.js";

const box = document.getElementById("list");
const find = document.getElementById("find");
let found = [];
let active = -1;
const list = new VirtualList(box, 44, row);

function row(at) {
  const node = found[at];
  const detail = node.rows === undefined ? node.kind : `${number(node.rows)} rows`;
  return h("a", {
    class: `item${node.id === state.selected ? " selected" : ""}${at === active ? " active" : ""}`,
    id: `item-${at}`, role: "option", tabindex: "-1", href: href(node.id),
    "aria-selected": node.id === state.selected ? "true" : "false",
    "aria-posinset": at + 1, "aria-setsize": found.length,
  },
  icon(node.kind),
  h("span", { class: "name" }, node.name),
  h("span", { class: `dot ${condition(node)}`, title: CONDITIONS[condition(node)] }),
  h("span", { class: "more" }, node.timestamp ? `${detail} · ${ago(node.timestamp)}` : detail));
}

function refresh() {
  const wanted = find.value.trim().toLowerCase();
  found = state.nodes.filter((node) => !wanted || node.name.toLowerCase().includes(wanted) || node.kind.startsWith(wanted));
  active = Math.min(active, found.length - 1);
  list.reset(found.length);
}

function move(to) {
  if (!found.length) return;
  active = Math.max(0, Math.min(found.length - 1, to));
  list.reset(found.length);
  list.reveal(active);
  box.setAttribute("aria-activedescendant", `item-${active}`);
}

function keys(event) {
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
  if (event.key in steps) move(active + steps[event.key]);
  else if (event.key === "Enter" && found.length) location.hash = href(found[Math.max(active, 0)].id);
  else if (event.key === "Escape") { find.value = ""; refresh(); find.blur(); }
  else return;
  event.preventDefault();
}

find.addEventListener("input", () => { active = -1; box.scrollTop = 0; refresh(); });
find.addEventListener("keydown", keys);
box.addEventListener("keydown", keys);
for (const event of ["overview", "selected", "minute"]) on(event, refresh);
