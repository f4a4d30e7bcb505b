"""The argument of a sum as a polynomial: products of factors that read one atom each.

(a.x − b.y) · a.z   ⟶   1·(a.x·a.z) − 1·(b.y)·(a.z)
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import isfinite

from viewlet.compile.build import Builder
from viewlet.plan.expr import Call, Expr, Literal, columns_of
from viewlet.plan.types import DOUBLE, INTEGRAL, Type, decimal

Home = Mapping[str, int]
Product = tuple[int | Fraction, dict[int, Expr]]
"""A coefficient, and one factor per atom."""
EXACTLY = "multiply_exactly"
"""Multiplies two doubles of one atom without rounding: Spark never forms this product, which may overflow."""


def polynomial(build: Builder, home: Home, expr: Expr) -> list[Product] | None:
    """A number as an exact sum of products of factors that read one atom each, or None; decimals are scaled."""
    homes = {home[n] for n in columns_of(expr)}
    if len(homes) == 1:
        return [(1, {min(homes): expr})] if _is_whole(expr.type) else None
    if not build.rules.expansion:
        return None
    match expr:
        case Literal(value, kind) if value is not None and _is_whole(kind):
            return [(int(value.scaleb(_scale(kind))) if kind.name == "decimal" else int(value), {})]
        case Call("add" | "subtract" as function, (a, b), kind) if _is_exact(
            build, expr, max(_scale(a.type), _scale(b.type))
        ):
            left, right = (polynomial(build, home, part) for part in (a, b))
            if left is None or right is None:
                return None
            sign = 1 if function == "add" else -1
            up = [10 ** (_scale(kind) - _scale(part.type)) for part in (a, b)]
            return [(c * up[0], f) for c, f in left] + [(c * up[1] * sign, f) for c, f in right]
        case Call("multiply", (a, b)) if _is_exact(build, expr, _scale(a.type) + _scale(b.type)):
            left, right = (polynomial(build, home, part) for part in (a, b))
            return None if left is None or right is None else _times(build, left, right)
        case Call("cast", (a,), kind) if _is_whole(a.type) and _is_exact(
            build, expr, max(_scale(kind), _scale(a.type))
        ):
            below = polynomial(build, home, a)
            return None if below is None else [(c * 10 ** (_scale(kind) - _scale(a.type)), f) for c, f in below]
    return None


def _is_exact(build: Builder, expr: Call, scale: int) -> bool:
    """Whether a decimal operation can neither fail nor round: its result has the scale that exactness requires."""
    return expr.type.name == "decimal" and _scale(expr.type) == scale and build.is_safe([expr])


def _times(build: Builder, left: list[Product], right: list[Product]) -> list[Product] | None:
    result: list[Product] = []
    for c, f in left:
        for d, g in right:
            merged = dict(f)
            for i, e in g.items():
                made = e if i not in merged else _multiplied(build, merged[i], e)
                if made is None:
                    return None
                merged[i] = made
            result.append((c * d, merged))
    return result


def _multiplied(build: Builder, a: Expr, b: Expr) -> Expr | None:
    """The product of two factors of one atom, as a decimal with room for it."""
    if a.type.name != "decimal" or b.type.name != "decimal":
        return None
    digits, scale = a.type.args[0] + b.type.args[0] + 1, a.type.args[1] + b.type.args[1]
    if digits > 38:
        return None
    made = Call("multiply", (a, b), decimal(digits, scale))
    return made if build.is_safe([made]) else None


def _is_whole(kind: Type) -> bool:
    return kind.name in INTEGRAL or kind.name == "decimal"


def _scale(kind: Type) -> int:
    return int(kind.args[1]) if kind.name == "decimal" else 0


def double_polynomial(build: Builder, home: Home, expr: Expr) -> list[Product] | None:
    """A double as a sum of products of doubles, or None; expressions over one atom are left to Spark."""
    homes = {home[n] for n in columns_of(expr)}
    if len(homes) == 1:
        return [(1, {min(homes): expr})]
    if not build.rules.expansion or expr.type != DOUBLE:
        return None
    match expr:
        case Literal(float(value)) if isfinite(value) and value:
            return [(Fraction(value), {})]
        case Call("add" | "subtract" as function, (a, b)):
            left, right = (double_polynomial(build, home, part) for part in (a, b))
            sign = 1 if function == "add" else -1
            return None if left is None or right is None else left + [(c * sign, f) for c, f in right]
        case Call("multiply", (a, b)):
            left, right = (double_polynomial(build, home, part) for part in (a, b))
            return None if left is None or right is None else _times_doubles(left, right)
    return None


def _times_doubles(left: list[Product], right: list[Product]) -> list[Product] | None:
    result: list[Product] = []
    for c, f in left:
        for d, g in right:
            both = {i: Call(EXACTLY, (f[i], g[i]), DOUBLE) for i in f.keys() & g.keys()}
            if any(isinstance(e, Call) and e.function == EXACTLY for made in both.values() for e in made.args):
                return None
            result.append((c * d, {**f, **g, **both}))
    return result
