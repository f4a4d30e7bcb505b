"""Inequalities between two factors, rearranged so that each side reads one factor.

    a.price − b.price > 1000   ⟶   b.price + 1000 < a.price

so that one side can be looked up by range. Decimals are moved from side to side: their sums have room for every digit,
so the inequality holds for exactly the same rows. A difference of doubles rounds, but monotonically: the bound is the
least double whose difference exceeds the constant. This applies to finite numbers (split_infinite.py); ∞ − ∞ is NaN,
which is greater than any number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from math import isfinite

from viewlet.compile.build import Builder
from viewlet.compile.ring.calculus import Clause
from viewlet.plan.expr import Call, Expr, Literal, columns_of
from viewlet.plan.types import BOOLEAN, DOUBLE, Type, decimal

MOST_CHOICES = 2
"""More disjunctions are tested row by row, since each turns a clause into three."""
FINITE = "finite_difference"
"""Marks a comparison of a difference of doubles with a constant, where both doubles are known to be finite."""
_TURNED = {"gt": "lt", "ge": "le"}


@dataclass(frozen=True, slots=True)
class Sides:
    """`less + offset < more`, or `<=` if not strict; each side reads only its own factor.

    For doubles (`rounds`): offset < more − less.
    """

    left: int
    less: Expr
    right: int
    more: Expr
    strict: bool
    offset: Literal | None = None
    rounds: bool = False

    def contradicts(self, other: Sides) -> bool:
        """Whether no row satisfies both: x + a < y and y + b < x, with a + b ≥ 0."""
        if (self.less, self.more) != (other.more, other.less):
            return False
        room = sum(s.offset.value for s in (self, other) if s.offset is not None)
        return bool(room > 0 or (room == 0 and (self.strict or other.strict)))


def isolate(build: Builder, home: Mapping[str, int], condition: Expr) -> Sides | None:
    """An inequality with one factor on each side, if the condition has this form."""
    match condition:
        case Call(name, (difference,)) if name == FINITE:
            return double_difference(home, difference)
        case Call("gt" | "ge" as function, (a, b)):
            return isolate(build, home, Call(_TURNED[function], (b, a), BOOLEAN))
        case Call("lt" | "le" as function, (a, b)) if a.type.is_ordered and a.type == b.type:
            left, right = ({home[n] for n in columns_of(e)} for e in (a, b))
            if len(left) == len(right) == 1 and left != right:
                return Sides(min(left), a, min(right), b, function == "lt")
            if len(left | right) == 2 and a.type.name == "decimal":
                return _moved(build, home, a, b, function == "lt")
    return None


def double_difference(home: Mapping[str, int], condition: Expr) -> Sides | None:
    """A difference of doubles of two factors compared with a constant, if the condition has this form."""
    match condition:
        case Call("lt" | "le" as function, (Call("subtract", (a, b), kind), Literal(float(bound)))) if kind == DOUBLE:
            a, b, bound = b, a, -bound
        case Call("gt" | "ge" as function, (Call("subtract", (a, b), kind), Literal(float(bound)))) if kind == DOUBLE:
            pass
        case _:
            return None
    more, less = ({home[n] for n in columns_of(e)} for e in (a, b))
    if len(more) != 1 or len(less) != 1 or more == less or not isfinite(bound):
        return None
    strict = function in ("lt", "gt")
    return Sides(min(less), b, min(more), a, strict, Literal(bound, DOUBLE), rounds=True)


def _moved(build: Builder, home: Mapping[str, int], a: Expr, b: Expr, strict: bool) -> Sides | None:
    """a < b with each factor's terms on its own side: 0 < b − a, then the positive terms go to the right."""
    parts, others = _summands(build, b, 1), _summands(build, a, -1)
    if parts is None or others is None:
        return None
    sides: dict[int, list[tuple[int, Expr]]] = {}
    constant = Decimal(0)
    for sign, part in (*parts, *others):
        homes = {home[n] for n in columns_of(part)}
        if len(homes) > 1 or (not homes and not (isinstance(part, Literal) and part.value is not None)):
            return None
        if homes:
            sides.setdefault(min(homes), []).append((sign, part))
        else:
            constant += sign * part.value  # type: ignore[union-attr]
    (i, first), (j, second) = sorted(sides.items(), key=lambda item: (-min(s for s, _ in item[1]), item[0]))
    more, less = _added(first), _added([(-s, e) for s, e in second])
    offset = Literal(-constant, _type_of(constant))
    if more is None or less is None or (kind := _roomy(less.type, more.type, offset.type)) is None:
        return None
    less, more = (e if e.type == kind else Call("cast", (e,), kind) for e in (less, more))
    return Sides(j, less, i, more, strict, offset if constant else None) if build.is_safe([less, more]) else None


