"""Sums factorized over a product: each factor's share of every sum, and how the shares multiply.

    Sum(e₁·e₂ − e₃ · a ⋈ b)  =  Sum(e₁·a)·Sum(e₂·b) − Sum(e₃·a)·Sum(1·b)          e₁, e₃ over a, e₂ over b

A sum's argument is expanded to a polynomial whose factors read one atom each. A leaf then holds the sums of its own
factors instead of the columns they are made of, and a statement multiplies the shares that it looks up. Shares are
integers in limbs, so the result is exact: only integers and decimals are factorized, and only arithmetic that can
neither overflow nor round.

NULL: a row counts if every factor of the argument is present, so each atom also keeps how many of its rows do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from viewlet.compile.build import Builder
from viewlet.plan.expr import Call, Expr, Literal, columns_of, conjunction, conjuncts
from viewlet.plan.sums import Factor, Monomial, Sum, SumColumns, counts_rows, limbs, limbs_for, uses_slots
from viewlet.plan.types import BOOLEAN, INTEGRAL, Field, Type, decimal

Atoms = frozenset[int]
Home = Mapping[str, int]
Product = tuple[int, dict[int, Expr]]
"""A coefficient, and a factor over each of some atoms."""
MOST_TERMS = 8


@dataclass(frozen=True)
class FactorShare:
    """What a piece of a product holds of the sums: its products and counts, by sum and term, and its weight."""

    products: dict[tuple[int, int], Factor]
    counts: dict[int, Factor]
    weight: str

    def product(self, at: int, term: int) -> Factor:
        return self.products.get((at, term)) or self.count(at)

    def count(self, at: int) -> Factor:
        return self.counts.get(at) or Factor(self.weight)


@dataclass
class Summed:
    """One sum: the polynomial of its argument, and the conditions on which an atom's rows count."""

    spec: Sum
    terms: list[Product]
    conditions: dict[int, list[Expr]]

    @property
    def atoms(self) -> Atoms:
        return frozenset(i for _, factors in self.terms for i in factors) | frozenset(self.conditions)


@dataclass
class Leaf:
    """The sums that a leaf keeps, and the columns that they are made of."""

    sums: dict[tuple[Expr | None, Expr | None], Sum] = field(default_factory=dict)
    arguments: dict[Expr, Field] = field(default_factory=dict)


