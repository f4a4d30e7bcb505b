"""Separating user-defined aggregates from built-in ones, since Spark cannot run both in one operator.

    γ[k; f, u](Q) = γ[k; f](Q) ⋈[k <=> k] γ[k; u](Q)

Over no rows, a built-in aggregate without keys has a row and a user-defined one has none; its result is then NULL.
"""

from __future__ import annotations

from collections.abc import Sequence

from viewlet.spark.rewrite.lift_subqueries import calls_in
from viewlet.spark.session.jvm import Jvm, Node, class_of, conjunction, items, same_expr


def separate_users(jvm: Jvm, plan: Node) -> Node:
    """A plan in which no Aggregate has functions of both kinds."""
    if "PythonUDAF" not in plan.toJSON():
        return plan
    return plan.transformUpWithSubqueries(jvm.rule(lambda node: separate(jvm, node)))


def separate(jvm: Jvm, node: Node) -> Node | None:
    """An Aggregate with both kinds as a join of two; None for anything else."""
    if class_of(node) != "Aggregate":
        return None
    results = items(node.aggregateExpressions())
    calls = calls_in(results)
    users = [c for c in calls if class_of(c.aggregateFunction()) == "PythonUDAF"]
    others = [c for c in calls if not any(c is u for u in users)]
    return join_of(jvm, node, results, others, users) if users and others else None


def join_of(jvm: Jvm, node: Node, results: list[Node], others: list[Node], users: list[Node]) -> Node:
    """Two aggregates over the same rows, joined by key, and the results over both."""
    keys = items(node.groupingExpressions())
    halves = [[jvm.alias(e, "_part") for e in (*keys, *calls)] for calls in (others, users)]
    left, right = (jvm.aggregate_by(keys, named, node.child()) for named in halves)
    pairs = list(zip(halves[0][: len(keys)], halves[1], strict=False))
    same = [jvm.expressions.EqualNullSafe(a.toAttribute(), b.toAttribute()) for a, b in pairs]
    joined = jvm.join(
        left, right, jvm.join_kind("Inner" if keys else "LeftOuter"), conjunction(jvm, same) if same else None
    )
    known = [*zip((*keys, *others), halves[0], strict=True), *zip(users, halves[1][len(keys) :], strict=True)]
    return jvm.project([over(jvm, r, known) for r in results], joined)


def over(jvm: Jvm, result: Node, known: Sequence[tuple[Node, Node]]) -> Node:
    """A result that reads keys and calls as columns, under its own name and id."""

    def rule(expr: Node) -> Node | None:
        return next((named.toAttribute() for e, named in known if same_expr(e, expr)), None)

    value = result.child() if class_of(result) == "Alias" else result
    return jvm.alias(value.transform(jvm.rule(rule)), result.name(), result.exprId())
