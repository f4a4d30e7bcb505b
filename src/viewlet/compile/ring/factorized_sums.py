"""Sums factorized over a product: each factor's share of every sum, and how shares multiply.

    Sum(e₁·e₂ − e₃ · a ⋈ b)  =  Sum(e₁·a)·Sum(e₂·b) − Sum(e₃·a)·Sum(1·b)          e₁, e₃ over a, e₂ over b

A sum's argument is expanded to a polynomial whose factors read one atom each. A leaf then holds the sums of its own
factors instead of the columns that they are made of, and a statement multiplies the shares that it looks up. Shares are
integers in limbs, so the result is exact. For integers and decimals, only arithmetic that can neither overflow nor
round is factorized. For doubles, Spark rounds row by row; the exact sum of exact products is closer to the truth.
The limbs of doubles are in windows, which are keys of the leaf (columns/exact/double_windows.py), so a few sums by key
replace the rows. If no inequality is added up and no sum reads several factors, the columns are kept instead.

NULL: a row counts if every factor of the argument is present, so each atom also counts its rows with one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from viewlet.compile.build import Builder
from viewlet.compile.ring.polynomial import EXACTLY, Home, Product, double_polynomial, polynomial
from viewlet.plan.expr import Call, Expr, columns_of, conjunction, conjuncts
from viewlet.plan.sums import (
    DoubleSum,
    Factor,
    Monomial,
    Sum,
    SumColumns,
    counts_rows,
    limbs,
    limbs_for,
    places,
    uses_slots,
)
from viewlet.plan.types import BOOLEAN, DOUBLE, INT, Field, Type

Atoms = frozenset[int]
MOST_TERMS = 8


@dataclass(frozen=True)
class FactorShare:
    """A piece's share of the sums: its products and counts, by sum and term, and its weight."""

    products: dict[tuple[int, int], Factor]
    counts: dict[int, Factor]
    weight: str

    def product(self, at: int, term: int) -> Factor:
        return self.products.get((at, term)) or self.count(at)

    def count(self, at: int) -> Factor:
        return self.counts.get(at) or Factor(self.weight)


@dataclass
class Summed:
    """One sum: the polynomial of its argument, and the conditions under which an atom's rows count."""

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
    windows: dict[Expr, Field] = field(default_factory=dict)
    """Where the limbs of each factor of doubles start: keys of the leaf."""


