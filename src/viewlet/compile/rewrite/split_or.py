"""Semi and anti joins with OR, or with no condition between the sides, as joins on equalities.

With p ∨ q, a row has a partner if it has one by p or, failing that, one by q:

    L ⋉[p ∨ q] R  =  L ⋉[p] R  ∪  (L ▷[p] R) ⋉[q] R          L ▷[p ∨ q] R  =  (L ▷[p] R) ▷[q] R

A condition on one side alone only asks whether the other side has rows: both sides get an equal constant.
"""

from __future__ import annotations

from viewlet.compile.abilities import Abilities
from viewlet.compile.ring.existence import Matching
from viewlet.plan.expr import Call, Column, Expr, Literal, Named, columns_of, conjunction, conjuncts
from viewlet.plan.nodes import Join, Plan, Project, Union, map_children, names
from viewlet.plan.types import BOOLEAN, INT, Field

_LEFT, _RIGHT = Field("_any_left", INT, False), Field("_any_right", INT, False)
MOST = 4
"""Joins with more alternatives are left as they are, since each needs an index of the other side."""


def split_or(plan: Plan, abilities: Abilities) -> Plan:
    """Rewrite every semi and anti join that has no key as it stands, but gets one by these laws."""
    plan = map_children(plan, lambda child: split_or(child, abilities))
    if not isinstance(plan, Join) or plan.kind not in ("semi", "anti") or Matching.of(plan) is not None:
        return plan
    if any(map(abilities.can_fail, conjuncts(plan.condition))):  # which of them fail depends on which are evaluated
        return plan
    alternatives = _alternatives(plan)
    if any(_keyed(plan, plan.left, plan.kind, condition) is None for condition in alternatives):
        return plan
    return _joined(plan, alternatives)


def _alternatives(plan: Join) -> list[Expr | None]:
    """The conditions any of which makes a partner: the ORs that connect the sides, expanded."""
    made: list[tuple[Expr, ...]] = [()]
    for term in conjuncts(plan.condition):
        choices = _choices(term) if _connects(term, plan) else [term]
        made = [(*before, choice) for before in made for choice in choices]
    return [conjunction(terms) for terms in made] if len(made) <= MOST else [plan.condition]


def _choices(term: Expr) -> list[Expr]:
    match term:
        case Call("or", (p, q)):
            return [*_choices(p), *_choices(q)]
    return [term]


def _connects(term: Expr, plan: Join) -> bool:
    return not any(columns_of(term) <= set(names(side)) for side in (plan.left, plan.right))


def _joined(plan: Join, alternatives: list[Expr | None]) -> Plan:
    """The rows with a partner by one of the alternatives, or, for an anti join, by none."""
    found: list[Plan] = []
    left: Plan | None = plan.left
    for condition in alternatives:
        assert left is not None
        found += filter(None, [_keyed(plan, left, "semi", condition)])
        left = _keyed(plan, left, "anti", condition)
    assert left is not None
    if plan.kind == "anti":
        return left
    return found[0] if len(found) == 1 else Union(tuple(found), plan.columns, origin=plan.origin)


def _keyed(plan: Join, left: Plan, kind: str, condition: Expr | None) -> Plan | None:
    """The join by one alternative, if it has an equality or nothing connects its sides; else None."""
    join = Join(left, plan.right, kind, condition, plan.columns, origin=plan.origin)
    if Matching.of(join) is not None:
        return join
    return None if any(_connects(term, plan) for term in conjuncts(condition)) else _by_constant(join)


def _by_constant(plan: Join) -> Plan:
    """A join with no condition between the sides, on a constant."""
    left, right = _marked(plan.left, _LEFT), _marked(plan.right, _RIGHT)
    same = Call("eq", (Column(_LEFT.name, INT), Column(_RIGHT.name, INT)), BOOLEAN)
    condition = conjunction((*conjuncts(plan.condition), same))
    joined = Join(left, right, plan.kind, condition, left.columns)
    return Project(joined, tuple(Named(f.name, Column(f.name, f.type)) for f in plan.columns), plan.columns)


def _marked(rows: Plan, mark: Field) -> Plan:
    """Rows with a constant column."""
    kept = tuple(Named(f.name, Column(f.name, f.type)) for f in rows.columns)
    return Project(rows, (*kept, Named(mark.name, Literal(1, INT))), (*rows.columns, mark))
