// Epochs that were rejected or failed, with the rows that were the cause; and rows that were kept aside.

import { get } from "./api.js";
import { ago, clock, h, number } from "./dom.js";
import { href, state } from "./state.js";

export async function show(main) {
  const found = await get("failures");
  const aside = state.nodes.filter((node) => node.kind === "aside" && node.rows);
  main.replaceChildren(h("div", { class: "page failures-page" },
    aside.length ? h("section", null, h("h2", null, "Rows kept aside"), h("ul", { class: "links" }, aside.map((node) =>
      h("li", null, h("a", { href: href(node.id, "rows") }, node.name, h("span", { class: "quiet" }, ` ${number(node.rows)} rows`)))))) : null,
    h("h2", null, "Epochs that failed"),
    found.length ? found.map((failure, at) => card(failure, found.length - at)) : h("p", { class: "quiet" }, "None. What is rejected or fails shows up here, with the row that was the cause.")));
}

function card(failure, ordinal) {
  const where = failure.table.split(" ").slice(1).join(" ");
  const rows = Object.keys(failure.row).length ? [failure.row] : failure.rows;
  return h("article", { class: "failure" },
    h("header", null, h("strong", null, failure.error), failure.view && h("a", { href: href(failure.view) }, failure.view),
      h("time", { class: "quiet", title: ago(failure.timestamp) }, clock(failure.timestamp))),
    h("p", null, failure.message),
    failure.expression && h("p", null, h("code", null, failure.expression)),
    rows.length ? h("figure", { class: "rows" }, h("figcaption", null, where ? ["The row of ", h("a", { href: href(where) }, where), " that is the cause"] : "Rows that keep changing"), cause(rows, ordinal)) : null,
    failure.hint && h("p", { class: "quiet" }, failure.hint));
}

const cause = (rows, ordinal) => h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Rows that are the cause of failure ${ordinal}` }, h("table", null,
  h("thead", null, h("tr", null, Object.keys(rows[0]).map((name) => h("th", { scope: "col" }, name)))),
  h("tbody", null, rows.map((row) => h("tr", null, Object.values(row).map((value) => h("td", { class: value === null ? "null" : null }, value ?? "NULL")))))));
