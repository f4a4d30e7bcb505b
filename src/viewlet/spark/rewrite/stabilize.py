"""Making results deterministic where Spark leaves them open, always choosing one that Spark could have returned.

LIMIT among ties, the row that DISTINCT ON keeps, the order inside `collect_list`, `row_number` of equal rows: Spark's
own result depends on the physical layout of the data. Here the analysed plan gets an order by all columns, so that
every run and both engines agree. The rewritten plan has the same output columns (the same ids) as the original one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from viewlet.spark.rewrite.stabilize_aggregates import OPEN_AGGREGATES, choose_rows, settle_aggregate
from viewlet.spark.rewrite.stabilize_percentiles import settle_percentiles
from viewlet.spark.rewrite.stabilize_windows import settle_window
from viewlet.spark.rewrite.ties import tie_breakers
from viewlet.spark.session.handles import plan_of
from viewlet.spark.session.jvm import Jvm, Node, class_of, copy_with, items, same_expr

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LIMITS = ("GlobalLimit", "LocalLimit", "Offset")
KEEP_ORDER = ("Project", "Filter", "SubqueryAlias", "View", "ResolvedHint")
"""Operators that preserve the order of rows."""

_CONCERNED = re.compile(rf'"[\w.]+\.({"|".join((*LIMITS, *OPEN_AGGREGATES, "Deduplicate", "Window"))})"')


def stabilize(jvm: Jvm, plan: Node) -> Node:
    """An analysed plan with a deterministic result."""
    text = plan.toJSON()
    if '.ApproximatePercentile"' in text:
        plan = settle_percentiles(jvm, plan)
    if not _CONCERNED.search(text):
        return plan
    return plan.transformUpWithSubqueries(jvm.rule(lambda node: settle(jvm, node)))


def stable(frame: DataFrame) -> DataFrame:
    """A query with a deterministic result."""
    jvm = Jvm(frame.sparkSession)
    return jvm.frame(stabilize(jvm, plan_of(frame)))


def settle(jvm: Jvm, node: Node) -> Node | None:
    """One operator made deterministic; None if it is already."""
    match class_of(node):
        case "GlobalLimit" | "LocalLimit" | "Offset":
            return settle_limit(jvm, node)
        case "Deduplicate":
            return settle_duplicates(jvm, node)
        case "Aggregate":
            return settle_aggregate(jvm, node)
        case "Window":
            return settle_window(jvm, node)
    return None


def settle_limit(jvm: Jvm, node: Node) -> Node | None:
    """LIMIT and OFFSET over a total order: the query's own, then all columns."""
    if class_of(node.child()) in LIMITS:
        return None
    if _hides_order(node.child()):
        lower = node.withNewChildren(node.child().children())
        return node.child().withNewChildren(jvm.seq([settle_limit(jvm, lower) or lower]))
    return node.withNewChildren(jvm.seq([total_order(jvm, node.child())]))


def _hides_order(plan: Node) -> bool:
    """Whether a projection is between LIMIT and its order in a correlated subquery.

    Spark turns that LIMIT into a `row_number`, with an order only if the operator directly below has one.
    """
    return class_of(plan) == "Project" and is_sorted(plan) and "OuterReference" in plan.toJSON()


def total_order(jvm: Jvm, plan: Node) -> Node:
    """The same rows, sorted so that different rows are never tied."""
    kind = class_of(plan)
    if is_global_sort(plan):
        order = items(plan.order())
        return copy_with(
            jvm, plan, {0: jvm.seq([*order, *tie_breakers(jvm, plan.child(), [o.child() for o in order])])}
        )
    if kind in KEEP_ORDER and is_sorted(plan):
        return plan.withNewChildren(jvm.seq([total_order(jvm, plan.child())]))
    if kind in LIMITS:
        return plan
    return jvm.sort(tie_breakers(jvm, plan, []), plan)


def is_sorted(plan: Node) -> bool:
    """Whether a plan's rows are in an order that the query asked for."""
    while class_of(plan) in KEEP_ORDER:
        plan = plan.child()
    return is_global_sort(plan) or class_of(plan) in LIMITS


def is_global_sort(plan: Node) -> bool:
    """Whether a plan is an ORDER BY, not a sort within Spark's partitions."""
    return class_of(plan) == "Sort" and bool(getattr(plan, "global")())


def settle_duplicates(jvm: Jvm, node: Node) -> Node | None:
    """dropDuplicates: for each key the first row by its other columns, all from the same row."""
    keys, child = items(node.keys()), node.child()
    output = items(child.output())
    others = [c for c in output if not any(same_expr(c, k) for k in keys)]
    if not others:
        return None
    chosen = dict(zip(map(_id, others), choose_rows(jvm, others), strict=True))
    results = [jvm.alias(chosen[_id(c)], c.name(), c.exprId()) if _id(c) in chosen else c for c in output]
    return jvm.aggregate_by(keys or [jvm.literal(1)], results, child)


def _id(attribute: Node) -> str:
    return str(attribute.exprId())
