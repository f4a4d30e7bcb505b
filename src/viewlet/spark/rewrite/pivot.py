"""PIVOT's second step as ordinary aggregates.

Spark computes the pivoted cells with an aggregate of its own that fills an array, and extracts them from it. Since each
cell has at most one row, `max` over the rows of the cell is equivalent.
"""

from __future__ import annotations

from typing import Any

from viewlet.spark.session.jvm import Jvm, Node, class_of, copy_with, items


def spread_pivots(jvm: Jvm, plan: Node) -> Node:
    """An analysed plan with its pivots as ordinary aggregates."""
    if ".PivotFirst" not in plan.toJSON():
        return plan
    return plan.transformUpWithSubqueries(jvm.rule(lambda node: spread_pivot(jvm, node)))


def spread_pivot(jvm: Jvm, node: Node) -> Node | None:
    """A projection of a pivot's array as one of cells; None for any other projection."""
    if class_of(node) != "Project" or class_of(node.child()) != "Aggregate":
        return None
    results = items(node.child().aggregateExpressions())
    pivots = {str(r.exprId()): cells(jvm, r) for r in results if is_pivot(r)}
    if not pivots:
        return None
    others = [r for r in results if not is_pivot(r)]
    child = copy_with(jvm, node.child(), {1: jvm.seq([*others, *(c for found in pivots.values() for c in found)])})

    def rule(expr: Node) -> Node | None:
        if class_of(expr) != "GetArrayItem" or class_of(expr.child()) != "AttributeReference":
            return None
        found = pivots.get(str(expr.child().exprId()))
        return None if found is None else found[expr.ordinal().eval(None)].toAttribute()

    return jvm.project([p.transform(jvm.rule(rule)) for p in items(node.projectList())], child)


def is_pivot(result: Node) -> bool:
    """Whether a result is the array of a pivot's cells."""
    if class_of(result) != "Alias" or class_of(result.child()) != "AggregateExpression":
        return False
    return class_of(result.child().aggregateFunction()) == "PivotFirst"


def cells(jvm: Jvm, result: Node) -> list[Node]:
    """One aggregate per cell."""
    function = result.child().aggregateFunction()
    pivot, value = function.pivotColumn(), function.valueColumn()
    found = []
    for wanted in items(function.pivotColumnValues()):
        here = jvm.expressions.EqualNullSafe(pivot, constant(jvm, wanted, pivot.dataType()))
        cell = jvm.expressions.If(here, value, jvm.null(value.dataType()))
        found.append(jvm.alias(jvm.reduce(jvm.aggregate.Max(cell)), "_cell"))
    return found


def constant(jvm: Jvm, value: Any, kind: Node) -> Node:
    """A value in Spark's internal form as a constant of a type."""
    if value is None or kind.typeName() in ("struct", "array"):
        return jvm.expressions.Literal(value, kind)
    return jvm.cast(jvm.literal(value), kind)
