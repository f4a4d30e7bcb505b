"""What a run of the fuzzer has seen: operators and functions, and which operator stood on which.

Read from the JSON of Spark's analysed plan: a list of operators in the order in which one meets them from the root,
each with the number of its children; a subquery's plan stands inside the expression that holds it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

SILENT = ("SubqueryAlias", "LocalLimit", "ResolvedHint", "CTERelationDef", "ReturnAnswer")
"""Operators that only name what is below them."""
LEAVES = {"LocalRelation": "VALUES", "OneRowRelation": "one row", "Range": "range", "CTERelationRef": "CTE"}  # fmt: skip
SUBQUERIES = {"ScalarSubquery": "scalar subquery", "ListQuery": "IN", "Exists": "EXISTS", "LateralSubquery": "lateral subquery"}  # fmt: skip
PLAIN = ("AttributeReference", "Alias", "Literal", "OuterReference", "SortOrder", "NamedLambdaVariable", "LambdaFunction", "AggregateExpression", "WindowExpression", "WindowSpecDefinition", "SpecifiedWindowFrame", "UnresolvedAttribute")  # fmt: skip


@dataclass
class Coverage:
    operators: Counter[str] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    functions: Counter[str] = field(default_factory=Counter)

    def add(self, plan: str) -> None:
        """Count the analysed plan of a view's rows, given as JSON: what is below the view itself."""
        nodes = json.loads(plan)
        top = next(at for at, node in enumerate(nodes) if _short(node["class"]) == "View")
        self._walk(iter(nodes[top + 1 :]), "view")
        self.functions.update(_functions(nodes))

    def _walk(self, nodes: Iterator[dict[str, Any]], parent: str) -> None:
        """Count the next operator, what is in its expressions, and its children."""
        node = next(nodes)
        name = label(node)
        if name == "table":
            _skip(nodes, node["num-children"])
            node = {**node, "num-children": 0}
        if name is not None:
            self.operators[name] += 1
            self.pairs[parent, name] += 1
        for kind, plan in _subqueries({k: v for k, v in node.items() if k != "class"}):
            self.operators[kind] += 1
            self.pairs[name or parent, kind] += 1
            self._walk(iter(plan), kind)
        for _ in range(node["num-children"]):
            self._walk(nodes, name or parent)


def label(node: dict[str, Any]) -> str | None:
    """An operator by the name that people know it by; None if it does nothing."""
    kind = _short(node["class"])
    match kind:
        case "Join" | "LateralJoin":
            join = node["joinType"]
            how = _short(join.get("object") or join.get("product-class", "")).replace("Outer", "")
            return f"{'lateral' if kind == 'LateralJoin' else 'join'} {how.lower()}"
        case "Aggregate":
            return "aggregate" if node["groupingExpressions"] else "global aggregate"
        case "Except" | "Intersect":
            return f"{kind.upper()} ALL" if node["isAll"] else kind.upper()
        case "Generate":
            return "generate outer" if node["outer"] else "generate"
        case "GlobalLimit":
            return "limit"
        case "WithCTE":
            return "WITH"
        case "View" | "LogicalRelation" | "HiveTableRelation" | "UnresolvedCatalogRelation":
            return "table"
        case "Project" if all(_is_plain(e) for e in node["projectList"]):
            return None
        case _ if kind in SILENT:
            return None
    return LEAVES.get(kind, kind.lower())


def _is_plain(expression: list[dict[str, Any]]) -> bool:
    """Whether an expression is a column, renamed or not."""
    return all(_short(part["class"]) in ("AttributeReference", "Alias") for part in expression)


def _skip(nodes: Iterator[dict[str, Any]], many: int) -> None:
    """Pass by some plans."""
    for _ in range(many):
        _skip(nodes, next(nodes)["num-children"])


def _short(name: str) -> str:
    return name.rsplit(".", 1)[-1].rstrip("$")


def _subqueries(value: Any) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The subqueries in an operator's expressions, without those inside them."""
    if isinstance(value, dict):
        kind = SUBQUERIES.get(_short(value.get("class", "")))
        if kind is not None and "plan" in value:
            yield kind, value["plan"]
            value = {k: v for k, v in value.items() if k != "plan"}
        for inner in value.values():
            yield from _subqueries(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _subqueries(inner)


def _functions(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        name = value.get("class", "")
        if ".expressions." in name and _short(name) not in PLAIN:
            yield _short(name)
        for inner in value.values():
            yield from _functions(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _functions(inner)


def report(coverage: Coverage) -> str:
    """What stood on what, and which expressions there were."""
    operators = sorted(coverage.operators, key=lambda name: (-coverage.operators[name], name))
    lines = ["| operator | seen | over, and how often |", "|---|---|---|"]
    for parent in ["view", *operators]:
        over = sorted(((coverage.pairs[parent, child], child) for child in operators), reverse=True)
        if seen := ", ".join(f"{child} {n}" for n, child in over if n):
            lines.append(f"| {parent} | {coverage.operators[parent] or ''} | {seen} |")
    known = len(coverage.pairs)
    functions = ", ".join(f"{name} {n}" for name, n in sorted(coverage.functions.items()))
    return "\n".join(
        [
            f"{len(operators)} operators, {known} pairs of one over another, {len(coverage.functions)} expressions.",
            "",
            *lines,
            "",
            f"Expressions, by the names that Spark's plans give them: {functions}.",
            "",
        ]
    )
