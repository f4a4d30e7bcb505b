// All about one node: what it is, how it is kept, its rows, its changes as they come, its epochs.

import { events, get, post } from "./api.js";
import { rounds } from "./charts.js";
import { ago, bytes, duration, h, icon, number, plural, sql, table } from "./dom.js";
import { Epochs } from "./epochs.js";
import { condition, CONDITIONS, href, on, state } from "./state.js";

const box = document.getElementById("detail");
const TABS = { about: about, plan: plan, rows: rows, changes: changes, epochs: epochs };
let current = null; // the node that is shown, with the tab and what listens for it
let stream = null;

export function close() {
  stream?.close();
  stream = null;
  current = null;
  box.hidden = true;
  document.body.classList.remove("with-detail");
}

export async function show(id, tab = "about") {
  stream?.close();
  stream = null;
  const found = await get("node", { name: id }).catch((error) => ({ id, name: id, kind: "table", error }));
  const tabs = Object.keys(TABS).filter((name) => offers(found, name));
  const chosen = tabs.includes(tab) ? tab : "about";
  current = { id, tab: chosen };
  const body = h("div", { class: "body", tabindex: "0", role: "region", "aria-label": `${found.name}, ${chosen}` });
  box.replaceChildren(
    h("div", { class: "top" }, icon(found.kind),
      h("div", null, h("h2", null, found.name), h("p", { class: "quiet" }, subtitle(found))),
      h("a", { class: "close", href: `#/${document.body.dataset.page}`, "aria-label": "Close", title: "Close (Esc)" }, "×")),
    h("nav", { class: "tabs", "aria-label": "Details" }, tabs.map((name) =>
      h("a", { href: href(id, name), "aria-current": name === chosen ? "page" : null }, name))),
    body);
  box.hidden = false;
  document.body.classList.add("with-detail");
  if (found.error) body.append(problem(found.error));
  else await TABS[chosen](body, found);
}

function offers(found, tab) {
  if (tab === "about") return true;
  if (tab === "plan") return found.explain !== undefined;
  return found.rows !== undefined;
}

function subtitle(found) {
  const now = condition(found);
  return [h("span", { class: `dot ${now}` }), `${found.type ?? found.kind}, ${CONDITIONS[now]}`, found.changed ? `, changed in epoch ${number(found.changed)}, ${ago(found.timestamp)}` : ""];
}

export const problem = (error) =>
  h("div", { class: "problem", role: "alert" }, h("p", null, error.message), error.hint && h("p", { class: "quiet" }, error.hint));

// ——— what it is

function about(body, found) {
  const tiles = [
    ["rows", found.rows === undefined ? null : number(found.rows)],
    ["size", found.bytes === undefined ? null : bytes(found.bytes)],
    ["state", found.map_bytes === undefined ? null : bytes(found.map_bytes)],
    ["an epoch costs", found.epoch_ms ? duration(found.epoch_ms) : null],
    ["from scratch", found.fill_ms ? duration(found.fill_ms) : null],
    ["tier", found.tier],
    ["late rows", found.late], ["rejected rows", found.rejected],
    ["delivered up to", found.delivered === undefined ? null : `epoch ${number(found.delivered)}`],
  ].filter(([, value]) => value !== null && value !== undefined);
  body.append(...[
    tiles.length && h("dl", { class: "tiles" }, tiles.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value)))),
    actions(found),
    found.statement && h("section", null, h("h3", null, "Definition"), sql(found.statement)),
    found.explain !== undefined && !found.statement && h("section", null, h("h3", null, "Definition"), h("pre", { class: "code", tabindex: "0" }, found.explain.split("\n")[0])),
    found.where && h("section", null, h("h3", null, "Where"), h("code", null, found.where)),
    found.source?.kind && h("section", null, h("h3", null, "Source"), facts(found.source)),
    links("Reads", found.reads), links("Is read by", found.readers),
    found.columns && columns(found),
    found.constraints?.length ? h("section", null, h("h3", null, "Constraints"), h("ul", null, found.constraints.map(([name, text, action]) => h("li", null, h("code", null, `${name}: ${text}`), ` ${action.toLowerCase()}`)))) : null,
  ].filter(Boolean));
}

const facts = (values) => h("dl", { class: "facts" }, Object.entries(values).map(([name, value]) => [h("dt", null, name), h("dd", null, String(value))]));

const links = (title, ids) => ids.length ? h("section", null, h("h3", null, title), h("ul", { class: "links" }, ids.map((id) => {
  const node = state.byId.get(id) ?? { name: id, kind: "table" };
  return h("li", null, h("a", { href: href(id) }, icon(node.kind), node.name));
}))) : null;

