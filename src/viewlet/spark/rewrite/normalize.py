"""The final form of an optimized plan, with only operators that are meaningful for a bag of rows.

Orders without a limit, repartitionings, hints and names are removed. A chain of limits and offsets over a sort becomes
LIMIT over OFFSET over Sort, with projections above it instead of inside.
"""

from __future__ import annotations

from viewlet.spark.rewrite.stabilize import LIMITS
from viewlet.spark.rewrite.ties import tie_breakers
from viewlet.spark.session.jvm import Jvm, Node, children, class_of, items, rebuild, subplans, walk

VANISHING = (
    "Sort", "Repartition", "RepartitionByExpression", "RebalancePartitions", "ResolvedHint", "SubqueryAlias", "View",
    "CollectMetrics", "WindowGroupLimit", "ReturnAnswer", "LocalLimit",
)  # fmt: skip


def normalize(jvm: Jvm, plan: Node) -> Node:
    """A plan in its final form, with the same columns."""
    kind = class_of(plan)
    if kind in ("GlobalLimit", "Offset"):
        return normalize_limits(jvm, plan)
    if kind in VANISHING:
        return normalize(jvm, plan.child())
    parts = [normalize(jvm, part) for part in (*children(plan), *subplans(plan))]
    plan = rebuild(jvm, plan, parts) if parts else plan
    return only_values(jvm, plan) or plan


def only_values(jvm: Jvm, plan: Node) -> Node | None:
    """`first` as `sum` or `max`, where Spark's rewrite of several DISTINCT takes the only value of a group."""
    if class_of(plan) != "Aggregate" or not any(
        is_first(e) for r in items(plan.aggregateExpressions()) for e in walk(r)
    ):
        return None

    def rule(expr: Node) -> Node | None:
        if not is_first(expr) or not jvm.is_orderable(expr):
            return None
        value = expr.aggregateFunction().child()
        if not is_number(value):
            return jvm.reduce(jvm.aggregate.Max(value), where=expr.filter())
        total = jvm.reduce(jvm.aggregate.Sum(value), where=expr.filter())
        return total if total.dataType().equals(expr.dataType()) else jvm.cast(total, expr.dataType())

    return plan.transformExpressions(jvm.rule(rule))


def is_number(expr: Node) -> bool:
    name: str = expr.dataType().typeName()
    return name.split("(")[0] in ("byte", "short", "integer", "long", "float", "double", "decimal")


def is_first(expr: Node) -> bool:
    return class_of(expr) == "AggregateExpression" and class_of(expr.aggregateFunction()) == "First"


def normalize_limits(jvm: Jvm, plan: Node) -> Node:
    """A chain of limits and offsets as one of each, over its sort; projections in between move to the top."""
    start, end, projections = 0, None, []
    chain = []
    while class_of(plan) in (*LIMITS, "Project") or class_of(plan) in VANISHING[1:]:
        chain.append(plan)
        plan = plan.child()
    for step in reversed(chain):
        match class_of(step):
            case "Offset":
                start += count_of(step.offsetExpr())
            case "GlobalLimit":
                limit = start + count_of(step.limitExpr())
                end = limit if end is None else min(end, limit)
            case "Project":
                projections.append(items(step.projectList()))
    rows = limited(jvm, sorted_rows(jvm, plan), start, end)
    for projection in projections:
        rows = jvm.project(projection, rows)
    return rows


def count_of(expr: Node) -> int:
    """The number in LIMIT or OFFSET, which is a constant."""
    return int(expr.eval(None))


def sorted_rows(jvm: Jvm, plan: Node) -> Node:
    """The sorted rows under a limit: by the given sort, or else by all columns."""
    if class_of(plan) == "Sort":
        return plan.withNewChildren(jvm.seq([normalize(jvm, plan.child())]))
    rows = normalize(jvm, plan)
    return jvm.sort(tie_breakers(jvm, rows, []), rows)


def limited(jvm: Jvm, plan: Node, start: int, end: int | None) -> Node:
    """The rows of a sorted plan between two positions."""
    if start:
        plan = jvm.logical.Offset(jvm.literal(start), plan)
    if end is None:
        return plan
    count = jvm.literal(max(0, end - start))
    return jvm.logical.GlobalLimit(count, jvm.logical.LocalLimit(count, plan))
