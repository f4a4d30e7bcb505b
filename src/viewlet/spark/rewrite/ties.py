"""Tie breakers: what distinguishes two rows, where an operator must order them."""

from __future__ import annotations

from viewlet.spark.session.jvm import Jvm, Node, items, same_expr


def tie_breakers(jvm: Jvm, plan: Node, given: list[Node]) -> list[Node]:
    """Sort terms that tell apart what the given keys do not: all other columns."""
    left = [c for c in items(plan.output()) if is_collated(c) or not any(same_expr(c, g) for g in given)]
    return [jvm.ascending(sortable(jvm, c)) for c in left]


def sortable(jvm: Jvm, expr: Node) -> Node:
    """Something to sort by that ties no two values: the value itself, or its text.

    Spark has no order for maps and variants; and strings that a collation takes as equal it ties.
    """
    has_order = jvm.is_orderable(expr) and not is_collated(expr)
    return expr if has_order else jvm.cast(expr, jvm.data_type("string"))


def is_collated(expr: Node) -> bool:
    """Whether an expression is, or holds, strings that are compared by a collation."""
    return " collate " in str(expr.dataType().simpleString())


def only_if(jvm: Jvm, present: Node | None, value: Node) -> Node:
    """A value, or NULL where something else is NULL."""
    if present is None or not present.nullable():
        return value
    return jvm.expressions.If(jvm.expressions.IsNotNull(present), value, jvm.null(value.dataType()))
