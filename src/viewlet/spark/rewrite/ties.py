"""Tie breakers: what distinguishes two rows that an operator must order."""

from __future__ import annotations

from viewlet.spark.session.jvm import Jvm, Node, items, same_expr


def tie_breakers(jvm: Jvm, plan: Node, given: list[Node]) -> list[Node]:
    """Sort terms for what the given keys do not distinguish: all other columns."""
    left = [c for c in items(plan.output()) if is_collated(c) or not any(same_expr(c, g) for g in given)]
    return [jvm.ascending(sortable(jvm, c)) for c in left]


def sortable(jvm: Jvm, expr: Node) -> Node:
    """A sort key under which no two values tie: the value itself, or its text.

    Maps and variants have no order in Spark, and strings that are equal under a collation would tie.
    """
    has_order = jvm.is_orderable(expr) and not is_collated(expr)
    return expr if has_order else jvm.cast(expr, jvm.data_type("string"))


def is_collated(expr: Node) -> bool:
    """Whether an expression is, or contains, strings with a collation."""
    return " collate " in str(expr.dataType().simpleString())


def only_if(jvm: Jvm, present: Node | None, value: Node) -> Node:
    """A value, or NULL where `present` is NULL."""
    if present is None or not present.nullable():
        return value
    return jvm.expressions.If(jvm.expressions.IsNotNull(present), value, jvm.null(value.dataType()))
