"""Lifting subqueries out of expressions: an uncorrelated scalar subquery becomes one side of a join.

A subquery of at most one row, used as a value, is equivalent to a cross join with it: inner if it has exactly one row,
left outer if it may have none (its value is then NULL). Correlated ones, which Spark has made joins with at most one
partner, become ordinary joins (`single_joins.py`). If Spark cannot prove that there is one row, the subquery stays in
the expression, and only Spark can run the operator around it.
"""

from __future__ import annotations

from collections.abc import Sequence

from viewlet.spark.rewrite.single_joins import count_partners
from viewlet.spark.session.jvm import (
    Jvm,
    Node,
    children,
    class_of,
    conjunction,
    conjuncts,
    copy_with,
    is_subquery,
    items,
    rebuild,
    same_expr,
    subplans,
    walk,
)  # fmt: skip

ROWS_KEPT = ("Project", "Sort", "SubqueryAlias", "Repartition", "RepartitionByExpression", "GlobalLimit", "LocalLimit")
"""Operators that preserve a single row (limits of a single row are never zero in an optimized plan)."""


def lift(jvm: Jvm, plan: Node) -> Node:
    """An optimized plan with its scalar subqueries as joins, reading no more columns than before."""
    lifted = lift_all(jvm, plan)
    return lifted if lifted.fastEquals(plan) else tidy(jvm, lifted)


def tidy(jvm: Jvm, plan: Node) -> Node:
    """The plan without columns that lifting added needlessly."""
    return jvm.apply_rules(plan, ("ColumnPruning", "CollapseProject", "RemoveNoopOperators", "ConstantFolding"))


def lift_all(jvm: Jvm, plan: Node) -> Node:
    """A plan with joins in place of the subqueries in its operators' expressions."""
    plan = rebuild(jvm, plan, [lift_all(jvm, part) for part in (*children(plan), *subplans(plan))])
    found = liftable(plan)
    if not found:
        return count_partners(jvm, plan) or plan
    if class_of(plan) == "Aggregate":
        return lift_from_aggregate(jvm, plan)
    if class_of(plan) == "Filter":
        return lift_from_filter(jvm, plan, found)
    if class_of(plan) == "Join" or len(children(plan)) == 1:
        return lift_into(jvm, plan, found)
    return plan


def count_instead(jvm: Jvm, plan: Node) -> Node:
    """An analysed plan with uncorrelated EXISTS as counts, which are cheaper to maintain than a LIMIT 1."""
    if ".Exists" not in plan.toJSON():
        return plan
    return plan.transformAllExpressionsWithSubqueries(jvm.rule(lambda e: count_rows(jvm, e)))


def count_rows(jvm: Jvm, expr: Node) -> Node | None:
    """An uncorrelated EXISTS as count(1) > 0."""
    if class_of(expr) != "Exists" or children(expr):
        return None
    count = jvm.reduce(jvm.aggregate.Count(jvm.seq([jvm.literal(1)])))
    some = jvm.alias(jvm.expressions.GreaterThan(count, jvm.bigint(0)), "exists")
    plan = jvm.aggregate_by([], [some], expr.plan())
    return jvm.scalar_subquery(plan, expr.exprId())


def liftable(plan: Node) -> list[Node]:
    """The distinct scalar subqueries of at most one row in an operator's expressions."""
    found: list[Node] = []
    if plan.subqueries().isEmpty():
        return found
    for root in items(plan.expressions()):
        for expr in walk(root):
            if is_liftable(expr) and not any(same_expr(expr, f) for f in found):
                found.append(expr)
    return found


def is_liftable(expr: Node) -> bool:
    if class_of(expr) != "ScalarSubquery" or not expr.outerAttrs().isEmpty():
        return False
    limit = expr.plan().maxRows()
    return bool(limit.isDefined()) and limit.get() <= 1