class FactorizedSums:
    """The shares of all pieces of one product."""

    def __init__(self, build: Builder, summed: list[Summed]) -> None:
        self.build, self.summed = build, summed
        self._leaves: dict[int, Leaf] = {}
        self._shares: dict[int, FactorShare] = {}
        self._components: dict[Atoms, FactorShare] = {}

    @staticmethod
    def of(
        build: Builder, home: Home, sums: tuple[Sum, ...], arguments: Mapping[str, Expr], *, ranged: bool
    ) -> FactorizedSums | None:
        """None if some sum cannot be factorized, or it would not pay: the columns are kept instead."""
        found = [_summed(build, home, s, arguments) for s in sums]
        summed = [s for s in found if s is not None]
        pays = ranged or not any(uses_slots(s) for s in sums) or any(len(s.atoms) > 1 for s in summed)
        return FactorizedSums(build, summed) if pays and len(summed) == len(found) else None

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
                        window = () if spec.window is None else (spec.window,)
                        products[at, t] = Factor(spec.name, limbs(spec), window)
            if not factors:
                counts[at] = Factor(f"{self._sum(own, None, one.conditions[i]).name}_n")
        self._shares[i] = FactorShare(products, counts, self.build.fresh("w"))
        return self._shares[i]

    def _sum(self, leaf: Leaf, factor: Expr | None, conditions: list[Expr]) -> Sum:
        where = conjunction(tuple(dict.fromkeys(conditions)))
        if (factor, where) not in leaf.sums:
            first, second = (*doubles_in(factor), None, None)[:2]
            column, other, condition = (None if e is None else self._argument(leaf, e) for e in (first, second, where))
            kind = None if factor is None else factor.type
            function, result = ("count", Type("bigint")) if kind is None else ("sum", kind)
            made = Sum(self.build.fresh("s"), function, column, condition, kind, result, other)
            if factor is not None and uses_slots(made):
                made = replace(made, window=self._window(leaf, factor))
            leaf.sums[factor, where] = made
        return leaf.sums[factor, where]

    def _window(self, leaf: Leaf, factor: Expr) -> str:
        return leaf.windows.setdefault(factor, Field(self.build.fresh("v"), INT, False)).name

    def windows(self, atoms: Iterable[int]) -> list[Field]:
        """The columns of a piece that say where limbs start."""
        return [f for i in sorted(atoms) for f in self._leaves[i].windows.values()]

    def _argument(self, leaf: Leaf, expr: Expr) -> str:
        return leaf.arguments.setdefault(expr, Field(self.build.fresh("x"), expr.type)).name

    def arguments(self, i: int) -> list[tuple[Field, Expr]]:
        """The columns that a leaf's sums are made of."""
        return [(f, e) for e, f in self._leaves[i].arguments.items()]

    def sums_of(self, i: int) -> tuple[Sum, ...]:
        return tuple(self._leaves[i].sums.values())

    def component(self, atoms: Atoms) -> FactorShare:
        """The share of several joined factors."""
        products: dict[tuple[int, int], Factor] = {}
        counts: dict[int, Factor] = {}
        for at, one in enumerate(self.summed):
            if one.atoms & atoms:
                counts[at] = Factor(self.build.fresh("q"))
                for t, (_, factors) in enumerate(one.terms):
                    if inside := {i: f for i, f in factors.items() if i in atoms}:
                        products[at, t] = self._joint(at, t, inside)
        self._components[atoms] = FactorShare(products, counts, self.build.fresh("w"))
        return self._components[atoms]

    def _joint(self, at: int, term: int, factors: Mapping[int, Expr]) -> Factor:
        """A column for the product of several factors."""
        name = self.build.fresh("p")
        if not uses_slots(self.summed[at].spec):
            return Factor(name, limbs_for(sum(_digits(f.type) for f in factors.values())))
        held = [self._shares[i].product(at, term) for i in factors]
        return Factor(name, sum(f.limbs + 1 for f in held), tuple(w for f in held for w in f.windows))

    def parts_of(self, atoms: Atoms) -> list[tuple[str, ...]]:
        """The columns of a component's map that hold its share."""
        share = self._components[atoms]
        return [f.columns for f in (*share.products.values(), *share.counts.values())]

    def inner(self, atoms: Atoms, shares: list[FactorShare]) -> tuple[SumColumns, ...]:
        """A component's share, computed from those of its pieces."""
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
        """The sums, other than those of doubles, as their map holds them."""
        parts: list[SumColumns] = []
        for at, one in enumerate(self.summed):
            if counts_rows(one.spec):
                continue
            if size := limbs(one.spec):
                parts.append(SumColumns(one.spec.name, size, self._terms(at, shares, sign)))
            counted = Monomial(sign, tuple(s.count(at) for s in shares))
            parts.append(SumColumns(f"{one.spec.name}_n", 0, (counted,)))
        return tuple(parts)

    def doubles(self, shares: list[FactorShare], sign: int) -> tuple[DoubleSum, ...]:
        """The sums of doubles, as their map holds them."""
        specs = [one.spec for one in self.summed]
        return tuple(
            DoubleSum(
                one.spec.name,
                place,
                one.spec.degree,
                self._terms(at, shares, sign),
                Monomial(sign, tuple(s.count(at) for s in shares)),
            )
            for at, (one, place) in enumerate(zip(self.summed, places(specs), strict=True))
            if uses_slots(one.spec)
        )

    def _terms(self, at: int, shares: list[FactorShare], sign: int) -> tuple[Monomial, ...]:
        """The polynomial of one sum, over the shares of some pieces."""
        terms = enumerate(self.summed[at].terms)
        return tuple(_scaled(sign * c, [s.product(at, t) for s in shares]) for t, (c, _) in terms)


def _scaled(coefficient: int | Fraction, factors: Iterable[Factor]) -> Monomial:
    """A monomial whose coefficient is an integer times a power of two, as any double is."""
    whole = Fraction(coefficient)
    return Monomial(whole.numerator, tuple(factors), 1 - whole.denominator.bit_length())


def doubles_in(factor: Expr | None) -> tuple[Expr, ...]:
    """The doubles that a factor multiplies exactly, or the factor itself."""
    match factor:
        case None:
            return ()
        case Call(name, args) if name == EXACTLY:
            return args
        case _:
            return (factor,)


def degree_of(build: Builder, home: Home, argument: Expr) -> int:
    """The most doubles multiplied in a sum that is factorized; 1 if it is not."""
    found = double_polynomial(build, home, argument) if argument.type == DOUBLE else None
    return max([1, *(_degree(*product) for product in found or ())])


def _degree(coefficient: int | Fraction, factors: Mapping[int, Expr]) -> int:
    return sum(len(doubles_in(f)) for f in factors.values()) + (abs(coefficient) != 1)


def _summed(build: Builder, home: Home, spec: Sum, arguments: Mapping[str, Expr]) -> Summed | None:
    if spec.powers:
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
            found = (double_polynomial if uses_slots(spec) else polynomial)(build, home, argument)
            if found is None or len(found) > MOST_TERMS:
                return None
            terms = found
    for condition in counted:
        homes = {home[n] for n in columns_of(condition)}
        if len(homes) != 1 or not build.is_safe([condition]):
            return None
        conditions.setdefault(min(homes), []).append(condition)
    return Summed(spec, terms, conditions)


def _digits(kind: Type) -> int:
    return int(kind.args[0]) if kind.name == "decimal" else {"tinyint": 3, "smallint": 5, "int": 10}.get(kind.name, 19)
