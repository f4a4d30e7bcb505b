"""Conjuncts that cannot fail are evaluated first.

Spark leaves open in which order it evaluates the terms of a condition: whether `c / d > 1 AND d <> 0` fails on a row
with d = 0 depends on which term is pushed into the scan. Of the possible outcomes, we choose the one that does not
fail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from viewlet.spark.session.handles import plan_of
from viewlet.spark.session.jvm import Jvm, Node, children, class_of, conjunction, conjuncts, copy_with

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

HARMLESS = frozenset(
    ("AttributeReference", "OuterReference", "Literal", "EqualTo", "EqualNullSafe", "LessThan", "LessThanOrEqual",
     "GreaterThan", "GreaterThanOrEqual", "And", "Or", "Not", "IsNull", "IsNotNull", "IsNaN", "In", "InSet", "StartsWith",
     "EndsWith", "Contains", "Like", "RLike", "Upper", "Lower", "Length", "Substring", "StringTrim", "Coalesce", "If",
     "CaseWhen", "KnownNotNull", "KnownFloatingPointNormalized", "NormalizeNaNAndZero", "GetStructField", "Year", "Month")
)  # fmt: skip
"""Expressions that fail on no value."""

_CONDITION_AT = {"Filter": 0, "Join": 3}


def ask_harmless_first(jvm: Jvm, plan: Node) -> Node:
    """A plan whose conditions fail only on rows that satisfy all of their harmless terms."""
    return plan.transformUpWithSubqueries(jvm.rule(lambda node: _in_order(jvm, node)))


def careful(frame: DataFrame) -> DataFrame:
    """The same query with the terms of its conditions reordered."""
    jvm = Jvm(frame.sparkSession)
    return jvm.frame(ask_harmless_first(jvm, jvm.optimized(plan_of(frame))))


def _in_order(jvm: Jvm, node: Node) -> Node | None:
    """A filter or join with harmless terms first; None for other operators, and if they are so already."""
    kind = class_of(node)
    if kind not in _CONDITION_AT or (kind == "Join" and node.condition().isEmpty()):
        return None
    terms = conjuncts(node.condition().get() if kind == "Join" else node.condition())
    ordered = sorted(terms, key=lambda term: not _is_harmless(jvm, term)) if len(terms) > 1 else terms
    if all(a is b for a, b in zip(terms, ordered, strict=True)):
        return None
    condition = conjunction(jvm, ordered)
    return copy_with(jvm, node, {_CONDITION_AT[kind]: jvm.some(condition) if kind == "Join" else condition})


def _is_harmless(jvm: Jvm, expr: Node) -> bool:
    if class_of(expr) == "Cast" and not jvm.can_fail_to_cast(expr):
        return _is_harmless(jvm, expr.child())
    return class_of(expr) in HARMLESS and all(_is_harmless(jvm, child) for child in children(expr))