def _summands(build: Builder, expr: Expr, sign: int) -> list[tuple[int, Expr]] | None:
    """A decimal as a signed sum of terms that are not sums; None if adding them could round."""
    match expr:
        case Call("add" | "subtract" as function, (a, b)) if build.is_safe([expr]) and _keeps_scale(expr):
            left, right = _summands(build, a, sign), _summands(build, b, sign if function == "add" else -sign)
            return None if left is None or right is None else left + right
        case _ if expr.type.name == "decimal":
            return [(sign, expr)]
    return None


def _keeps_scale(expr: Call) -> bool:
    kinds = [a.type for a in expr.args]
    return all(k.name == "decimal" for k in (*kinds, expr.type)) and expr.type.args[1] == max(k.args[1] for k in kinds)


def _added(parts: list[tuple[int, Expr]]) -> Expr | None:
    """A signed sum, with room for all digits."""
    total: Expr | None = None
    for sign, part in sorted(parts, key=lambda p: -p[0]):
        if total is None:
            total = part if sign > 0 else _plus(Literal(Decimal(0), decimal(1, 0)), part, -1)
        else:
            total = _plus(total, part, sign)
        if total is None:
            return None
    return total


def _plus(a: Expr, b: Expr, sign: int) -> Expr | None:
    scale = max(a.type.args[1], b.type.args[1])
    digits = max(a.type.args[0] - a.type.args[1], b.type.args[0] - b.type.args[1]) + scale + 1
    return None if digits > 38 else Call("add" if sign > 0 else "subtract", (a, b), decimal(digits, scale))


def _type_of(value: Decimal) -> Type:
    digits, exponent = value.as_tuple().digits, int(value.as_tuple().exponent)
    scale = max(-exponent, 0)
    return decimal(max(len(digits) + max(exponent, 0), scale, 1), scale)


def _roomy(*kinds: Type) -> Type | None:
    """A decimal type with room for any sum of one value of each type."""
    scale = max(k.args[1] for k in kinds)
    digits = max(k.args[0] - k.args[1] for k in kinds) + scale + 1
    return decimal(digits, scale) if digits <= 38 else None


def can_split(build: Builder, clause: Clause) -> bool:
    """Whether the disjunctions of a clause may be split."""
    choices = sum(isinstance(c, Call) and c.function == "or" for c in clause.conditions)
    return build.rules.expansion and len(clause.atoms) > 1 and choices <= MOST_CHOICES


def split_disjunctions(build: Builder, clause: Clause) -> list[Clause]:
    """Clauses without disjunctions of inequalities: p OR q counts as p plus q minus both."""
    if not can_split(build, clause):
        return [clause]
    home = clause.home
    for at, condition in enumerate(clause.conditions):
        match condition:
            case Call("or", (p, q)) if (a := isolate(build, home, p)) and (b := isolate(build, home, q)):
                rest = (*clause.conditions[:at], *clause.conditions[at + 1 :])
                parts = [replace(clause, conditions=(*rest, c)) for c in (p, q)]
                if not a.contradicts(b):
                    parts.append(replace(clause, conditions=(*rest, p, q), sign=-clause.sign))
                return [one for part in parts for one in split_disjunctions(build, part)]
    return [clause]
