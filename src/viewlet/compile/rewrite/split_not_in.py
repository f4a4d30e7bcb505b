"""NOT IN, with possible NULLs on either side, as anti joins on equalities.

    x NOT IN (R.y)   keeps a row of L unless x = y is true or NULL for some row of R

so a row with an x stays if no y is equal or NULL, and a row without x stays if R is empty:

    (σ[x IS NOT NULL](L) ▷[x = y] R ▷ σ[y IS NULL](R))  ∪  (σ[x IS NULL](L) ▷ R)

An anti join without a condition becomes one on a constant, since it only matters whether its other side has rows.
"""

from __future__ import annotations

from viewlet.compile.abilities import Abilities
from viewlet.plan.expr import Call, Column, Expr, Literal, Named, columns_of
from viewlet.plan.nodes import Filter, Join, Plan, Project, Union, map_children, names
from viewlet.plan.types import BOOLEAN, INT, Field

_LEFT, _RIGHT = Field("_in_left", INT, False), Field("_in_right", INT, False)


def split_not_in(plan: Plan, abilities: Abilities) -> Plan:
    """Rewrite every NOT IN of the plan whose anti join has no other condition."""
    plan = map_children(plan, lambda child: split_not_in(child, abilities))
    match plan:
        case Join(kind="anti", condition=Call("or", (Call("eq", (a, b)) as equal, Call("is_null", (tested,))))):
            if equal != tested or abilities.expressions([equal]) is not None:
                return plan
            for x, y in ((a, b), (b, a)):
                if columns_of(x) <= set(names(plan.left)) and columns_of(y) <= set(names(plan.right)) and columns_of(y):
                    return _split(plan, x, y, equal)
        case _:
            pass
    return plan


def _split(plan: Join, x: Expr, y: Expr, equal: Expr) -> Plan:
    known, unknown = Filter(plan.left, _call("is_not_null", x)), Filter(plan.left, _call("is_null", x))
    apart = Join(known, plan.right, "anti", equal, plan.columns)
    without_null = _unless_any(apart, Filter(plan.right, _call("is_null", y)))
    return Union((without_null, _unless_any(unknown, plan.right)), plan.columns, origin=plan.origin)


def _call(function: str, of: Expr) -> Call:
    return Call(function, (of,), BOOLEAN)


def _unless_any(rows: Plan, others: Plan) -> Plan:
    """All rows if there are no others, else none."""
    kept = tuple(Named(f.name, Column(f.name, f.type)) for f in rows.columns)
    one = Literal(1, INT)
    left = Project(rows, (*kept, Named(_LEFT.name, one)), (*rows.columns, _LEFT))
    right = Project(others, (Named(_RIGHT.name, one),), (_RIGHT,))
    same = Call("eq", (Column(_LEFT.name, INT), Column(_RIGHT.name, INT)), BOOLEAN)
    return Project(Join(left, right, "anti", same, left.columns), kept, rows.columns)