class FactorizedSums:
    """The shares of all pieces of one product."""

    def __init__(self, build: Builder, summed: list[Summed]) -> None:
        self.build, self.summed = build, summed
        self._leaves: dict[int, Leaf] = {}
        self._components: dict[Atoms, FactorShare] = {}

    @staticmethod
    def of(build: Builder, home: Home, sums: tuple[Sum, ...], arguments: Mapping[str, Expr]) -> FactorizedSums | None:
        """None where some sum cannot be split by factors: its columns are kept instead."""
        summed = [_summed(build, home, s, arguments) for s in sums]
        return None if any(s is None for s in summed) else FactorizedSums(build, [s for s in summed if s is not None])

    def leaf(self, i: int) -> FactorShare:
        """The share of one factor."""
        own = self._leaves.setdefault(i, Leaf())
        products: dict[tuple[int, int], Factor] = {}
        counts: dict[int, Factor] = {}
        for at, one in enumerate(self.summed):
            if i not in one.atoms:
                continue
            factors = list(dict.fromkeys(f[i] for _, f in one.terms if i in f))
            for factor in factors:
                others = [Call("is_not_null", (f,), BOOLEAN) for f in factors if f != factor]
                spec = self._sum(own, factor, [*one.conditions.get(i, ()), *others])
                counts[at] = Factor(f"{spec.name}_n")
                for t, (_, held) in enumerate(one.terms):
                    if held.get(i) == factor:
                        products[at, t] = Factor(spec.name, limbs(spec))
            if not factors:
                counts[at] = Factor(f"{self._sum(own, None, one.conditions[i]).name}_n")
        return FactorShare(products, counts, self.build.fresh("w"))

    def _sum(self, leaf: Leaf, factor: Expr | None, conditions: list[Expr]) -> Sum:
        where = conjunction(tuple(dict.fromkeys(conditions)))
        if (factor, where) not in leaf.sums:
            column, condition = (None if e is None else self._argument(leaf, e) for e in (factor, where))
            kind = None if factor is None else factor.type
            function, result = ("count", Type("bigint")) if kind is None else ("sum", kind)
            leaf.sums[factor, where] = Sum(self.build.fresh("s"), function, column, condition, kind, result)
        return leaf.sums[factor, where]

    def _argument(self, leaf: Leaf, expr: Expr) -> str:
        return leaf.arguments.setdefault(expr, Field(self.build.fresh("x"), expr.type)).name

    def arguments(self, i: int) -> list[tuple[Field, Expr]]:
        """The columns that a leaf's sums are made of."""
        return [(f, e) for e, f in self._leaves[i].arguments.items()]

    def sums_of(self, i: int) -> tuple[Sum, ...]:
        return tuple(self._leaves[i].sums.values())

    def component(self, atoms: Atoms) -> FactorShare:
        """The share of several factors joined."""
        products: dict[tuple[int, int], Factor] = {}
        counts: dict[int, Factor] = {}
        for at, one in enumerate(self.summed):
            if one.atoms & atoms:
                counts[at] = Factor(self.build.fresh("q"))
                for t, (_, factors) in enumerate(one.terms):
                    if inside := [f for i, f in factors.items() if i in atoms]:
                        products[at, t] = Factor(self.build.fresh("p"), limbs_for(sum(_digits(f.type) for f in inside)))
        self._components[atoms] = FactorShare(products, counts, self.build.fresh("w"))
        return self._components[atoms]

    def parts_of(self, atoms: Atoms) -> list[tuple[str, ...]]:
        """The columns of a component's map that hold its share."""
        share = self._components[atoms]
        return [f.columns for f in (*share.products.values(), *share.counts.values())]

    def inner(self, atoms: Atoms, shares: list[FactorShare]) -> tuple[SumColumns, ...]:
        """A component's share, out of those of its pieces."""
        own = self._components[atoms]
        made = [
            SumColumns(f.name, f.limbs, (Monomial(1, tuple(s.product(at, t) for s in shares)),))
            for (at, t), f in own.products.items()
        ]
        counted = [
            SumColumns(f.name, 0, (Monomial(1, tuple(s.count(at) for s in shares)),)) for at, f in own.counts.items()
        ]
        return (*made, *counted)

    def result(self, shares: list[FactorShare], sign: int) -> tuple[SumColumns, ...]:
        """The sums themselves, as their map holds them."""
        parts: list[SumColumns] = []
        for at, one in enumerate(self.summed):
            if counts_rows(one.spec):
                continue
            if size := limbs(one.spec):
                terms = [
                    Monomial(sign * c, tuple(s.product(at, t) for s in shares)) for t, (c, _) in enumerate(one.terms)
                ]
                parts.append(SumColumns(one.spec.name, size, tuple(terms)))
            counted = Monomial(sign, tuple(s.count(at) for s in shares))
            parts.append(SumColumns(f"{one.spec.name}_n", 0, (counted,)))
        return tuple(parts)


def _summed(build: Builder, home: Home, spec: Sum, arguments: Mapping[str, Expr]) -> Summed | None:
    if uses_slots(spec):
        return None
    terms: list[Product] = []
    conditions: dict[int, list[Expr]] = {}
    counted = [] if spec.where is None else list(conjuncts(arguments[spec.where]))
    if spec.column is not None:
        argument = arguments[spec.column]
        if not build.is_safe([argument]):
            return None
        if spec.function == "count":
            counted.append(Call("is_not_null", (argument,), BOOLEAN))
        else:
            found = polynomial(build, home, argument)
            if found is None or len(found) > MOST_TERMS:
                return None
            terms = found
    for condition in counted:
        homes = {home[n] for n in columns_of(condition)}
        if len(homes) != 1 or not build.is_safe([condition]):
            return None
        conditions.setdefault(min(homes), []).append(condition)
    return Summed(spec, terms, conditions)


def polynomial(build: Builder, home: Home, expr: Expr) -> list[Product] | None:
    """A number as a sum of products of factors that read one atom each; exact, or None. Decimals are scaled integers."""
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
    """Whether a decimal operation can neither fail nor round: its result has the scale that the exact one needs."""
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


def _digits(kind: Type) -> int:
    return int(kind.args[0]) if kind.name == "decimal" else {"tinyint": 3, "smallint": 5, "int": 10}.get(kind.name, 19)