def has_one_row(plan: Node) -> bool:
    """Whether a plan always returns exactly one row."""
    while class_of(plan) in ROWS_KEPT:
        plan = plan.child()
    return (class_of(plan) == "Aggregate" and plan.groupingExpressions().isEmpty()) or class_of(
        plan
    ) == "OneRowRelation"


def join_subqueries(jvm: Jvm, rows: Node, subqueries: Sequence[Node]) -> Node:
    """Every row, with the values of some subqueries beside it."""
    for subquery in subqueries:
        kind = jvm.join_kind("Inner" if has_one_row(subquery.plan()) else "LeftOuter")
        rows = jvm.join(rows, subquery.plan(), kind, None)
    return rows


def lift_into(jvm: Jvm, plan: Node, found: list[Node]) -> Node:
    """An operator whose first input carries the subqueries' values, which its output drops."""
    first, *others = children(plan)
    lifted = replace_in(jvm, plan, found).withNewChildren(jvm.seq([join_subqueries(jvm, first, found), *others]))
    return lifted if class_of(plan) in ("Project", "Aggregate") else jvm.logical.Project(plan.output(), lifted)


def lift_from_filter(jvm: Jvm, plan: Node, found: list[Node]) -> Node:
    """A filter split in two: terms without subqueries are evaluated first."""
    terms = conjuncts(plan.condition())
    early = [t for t in terms if not any(is_subquery(e) for e in walk(t))]
    late = [t for t in terms if not any(t.equals(e) for e in early)]
    rows = jvm.logical.Filter(conjunction(jvm, early), plan.child()) if early else plan.child()
    return lift_into(jvm, jvm.logical.Filter(conjunction(jvm, late), rows), found)


def replace_in(jvm: Jvm, plan: Node, found: list[Node]) -> Node:
    """An operator that reads the subqueries' values as columns."""
    return plan.transformExpressions(jvm.rule(lambda e: column_of(e, found)))


def column_of(expr: Node, found: list[Node]) -> Node | None:
    """The column that holds a subquery's value."""
    if class_of(expr) != "ScalarSubquery":
        return None
    return next((f.plan().output().head() for f in found if same_expr(expr, f)), None)


def lift_from_aggregate(jvm: Jvm, plan: Node) -> Node:
    """Subqueries inside aggregate functions are joined below the Aggregate, others above it."""
    results = items(plan.aggregateExpressions())
    around = [r for r in results if is_around(r)]
    if not around:
        return lift_into(jvm, plan, liftable(plan))
    calls = [jvm.alias(c, "_call") for c in calls_in(around)]
    plain = [r for r in results if not is_around(r)]
    columns = [k for k in items(plan.groupingExpressions()) if class_of(k) == "AttributeReference"]
    keys = [k for k in columns if not any(same_expr(k, r) for r in plain)]
    inner = copy_with(jvm, plan, {1: jvm.seq([*plain, *calls, *keys])})
    if found := liftable(inner):
        inner = lift_into(jvm, inner, found)
    above = [over_calls(jvm, r, calls) if is_around(r) else r.toAttribute() for r in results]
    outer = jvm.project(above, inner)
    return lift_into(jvm, outer, liftable(outer))


def is_around(expr: Node) -> bool:
    """Whether an expression reads a subquery outside its aggregate functions."""
    if class_of(expr) == "AggregateExpression":
        return False
    return is_liftable(expr) or any(is_around(child) for child in children(expr))


def calls_in(exprs: list[Node]) -> list[Node]:
    """The distinct aggregate calls in some expressions."""
    found: list[Node] = []
    for call in (e for root in exprs for e in walk(root) if class_of(e) == "AggregateExpression"):
        if not any(same_expr(call, f) for f in found):
            found.append(call)
    return found


def over_calls(jvm: Jvm, result: Node, calls: list[Node]) -> Node:
    """A result that reads the values of aggregate calls as columns."""

    def rule(expr: Node) -> Node | None:
        if class_of(expr) != "AggregateExpression":
            return None
        return next((c.toAttribute() for c in calls if same_expr(c.child(), expr)), None)

    return result.transform(jvm.rule(rule))
