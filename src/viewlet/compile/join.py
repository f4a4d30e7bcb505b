"""Joins. An inner join is a product, and gets the product rule; the others are regrouped by their keys.

    Δ(L₁ ⋈ … ⋈ Lₙ) = Σᵢ  L₁ⁿᵉʷ ⋈ … ⋈ Lᵢ₋₁ⁿᵉʷ ⋈ ΔLᵢ ⋈ Lᵢ₊₁ᵒˡᵈ ⋈ … ⋈ Lₙᵒˡᵈ

Nested inner joins become one product. Each factor is kept as a map of just the columns that the rest needs,
indexed by the columns that look-ups bind; each statement starts from one factor's delta and probes the others,
those first that share the most equalities with what is already bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from viewlet.compile.build import Builder, change_of, comparable, compute, passing
from viewlet.compile.regroup import lower_keyed
from viewlet.plan.expr import Call, Column, Expr, columns_of, conjunction, conjuncts, substitute
from viewlet.plan.nodes import Join, Plan, Project, names
from viewlet.plan.show import show_node
from viewlet.plan.types import BOOLEAN, Field
from viewlet.program.program import Map
from viewlet.program.terms import Match, Probe, Select, Term

Lower = Callable[[Builder, Plan], tuple[Term, ...]]
_LAST_PARTNER = "{} join: a change may add or take away a row's last partner"


Order = list[tuple[int, tuple[Match, ...], tuple[Match, ...]]]
"""The factors in the order in which they are probed: which, the look-up, and equalities that are left to test."""


@dataclass(frozen=True, slots=True)
class Equality:
    """Two factors are equal in a column each."""

    left: int
    left_column: str
    right: int
    right_column: str
    null_safe: bool

    def seen_from(self, bound: set[int], factor: int) -> Match | None:
        """The look-up in `factor` that this equality allows once the `bound` factors are known."""
        if self.right == factor and self.left in bound:
            return Match(self.left_column, self.right_column, self.null_safe)
        if self.left == factor and self.right in bound:
            return Match(self.right_column, self.left_column, self.null_safe)
        return None


@dataclass
class Factor:
    """One input of a product: its plan, and the columns of it that are kept."""

    plan: Plan
    fields: dict[str, tuple[Field, Expr]] = field(default_factory=dict)
    indexes: list[tuple[str, ...]] = field(default_factory=list)
    map: Map | None = None


def lower_join(build: Builder, plan: Join, lower: Lower, top: Plan) -> tuple[Term, ...]:
    """The delta of a join."""
    if plan.kind != "inner":
        return _lower_keyed_join(build, plan, _LAST_PARTNER.format(plan.kind), lower, top)
    product = Product.of(plan)
    if (why := build.abilities.expressions(product.conditions)) is not None:
        return _lower_keyed_join(build, plan, why, lower, top)
    build.note(
        plan,
        "ring",
        "" if product.is_connected() else "no equality connects it: a change meets every row of the other side",
    )
    return product.lower(build, lower)


def _lower_keyed_join(build: Builder, plan: Join, why: str, lower: Lower, top: Plan) -> tuple[Term, ...]:
    left, right = equal_keys(plan)
    if not left:
        why += "; no equality to take a key from"
    return lower_keyed(build, plan, (plan.left, plan.right), (left, right), why, lower, top=top)


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


@dataclass
class Product:
    """Factors, conditions, and the columns of the result as expressions over the factors'."""

    factors: list[Factor]
    conditions: list[Expr]
    results: list[tuple[Field, Expr]]

    @staticmethod
    def of(plan: Join) -> Product:
        """Flatten nested inner joins, through projections that only pick and rename columns."""
        product = Product([], [], [])
        values = product._take_in(plan)
        product.results = [(f, values.get(f.name, Column(f.name, f.type))) for f in plan.columns]
        return product

    def _take_in(self, plan: Plan) -> dict[str, Expr]:
        """Add a plan to the product; what its renamed columns are."""
        match plan:
            case Join(kind="inner"):
                values = self._take_in(plan.left) | self._take_in(plan.right)
                self.conditions += [substitute(c, values) for c in conjuncts(plan.condition)]
                return values
            case Project(rows=Join(kind="inner") | Project() as below) if all(
                isinstance(r.expr, Column) for r in plan.results
            ):
                inner = self._take_in(below)
                return inner | {r.name: substitute(r.expr, inner) for r in plan.results}
            case _:
                self.factors.append(Factor(plan))
                return {}

    def owner(self, expr: Expr) -> int | None:
        """The one factor whose columns an expression reads."""
        needed = columns_of(expr)
        found = [i for i, f in enumerate(self.factors) if needed <= frozenset(names(f.plan))]
        return found[0] if needed and found else None

    def is_connected(self) -> bool:
        """Whether equalities connect all factors."""
        reached, edges = {0}, [self._edge(c) for c in self.conditions]
        for _ in self.factors:
            for edge in edges:
                if edge and reached & {edge[0], edge[2]}:
                    reached |= {edge[0], edge[2]}
        return len(reached) == len(self.factors)

    def _edge(self, condition: Expr) -> tuple[int, Expr, int, Expr, bool] | None:
        match condition:
            case Call("eq" | "eq_null_safe" as function, (a, b)):
                left, right = self.owner(a), self.owner(b)
                if left is not None and right is not None and left != right:
                    return left, comparable(a), right, comparable(b), function == "eq_null_safe"
        return None

    def lower(self, build: Builder, lower: Lower) -> tuple[Term, ...]:
        """Keep the factors as maps, then one statement for each."""
        below = [lower(build, f.plan) for f in self.factors]
        equalities = [e for c in self.conditions if (e := self._equality(build, c)) is not None]
        residual = [c for c in self.conditions if self._edge(c) is None]
        for expr in [e for _, e in self.results] + residual:
            self._need(columns_of(expr))
        late = [c for c in residual if build.abilities.can_fail(c)]
        residual = [c for c in residual if c not in late]
        orders = [self._order(i, equalities) for i in range(len(self.factors))]
        for at, (factor, terms) in enumerate(zip(self.factors, below, strict=True)):
            factor.map = self._keep(build, at, terms)
        if not late:
            return tuple(self._statement(i, order, residual, self.results) for i, order in enumerate(orders))
        needed = {f.name: (f, e) for factor in self.factors for f, e in passing([f for f, _ in factor.fields.values()])}
        met = tuple(self._statement(i, order, residual, list(needed.values())) for i, order in enumerate(orders))
        condition = conjunction(tuple(late))
        assert condition is not None
        return tuple(compute(Select(t, condition), self.results) for t in build.added_up(met))

    def _equality(self, build: Builder, condition: Expr) -> Equality | None:
        if (edge := self._edge(condition)) is None:
            return None
        left, a, right, b, null_safe = edge
        return Equality(left, self._key(build, left, a), right, self._key(build, right, b), null_safe)

    def _key(self, build: Builder, at: int, expr: Expr) -> str:
        """The column of a factor that holds a key."""
        fields = self.factors[at].fields
        if isinstance(expr, Column):
            fields[expr.name] = (Field(expr.name, expr.type), expr)
            return expr.name
        for f, e in fields.values():
            if e == expr:
                return f.name
        name = build.fresh("j")
        fields[name] = (Field(name, expr.type), expr)
        return name

    def _need(self, wanted: frozenset[str]) -> None:
        for factor in self.factors:
            for f in factor.plan.columns:
                if f.name in wanted:
                    factor.fields.setdefault(f.name, (f, Column(f.name, f.type)))

    def _order(self, start: int, equalities: list[Equality]) -> Order:
        """In which order the other factors are probed, with the look-up and the equalities left to test."""
        bound: set[int] = {start}
        order: Order = []
        while len(bound) < len(self.factors):
            open_ = [i for i in range(len(self.factors)) if i not in bound]
            matches = {i: [m for e in equalities if (m := e.seen_from(bound, i))] for i in open_}
            best = max(open_, key=lambda i: (len({m.map_column for m in matches[i]}), -i))
            on: dict[str, Match] = {}
            rest = [m for m in matches[best] if on.setdefault(m.map_column, m) is not m]
            index = tuple(on)
            if index not in self.factors[best].indexes:
                self.factors[best].indexes.append(index)
            order.append((best, tuple(on.values()), tuple(rest)))
            bound.add(best)
        return order

    def _keep(self, build: Builder, at: int, terms: tuple[Term, ...]) -> Map:
        factor = self.factors[at]
        key, *others = factor.indexes
        columns = list(factor.fields.values())
        kept = [compute(t, columns) for t in build.netted(terms, [e for _, e in columns])]
        picked = ", ".join(f.name for f, _ in columns)
        return build.keep(kept, key, indexes=tuple(others), meaning=f"{show_node(factor.plan)} → {picked}")

    def _statement(self, start: int, order: Order, residual: list[Expr], results: list[tuple[Field, Expr]]) -> Term:
        term: Term = change_of(self._map(start))
        bound, pending = {start}, list(residual)
        term, pending = self._test(term, bound, pending)
        for at, on, rest in order:
            term = self._probe(term, at, "new" if at < start else "old", on)
            bound.add(at)
            equal = [_equal(m, term) for m in rest]
            term, pending = self._test(term, bound, equal + pending)
        return compute(term, results)

    def _map(self, at: int) -> Map:
        kept = self.factors[at].map
        assert kept is not None
        return kept

    def _probe(self, term: Term, at: int, version: str, on: tuple[Match, ...]) -> Term:
        kept = self._map(at)
        take = tuple((f.name, f.name) for f in kept.columns)
        return Probe(term, kept.name, version, on, take, (*term.columns, *kept.columns))

    def _test(self, term: Term, bound: set[int], pending: list[Expr]) -> tuple[Term, list[Expr]]:
        """Apply the conditions whose columns are all there."""
        there = frozenset(f.name for f in term.columns)
        ready = tuple(c for c in pending if columns_of(c) <= there)
        condition = conjunction(ready)
        rest = [c for c in pending if c not in ready]
        return (term if condition is None else Select(term, condition)), rest


def _equal(match: Match, term: Term) -> Expr:
    kinds = {f.name: f.type for f in term.columns}
    left, right = Column(match.column, kinds[match.column]), Column(match.map_column, kinds[match.map_column])
    return Call("eq_null_safe" if match.null_safe else "eq", (left, right), BOOLEAN)
