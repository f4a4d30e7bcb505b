"""The conditions of semi, anti and outer joins for which existence of partners is a product (calculus.py)."""

from __future__ import annotations

from dataclasses import dataclass

from viewlet.plan.expr import Call, Column, Expr, Reduce, columns_of, conjuncts
from viewlet.plan.nodes import Join, names
from viewlet.plan.types import BOOLEAN

_SIGNS = {"lt": ("lt", True), "le": ("le", True), "gt": ("lt", False), "ge": ("le", False)}
"""Inequalities as `lt` or `le`, and whether the first side is then the lesser one."""


@dataclass(frozen=True)
class Inequality:
    """An inequality, `lt` or `le`, between an expression of our own side and one of the other side."""

    function: str
    own: Expr
    other: Expr
    own_is_less: bool

    def condition(self, other: Expr | None = None) -> Expr:
        """The inequality, with `other` in place of the other side if given."""
        sides = (self.own, other or self.other)
        return Call(self.function, sides if self.own_is_less else sides[::-1], BOOLEAN)

    def swapped(self) -> Inequality:
        return Inequality(self.function, self.other, self.own, not self.own_is_less)

    def extreme(self) -> Reduce:
        """The value of the other side that every row with a partner matches."""
        return Reduce("max" if self.own_is_less else "min", (self.other,), self.other.type)


@dataclass(frozen=True)
class Matching:
    """A join condition whose terms between the sides are equalities and at most one inequality."""

    pairs: tuple[tuple[str, Expr, Expr], ...]
    """The function (`eq` or `eq_null_safe`), the left side and the right side."""
    left: tuple[Expr, ...] = ()
    right: tuple[Expr, ...] = ()
    inequality: Inequality | None = None

    @property
    def connecting(self) -> list[Expr]:
        """The conditions between the sides."""
        return [Call(f, (a, b), BOOLEAN) for f, a, b in self.pairs] + (
            [self.inequality.condition()] if self.inequality else []
        )

    def swapped(self) -> Matching:
        """The same with the sides swapped."""
        inequality = None if self.inequality is None else self.inequality.swapped()
        return Matching(tuple((f, b, a) for f, a, b in self.pairs), self.right, self.left, inequality)

    @staticmethod
    def of(plan: Join) -> Matching | None:
        """The matching of a join; None if its condition has another form."""
        left, right = frozenset(names(plan.left)), frozenset(names(plan.right))
        present = {f.name for f in (*plan.left.columns, *plan.right.columns) if not f.nullable}
        pairs, sides, inequalities = [], ([], []), []  # type: ignore[var-annotated]
        for term in conjuncts(plan.condition):
            term = _without_null(term, present)
            needed = columns_of(term)
            match term:
                case _ if needed <= left:
                    sides[0].append(term)
                case _ if needed <= right:
                    sides[1].append(term)
                case Call("eq" | "eq_null_safe" as function, (a, b)) if (
                    swapped := _is_swapped(a, b, left, right)
                ) is not None:
                    pairs.append((function, b, a) if swapped else (function, a, b))
                case Call(function, (a, b)) if function in _SIGNS and a.type.is_sortable:
                    if (swapped := _is_swapped(a, b, left, right)) is None:
                        return None
                    sign, first_is_less = _SIGNS[function]
                    inequalities.append(
                        Inequality(sign, *((b, a) if swapped else (a, b)), own_is_less=first_is_less != swapped)
                    )
                case _:
                    return None
        if len(inequalities) > 1 or not (pairs or inequalities):
            return None
        return Matching(tuple(pairs), tuple(sides[0]), tuple(sides[1]), *inequalities)


def _is_swapped(a: Expr, b: Expr, left: frozenset[str], right: frozenset[str]) -> bool | None:
    """Whether the expressions read the right and left side, in this order; None if neither order fits."""
    first, second = columns_of(a), columns_of(b)
    if not first or not second:
        return None
    return False if first <= left and second <= right else True if first <= right and second <= left else None


def _without_null(condition: Expr, present: set[str]) -> Expr:
    """NOT IN's `a = b OR (a = b) IS NULL` as plain equality if neither side is ever NULL."""
    match condition:
        case Call("or", (Call("eq", (Column(a), Column(b))) as equal, Call("is_null", (same,)))) if same == equal:
            return equal if {a, b} <= present else condition
    return condition
