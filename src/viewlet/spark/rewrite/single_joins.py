"""Joins with at most one partner, from correlated scalar subqueries, as joins of the algebra.

Spark's LeftSingle join is a left outer join that fails if a row has two partners. Grouping the right side by the join
keys first, with a count beside its values, is equivalent: the count tells where to fail.
"""

from __future__ import annotations

from viewlet.spark.session.jvm import Jvm, Node, class_of, conjuncts, items, same_expr

ERROR = "SCALAR_SUBQUERY_TOO_MANY_ROWS"


def count_partners(jvm: Jvm, node: Node) -> Node | None:
    """A LeftSingle join on equalities as a left outer join with counted groups; None for anything else."""
    if class_of(node) != "Join" or class_of(node.joinType()) != "LeftSingle$" or node.condition().isEmpty():
        return None
    right = items(node.right().output())
    keys = [k for term in conjuncts(node.condition().get()) for k in key_in(term, right)]
    values = [c for c in right if not any(same_expr(c, k) for k in keys)]
    if not keys or not is_on_keys(node, keys) or not all(jvm.is_orderable(v) for v in values):
        return None
    count = jvm.alias(jvm.reduce(jvm.aggregate.Count(jvm.seq([jvm.literal(1)]))), "_partners")
    found = [jvm.alias(jvm.reduce(jvm.aggregate.Min(v)), v.name()) for v in values]
    groups = jvm.aggregate_by(keys, [*keys, count, *found], node.right())
    joined = jvm.join(node.left(), groups, jvm.join_kind("LeftOuter"), node.condition().get())
    checked = {str(v.exprId()): single(jvm, v, f, count) for v, f in zip(values, found, strict=True)}
    return jvm.project([checked.get(str(c.exprId()), c) for c in items(node.output())], joined)


def key_in(term: Node, columns: list[Node]) -> list[Node]:
    """The side of an equality that is a column of the right input."""
    if class_of(term) not in ("EqualTo", "EqualNullSafe"):
        return []
    return [side for side in (term.left(), term.right()) if any(same_expr(side, c) for c in columns)][:1]


def is_on_keys(node: Node, keys: list[Node]) -> bool:
    """Whether the condition reads only keys of the right input, one in each equality."""
    terms = conjuncts(node.condition().get())
    used = [c for c in items(node.right().output()) if any(t.references().contains(c) for t in terms)]
    return len(terms) == len(keys) and all(any(same_expr(c, k) for k in keys) for c in used)


def single(jvm: Jvm, column: Node, found: Node, count: Node) -> Node:
    """The value of the only partner; an error if there are several."""
    several = jvm.expressions.GreaterThan(count.toAttribute(), jvm.bigint(1))
    no_parameters = jvm.expressions.CreateMap(jvm.seq([]), True)
    error = jvm.expressions.RaiseError(jvm.literal(ERROR), no_parameters, column.dataType())
    value = jvm.expressions.If(several, error, found.toAttribute())
    return jvm.alias(value, column.name(), column.exprId())
