"""Spark's operators that run Python over whole partitions or groups, in a form that Java can serialize.

These operators keep a set of their columns that Java refuses to write. The rest of them fits into an Expand, which is
written instead and converted back when read.
"""

from __future__ import annotations

from viewlet.spark.session.jvm import Jvm, Node, children, class_of, items

PYTHON = {
    "MapInPandas": ("functionExpr", "output", "child", "isBarrier", "profile"),
    "MapInArrow": ("functionExpr", "output", "child", "isBarrier", "profile"),
    "FlatMapGroupsInPandas": ("groupingAttributes", "functionExpr", "output", "child"),
    "FlatMapGroupsInArrow": ("groupingAttributes", "functionExpr", "output", "child"),
}  # fmt: skip
"""Their constructors' parameters."""

MARK = "viewlet:"


def to_serializable(jvm: Jvm, plan: Node) -> Node:
    """A plan without operators that Java cannot write."""
    plan = _over(jvm, plan, [to_serializable(jvm, child) for child in children(plan)])
    kind = class_of(plan)
    if kind not in PYTHON:
        return plan
    groups = plan.groupingAttributes() if "groupingAttributes" in PYTHON[kind] else jvm.seq([])
    lists = [jvm.seq([jvm.literal(MARK + kind)]), jvm.seq([plan.functionExpr()]), groups]
    return jvm.logical.Expand(jvm.seq(lists), plan.output(), plan.child())


def from_serializable(jvm: Jvm, plan: Node) -> Node:
    """The inverse of `to_serializable`."""
    plan = _over(jvm, plan, [from_serializable(jvm, child) for child in children(plan)])
    kind = serializable_of(plan)
    if kind is None:
        return plan
    _, (function,), groups = (items(p) for p in items(plan.projections()))
    values = {
        "functionExpr": function, "groupingAttributes": jvm.seq(groups), "output": plan.output(), "child": plan.child(),
        "isBarrier": False, "profile": jvm.none(),
    }  # fmt: skip
    return getattr(jvm.logical, kind)(*(values[name] for name in PYTHON[kind]))


def serializable_of(plan: Node) -> str | None:
    """The operator that an Expand stands for."""
    if class_of(plan) != "Expand":
        return None
    first = plan.projections().head()
    if first.length() != 1 or class_of(first.head()) != "Literal":
        return None
    text = str(first.head().toString())
    return text.removeprefix(MARK) if text.startswith(MARK) else None


def _over(jvm: Jvm, plan: Node, parts: list[Node]) -> Node:
    return plan.withNewChildren(jvm.seq(parts)) if parts else plan
