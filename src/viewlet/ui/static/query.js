// The query box.

import { post } from "./api.js";
import { problem } from "./detail.js";
import { duration, h, sql, table } from "./dom.js";
import { state } from "./state.js";

const asked = [];
let text = "";

export function show(main) {
  const input = h("textarea", { id: "sql", rows: "6", spellcheck: "false", autocomplete: "off", "aria-label": "Statement", placeholder: "SELECT * FROM …" });
  const result = h("div", { class: "result", "aria-live": "polite" });
  const run = h("button", { type: "button", class: "main", onclick: ask }, "Run");
  const before = h("ol", { class: "asked", "aria-label": "Earlier statements" });
  input.value = text || first();
  input.addEventListener("input", () => (text = input.value));
  input.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) ask(); });

  async function ask() {
    if (run.disabled || !input.value.trim()) return;
    run.disabled = true;
    result.replaceChildren(h("p", { class: "quiet busy" }, "Spark is asked; the first query starts it, which takes some seconds …"));
    const began = performance.now();
    try {
      const found = await post("query", {}, { sql: input.value });
      const time = h("p", { class: "quiet" }, duration(performance.now() - began));
      result.replaceChildren(time, found.columns ? table(found, "Result") : h("pre", { class: "code", tabindex: "0" }, found.text));
      if (asked[0] !== input.value) asked.unshift(input.value);
      list();
    } catch (error) { result.replaceChildren(problem(error)); }
    run.disabled = false;
  }

  function list() {
    before.replaceChildren(...asked.slice(0, 20).map((statement) => h("li", null, h("button", { type: "button", onclick: () => { input.value = text = statement; input.focus(); } }, sql(statement)))));
  }

  list();
  const refusal = state.may.query ? null : h("p", { class: "problem" }, "This page answers no queries. Start it with --write to allow them.");
  run.disabled = input.disabled = !state.may.query;
  main.replaceChildren(h("div", { class: "page query-page" }, refusal, input,
    h("p", { class: "buttons" }, run, h("span", { class: "quiet" }, state.may.write ? "Ctrl Enter. Statements may change the warehouse." : "Ctrl Enter. Only queries: the page is read-only.")),
    result, before));
}

function first() {
  const view = state.nodes.findLast((node) => node.kind === "view") ?? state.nodes.find((node) => node.kind === "table");
  return view ? `SELECT * FROM ${/^\w+$/.test(view.name) ? view.name : `\`${view.name}\``} LIMIT 20` : "SELECT 1";
}
