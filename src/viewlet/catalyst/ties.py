"""What tells two rows apart, where an operator has to put one of them first."""

from __future__ import annotations

from viewlet.catalyst.jvm import Jvm, Node, items, same_expr


def tie_breakers(jvm: Jvm, plan: Node, given: list[Node]) -> list[Node]:
    """Sort terms that tell apart what the given keys do not: all other columns."""
    return [jvm.ascending(sortable(jvm, c)) for c in items(plan.output()) if not any(same_expr(c, g) for g in given)]


def sortable(jvm: Jvm, expr: Node) -> Node:
    """Something to sort by: the value itself, or its text where Spark has no order for it (maps, variants)."""
    return expr if jvm.is_orderable(expr) else jvm.cast(expr, jvm.data_type("string"))


def only_if(jvm: Jvm, present: Node | None, value: Node) -> Node:
    """A value, or NULL where something else is NULL."""
    if present is None or not present.nullable():
        return value
    return jvm.expressions.If(jvm.expressions.IsNotNull(present), value, jvm.null(value.dataType()))