function columns(found) {
  const keys = new Set(found.primary_key ?? []);
  const traits = (found.traits ?? []).map((trait) => h("span", { class: "chip" }, trait));
  return h("section", null, h("h3", null, "Columns ", traits),
    h("table", { class: "columns-table" }, h("thead", { class: "hidden" }, h("tr", null, h("th", { scope: "col" }, "name"), h("th", { scope: "col" }, "type"))),
      h("tbody", null, found.columns.map(([name, type]) => h("tr", null, h("td", null, name, keys.has(name) && h("span", { class: "chip" }, "key")), h("td", { class: "quiet" }, type))))));
}

function actions(found) {
  if (!state.may.write) return null;
  const isView = found.explain !== undefined;
  if (!isView && !found.source?.kind) return null;
  const result = h("div", { "aria-live": "polite" });
  const button = (text, title, path, done) => h("button", { type: "button", title, onclick: async (event) => {
    event.target.disabled = true;
    result.replaceChildren(h("p", { class: "quiet busy" }, `${title} …`));
    try {
      result.replaceChildren(done(await post(path, { name: found.id })));
    } catch (error) { result.replaceChildren(problem(error)); }
    event.target.disabled = false;
  } }, text);
  const read = (answer) => h("p", { class: "good" }, answer.epochs.length ? `Epoch ${answer.epochs.map(number).join(", ")}.` : "There was nothing new.");
  return h("section", { class: "actions" },
    button(isView ? "Recompute" : "Read source", isView ? "Computing it from scratch" : "Reading what is new", "refresh", read),
    isView && button("Check", "Comparing it with Spark SQL from scratch", "check", checked), result);
}

const checked = (answer) => answer.total
  ? h("div", { class: "problem" }, h("p", null, `${plural(answer.total, "row")} differ from the definition.`), table(answer, "Rows that differ"))
  : h("p", { class: "good" }, "Equal to what Spark SQL computes from scratch.");

// ——— how it is kept

function plan(body, found) {
  const greatest = Math.max(...found.maps_kept.map((map) => map.bytes), 1);
  body.append(...[
    found.operators.length && h("section", null, h("h3", null, "Operators"), h("ol", { class: "operators" }, found.operators.map((o) =>
      h("li", { class: `depth-${Math.min(o.depth, 12)}` }, o.tier && h("span", { class: `tier ${o.tier}` }, o.tier), h("code", null, o.label), o.reason && h("p", { class: "quiet" }, o.reason))))),
    found.rounds && h("section", null, h("h3", null, "Rounds of the last epoch"), rounds(found.rounds)),
    h("section", null, h("h3", null, "Maps"), found.maps_kept.length ? h("ul", { class: "maps" }, found.maps_kept.map((map) => {
      const meter = h("span", { class: "meter" }, h("span", null));
      meter.firstChild.style.width = `${Math.max(2, (map.bytes / greatest) * 100)}%`;
      return h("li", null, h("div", null, h("code", null, map.name), h("span", { class: "quiet" }, `${plural(map.rows, "row")}, ${bytes(map.bytes)}`)), meter,
        map.holds && h("p", { class: "quiet" }, map.holds), map.shared.length ? h("p", { class: "quiet" }, `shared with ${map.shared.join(", ")}`) : null);
    })) : h("p", { class: "quiet" }, "None but the view itself.")),
    h("section", null, h("h3", null, "Explain, with all statements"), h("pre", { class: "code", tabindex: "0" }, found.explain)),
  ].filter(Boolean));
}

// ——— its rows, changes and epochs

async function rows(body, found) {
  body.append(table(await get("rows", { name: found.id }), `Rows of ${found.name}`));
}

async function changes(body, found) {
  const list = h("div", { class: "changes", role: "log", "aria-label": `Changes of ${found.name}` });
  body.append(h("p", { class: "quiet" }, "Newest first; new ones appear as they are committed."), list);
  const add = (epochs) => {
    for (const epoch of epochs) list.prepend(change(epoch));
    while (list.children.length > 100) list.lastChild.remove();
    list.classList.toggle("none", !list.children.length);
  };
  add(await get("changes", { name: found.id }));
  stream = events({ name: found.id, since: state.epoch }, { changes: add });
}

function change(epoch) {
  const at = epoch.columns.findIndex(([name]) => /^_change_type_?$/.test(name));
  const own = { columns: epoch.columns.slice(0, at), rows: epoch.rows.map((row) => row.slice(0, at)), total: epoch.total };
  const sign = (i) => (/insert|postimage/.test(epoch.rows[i][at]) ? "plus" : "minus");
  return h("section", null, h("h3", null, `Epoch ${number(epoch.epoch)}`), table(own, `Changes of epoch ${epoch.epoch}`, (_, i) => sign(i)));
}

let history = null;
async function epochs(body, found) {
  history = new Epochs(found.id);
  body.classList.add("full");
  body.append(history.element);
  await history.loaded;
}

on("touched", (records) => {
  if (history?.element.isConnected) history.add(records);
  const isAbout = current && ["about", "plan"].includes(current.tab) && !box.querySelector("[aria-live] > *");
  if (isAbout && records.some((record) => record.touched.includes(current.id))) show(current.id, current.tab);
});
