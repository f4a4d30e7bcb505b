"""Joins that are not sums of products, regrouped by their keys.

Inner joins, and outer, semi and anti joins on equalities alone, are in the ring (calculus.py). The rest are joins with
conditions that only Spark evaluates, and outer, semi and anti joins on more than equalities.
"""

from __future__ import annotations

from viewlet.compile.build import Builder
from viewlet.compile.keyed.regroup import lower_keyed
from viewlet.plan.expr import Call, Expr, columns_of, conjunction, conjuncts
from viewlet.plan.nodes import Filter, Join, Plan, names
from viewlet.program.terms import Term

_LAST_PARTNER = "{} join: a change may add a row's first partner, or remove its last"


def lower_join(build: Builder, plan: Join, top: Plan) -> tuple[Term, ...]:
    """The delta of a join that is not in the ring."""
    if plan.kind != "inner":
        return _lower_keyed_join(build, plan, _LAST_PARTNER.format(plan.kind), top)
    if (why := build.abilities.expressions(conjuncts(plan.condition))) is not None:
        return _lower_keyed_join(build, plan, why, top)
    return build.lower(late(build, plan))


def late(build: Builder, plan: Join) -> Filter:
    """A join with the conditions that can fail tested in a filter above it, on rows that really exist."""
    terms = conjuncts(plan.condition)
    fails = tuple(c for c in terms if build.abilities.can_fail(c))
    condition = conjunction(fails)
    assert condition is not None, f"{plan} belongs in the ring"
    rest = conjunction(tuple(c for c in terms if c not in fails))
    joined = Join(plan.left, plan.right, plan.kind, rest, plan.columns, origin=plan.origin)
    return Filter(joined, condition, origin=plan.origin)


def _lower_keyed_join(build: Builder, plan: Join, why: str, top: Plan) -> tuple[Term, ...]:
    left, right = equal_keys(plan)
    if not left:
        why += "; no equality provides a key"
    return lower_keyed(build, plan, (plan.left, plan.right), (left, right), why, top=top)


def equal_keys(plan: Join) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """The two sides of the equalities in a join's condition."""
    left, right = frozenset(names(plan.left)), frozenset(names(plan.right))
    pairs: list[tuple[Expr, Expr]] = []
    for term in conjuncts(plan.condition):
        match term:
            case Call("eq" | "eq_null_safe", (a, b)) if columns_of(a) and columns_of(b):
                if columns_of(a) <= left and columns_of(b) <= right:
                    pairs.append((a, b))
                elif columns_of(a) <= right and columns_of(b) <= left:
                    pairs.append((b, a))
            case _:
                pass
    return tuple(a for a, _ in pairs), tuple(b for _, b in pairs)
