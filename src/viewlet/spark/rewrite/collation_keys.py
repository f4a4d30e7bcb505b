"""Comparisons by collation as bytewise comparisons of the collation keys that Spark computes for strings.

Two strings are equal under a collation exactly when their keys have the same bytes, and the keys sort in its order. A
group by a collation is therefore a group by keys. Spark leaves open which of a group's strings represents it; here it
is the least. The result is maintained by key like anything else. A value that contains such strings has no key;
operators that compare those are left to Spark.
"""

from __future__ import annotations

import re

from viewlet.spark.rewrite.ties import is_collated, only_if
from viewlet.spark.session.jvm import Jvm, Node, children, class_of, items, same_expr

_EQUALITIES = ("EqualTo", "EqualNullSafe")
StandIns = list[tuple[Node, Node]]
"""Grouping expressions, each with its replacement in the results."""


def has_collations(plan: Node) -> bool:
    """Whether any string in a plan may be compared by a collation."""
    return re.search("collat", plan.toJSON(), re.IGNORECASE) is not None


def group_by_keys(jvm: Jvm, plan: Node) -> Node:
    """An analysed plan whose aggregates compare no strings by a collation."""
    if not has_collations(plan):
        return plan
    return plan.transformUpWithSubqueries(jvm.rule(lambda node: _aggregate(jvm, node)))


def join_by_keys(jvm: Jvm, plan: Node) -> Node:
    """An optimized plan whose joins are by keys too: Spark's own rule misses those that were subqueries."""
    if not has_collations(plan):
        return plan

    def join(node: Node) -> Node | None:
        return node.transformExpressions(jvm.rule(equality)) if class_of(node) == "Join" else None

    def equality(expr: Node) -> Node | None:
        if class_of(expr) not in _EQUALITIES or not all(map(has_key, children(expr))):
            return None
        return expr.withNewChildren(jvm.seq([_key(jvm, side) for side in children(expr)]))

    return plan.transformUp(jvm.rule(join))


def has_key(expr: Node) -> bool:
    """Whether an expression is a string with a collation."""
    return str(expr.dataType().simpleString()).startswith("string collate ")


def _key(jvm: Jvm, expr: Node) -> Node:
    return jvm.expressions.CollationKey(expr) if has_key(expr) else expr


def _text(jvm: Jvm, expr: Node) -> Node:
    """A string cast to one that is compared bytewise."""
    return jvm.cast(expr, jvm.data_type("string"))


def _aggregate(jvm: Jvm, node: Node) -> Node | None:
    """GROUP BY and DISTINCT, by keys."""
    if class_of(node) == "Distinct" and any(is_collated(c) for c in items(node.output())):
        node = jvm.aggregate_by(items(node.output()), items(node.output()), node.child())
    if class_of(node) != "Aggregate":
        return None
    keys = items(node.groupingExpressions())
    stand_ins = [(key, _least(jvm, key)) for key in keys if has_key(key)]
    results = [_result(jvm, result, stand_ins) for result in items(node.aggregateExpressions())]
    grouped = jvm.aggregate_by([_key(jvm, key) for key in keys], results, node.child())
    return grouped.transformExpressions(jvm.rule(lambda expr: _function(jvm, expr)))


def _least(jvm: Jvm, key: Node) -> Node:
    """The bytewise least string of a group."""
    return jvm.cast(jvm.reduce(jvm.aggregate.Min(_text(jvm, key))), key.dataType())


def _result(jvm: Jvm, result: Node, stand_ins: StandIns) -> Node:
    made = _with_stand_ins(jvm, result, stand_ins)
    is_named = class_of(result) != "AttributeReference" or made is result
    return made if is_named else jvm.alias(made, result.name(), result.exprId())


def _with_stand_ins(jvm: Jvm, expr: Node, stand_ins: StandIns) -> Node:
    """An expression over groups with keys replaced, except inside aggregate functions, which read rows."""
    if class_of(expr) == "AggregateExpression" or not stand_ins:
        return expr
    found = next((stand_in for key, stand_in in stand_ins if same_expr(expr, key)), None)
    if found is not None or not children(expr):
        return expr if found is None else found
    return expr.withNewChildren(jvm.seq([_with_stand_ins(jvm, part, stand_ins) for part in children(expr)]))


def _function(jvm: Jvm, expr: Node) -> Node | None:
    """count(DISTINCT), min and max, by keys."""
    if class_of(expr) != "AggregateExpression":
        return None
    function = expr.aggregateFunction()
    kind, args = class_of(function), children(function)
    if kind == "Count" and expr.isDistinct() and any(map(has_key, args)):
        counted = function.withNewChildren(jvm.seq([_key(jvm, arg) for arg in args]))
        return expr.withNewChildren(jvm.seq([counted, *children(expr)[1:]]))
    if kind in ("Min", "Max") and has_key(args[0]):
        both = only_if(jvm, args[0], jvm.struct([_key(jvm, args[0]), _text(jvm, args[0])]))
        first = jvm.reduce(getattr(jvm.aggregate, kind)(both), where=expr.filter())
        return jvm.cast(jvm.expressions.GetStructField(first, 1, jvm.none()), function.dataType())
    return None
