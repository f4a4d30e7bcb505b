"""Detaching subqueries from the expressions that read them, and attaching them again.

Java can write Spark's subquery expressions but not read them. A plan is therefore serialized as a union of itself, with
a column for every subquery, and of the subqueries' plans.
"""

from __future__ import annotations

from viewlet.spark.session.jvm import Jvm, Node, children, class_of, walk

PREFIX = "_subquery_"


def detach(jvm: Jvm, plan: Node) -> Node:
    """A plan and the plans of its scalar subqueries, side by side in a union."""
    if all(node.subqueries().isEmpty() for node in walk(plan)):
        return jvm.logical.Union(jvm.seq([plan]), False, False)
    plans, at = [plan], 0
    while at < len(plans):  # a subquery's plan may have subqueries itself
        plans[at] = plans[at].transformAllExpressions(jvm.rule(lambda e: _column_for(jvm, e, plans)))
        at += 1
    return jvm.logical.Union(jvm.seq(plans), False, False)


def _column_for(jvm: Jvm, expr: Node, plans: list[Node]) -> Node | None:
    if class_of(expr) != "ScalarSubquery":
        return None
    plans.append(expr.plan())
    return jvm.attribute(f"{PREFIX}{len(plans) - 1}", expr.dataType())


def attach(jvm: Jvm, carrier: Node) -> Node:
    """The plan with its subqueries back in their expressions."""
    plans = children(carrier)
    for at in reversed(range(len(plans) if len(plans) > 1 else 0)):
        plans[at] = plans[at].transformAllExpressions(jvm.rule(lambda e: _subquery_for(jvm, e, plans)))
    return plans[0]


def _subquery_for(jvm: Jvm, expr: Node, plans: list[Node]) -> Node | None:
    if class_of(expr) != "AttributeReference" or not str(expr.name()).startswith(PREFIX):
        return None
    plan = plans[int(str(expr.name()).removeprefix(PREFIX))]
    return jvm.scalar_subquery(plan)
