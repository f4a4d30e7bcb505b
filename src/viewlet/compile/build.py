"""The program under construction: its steps, names and notes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from viewlet.compile.abilities import Abilities
from viewlet.compile.monoid.growth import grows
from viewlet.compile.options import Facts, Rules
from viewlet.plan.expr import Call, Column, Expr, Named, substitute
from viewlet.plan.nodes import Aggregate, Plan, Scan, leaves
from viewlet.plan.show import show_node
from viewlet.plan.sums import Sum
from viewlet.plan.types import BIGINT, Field
from viewlet.program.identity import Identity, identity
from viewlet.program.program import Map, Note, Step
from viewlet.program.terms import Change, Project, Term

if TYPE_CHECKING:
    from viewlet.compile.ring.calculus import Clause

Terms = tuple[Term, ...]
Indexes = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class KeptMap:
    """A map as one of its users sees it: with the columns, by position, under other names."""

    map: Map
    columns: tuple[Field, ...]

    @property
    def name(self) -> str:
        return self.map.name

    def own(self, name: str) -> str:
        """The map's own name for a column."""
        at = next(i for i, f in enumerate(self.columns) if f.name == name)
        return self.map.columns[at].name

    def change(self, weight: str | None = None) -> Change:
        """The map's delta; `weight` names a last column for the weights."""
        last = () if weight is None else (Field(weight, BIGINT, False),)
        return Change(self.name, (*self.columns, *last), weight)


@dataclass(frozen=True, slots=True)
class SumsMap:
    """A map of sums, and the rows that it stands for: keys, values of the sums, and results over both."""

    kept: KeptMap
    keys: tuple[str, ...]
    """The key columns of the rows; `held` are their names in the map."""
    held: tuple[str, ...]
    sums: tuple[Sum, ...]
    columns: tuple[Field, ...]
    results: tuple[Expr, ...]

    def own(self, name: str) -> str:
        """The map's name for a column of the rows."""
        names = [f.name for f in self.columns]
        at = names.index(name)
        return self.kept.own(self.held[at]) if at < len(self.keys) else self.sums[at - len(self.keys)].name


@dataclass
class Noted:
    """A note whose lower operators are still being lowered."""

    label: str
    tier: str
    reason: str
    below: list[Noted] = field(default_factory=list)

    def note(self) -> Note:
        return Note(self.label, self.tier, self.reason, tuple(n.note() for n in self.below))


@dataclass
class Builder(ABC):
    """Collects the steps of one view's program, in an order in which they can run.

    The rules for single operators call `lower` and its siblings for their inputs; lower.py implements these.
    """

    view: str
    abilities: Abilities
    rules: Rules = field(default_factory=Rules)
    facts: Facts = field(default_factory=Facts)
    known: Mapping[Identity, Step] = field(default_factory=dict)
    """Maps of other views, by identity."""
    taken: frozenset[str] = frozenset()
    """The names of all maps of other views."""
    steps: list[Step] = field(default_factory=list)
    notes: list[Noted] = field(default_factory=list)
    """How the top operators are maintained, each with its inputs below."""
    sources: dict[str, frozenset[str]] = field(default_factory=dict)
    """The tables that each map of this program derives from."""
    choices: list[str] = field(default_factory=list)
    """The compiler's decisions, for people."""
    _identities: dict[Identity, int] = field(default_factory=dict)
    _names: int = 0
    _quiet: int = 0
    growing: set[str] = field(default_factory=set)
    """Tables, views and maps whose rows are never deleted."""

    def __post_init__(self) -> None:
        self.growing |= self.facts.growing
        self._notes_here = self.notes

    @abstractmethod
    def lower(self, plan: Plan) -> Terms:
        """The delta of a plan, as a sum of terms."""

    @abstractmethod
    def lower_clauses(self, clauses: Sequence[Clause], results: Sequence[tuple[Field, Expr]]) -> Terms:
        """The delta of a sum of products: some expressions over its rows."""

    @abstractmethod
    def keep_sums(self, plan: Aggregate) -> tuple[Term, SumsMap] | None:
        """A nested aggregate as a map of sums, with the term that reads its delta; None if that is impossible."""

    @abstractmethod
    def is_regrouped(self, plan: Plan) -> bool:
        """Whether filters and projections above the operator become part of its regrouped function."""

    def note(self, plan: Plan, tier: str, reason: str = "") -> None:
        """Record how an operator is maintained; the next note goes below it."""
        if not self._quiet:
            noted = Noted(show_node(plan), tier, reason)
            self._notes_here.append(noted)
            self._notes_here = noted.below

    @contextmanager
    def descending(self) -> Iterator[None]:
        """Notes inside go below the last note before; those after continue where that one was."""
        here = self._notes_here
        try:
            yield
        finally:
            self._notes_here = here

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Suppress the notes of what is lowered a second time."""
        self._quiet += 1
        try:
            yield
        finally:
            self._quiet -= 1

    def fresh(self, prefix: str) -> str:
        """A column name that no plan uses."""
        self._names += 1
        return f"_{prefix}{self._names}"

    def is_safe(self, exprs: Iterable[Expr]) -> bool:
        """Whether expressions can be evaluated here on any row, even on one that never existed."""
        exprs = list(exprs)
        return self.abilities.expressions(exprs) is None and not any(map(self.abilities.can_fail, exprs))

    def tables(self, plan: Plan) -> frozenset[str]:
        """The tables and views that a plan derives from."""
        scans = [leaf.name for leaf in leaves(plan) if isinstance(leaf, Scan)]
        return frozenset(t for name in scans for t in self.sources.get(name, (name,)))

    def keep(
        self,
        terms: Sequence[Term],
        key: tuple[str, ...],
        *,
        meaning: str,
        indexes: Indexes = (),
        sums: tuple[str, ...] = (),
        name: str | None = None,
        stored: bool = True,
    ) -> KeptMap:
        """Materialize a sum of terms as a map, or reuse an identical map of this or another view."""
        columns = terms[0].columns
        wanted = Map(name or self.next_map(), columns, key, indexes, sums, meaning, stored)
        same = None if name is not None else identity(terms, sums)
        if same is not None:
            if (at := self._identities.get(same)) is not None:
                return self._again(at, wanted)
            self._identities[same] = len(self.steps)
            if stored and (other := self.known.get(same)) is not None:
                self.steps.append(other)
                return self._again(len(self.steps) - 1, wanted)
        self.steps.append(Step(wanted, tuple(terms)))
        return KeptMap(wanted, columns)

    def _again(self, at: int, wanted: Map) -> KeptMap:
        """A map of this program reused, with the indexes that the new use needs."""
        step = self.steps[at]
        there, columns = step.map, wanted.columns
        seen = KeptMap(there, columns)
        lookups = (
            [tuple(seen.own(n) for n in names) for names in (wanted.key, *wanted.indexes)] if wanted.stored else []
        )
        if not there.stored and lookups:
            there = replace(there, key=lookups[0], stored=True)
        more = tuple(dict.fromkeys(n for n in lookups if n not in (there.key, *there.indexes)))
        if there is not step.map or more:
            there = replace(there, indexes=(*there.indexes, *more))
            self.steps[at] = Step(there, step.terms)
        return KeptMap(there, columns)

    def index(self, name: str, own: tuple[str, ...]) -> None:
        """Add an index to a map of this program."""
        at = next(i for i, step in enumerate(self.steps) if step.map.name == name)
        there = self.steps[at].map
        if own not in (there.key, *there.indexes):
            self.steps[at] = Step(replace(there, indexes=(*there.indexes, own)), self.steps[at].terms)

    def is_stored(self, bag: str) -> bool:
        """Whether a table, view or map is stored, rather than just its delta passed on."""
        return all(step.map.stored for step in self.steps if step.map.name == bag)

    def netted(self, terms: tuple[Term, ...], exprs: Iterable[Expr]) -> tuple[Term, ...]:
        """Terms on whose rows the expressions can be evaluated safely.

        One term of a sum may produce a row that another deletes again: a row that never existed. An expression that can
        fail must not see it, so the terms are netted first.
        """
        return self.added_up(terms) if any(map(self.abilities.can_fail, exprs)) else terms

    def added_up(self, terms: tuple[Term, ...]) -> tuple[Term, ...]:
        """The sum of some terms as a single term, without storing it."""
        if len(terms) == 1:
            return terms
        columns = terms[0].columns
        return (self.keep(terms, tuple(f.name for f in columns), meaning="added up", stored=False).change(),)

    def passed_on(self, terms: tuple[Term, ...], plan: Plan) -> Scan:
        """The result of a plan for several readers: a bag that has a delta, but is not stored."""
        everything = tuple(f.name for f in plan.columns)
        kept = self.keep(terms, everything, meaning=show_node(plan), stored=False)
        self.sources[kept.name] = self.tables(plan)
        if grows(plan, self.growing):
            self.growing.add(kept.name)
        return Scan(kept.name, kept.columns)

    def next_map(self) -> str:
        """A name that no map of this view has, nor one that other views took over from it."""
        at = len(self.steps) + 1
        taken = self.taken | {s.map.name for s in self.steps}
        while f"{self.view}.m{at}" in taken:
            at += 1
        return f"{self.view}.m{at}"


def change_of(kept: KeptMap, count: int | None = None) -> Change:
    """The delta of a map, with its first `count` columns or all."""
    return Change(kept.name, kept.columns[:count])


def compute(rows: Term, results: Sequence[tuple[Field, Expr]]) -> Term:
    """Computed columns over a term; merged with a projection below if either only picks columns."""
    if isinstance(rows, Project) and (_only_picks(e for _, e in results) or _only_picks(r.expr for r in rows.results)):
        below = {r.name: r.expr for r in rows.results}
        results, rows = [(f, substitute(e, below)) for f, e in results], rows.rows
    fields = tuple(f for f, _ in results)
    if fields == rows.columns and all(isinstance(e, Column) and e.name == f.name for f, e in results):
        return rows
    return Project(rows, tuple(Named(f.name, e) for f, e in results), fields)


def _only_picks(exprs: Iterable[Expr]) -> bool:
    return all(isinstance(e, Column) for e in exprs)


def passing(fields: Sequence[Field]) -> list[tuple[Field, Expr]]:
    """Columns that stay as they are."""
    return [(f, Column(f.name, f.type)) for f in fields]


def rename(rows: Term, new: tuple[Field, ...]) -> Term:
    """The same columns under other names, by position."""
    return compute(rows, [(n, Column(f.name, f.type)) for f, n in zip(rows.columns, new, strict=True)])


def comparable(expr: Expr) -> Expr:
    """A key normalized as Spark compares it: all NaN are equal, and −0.0 is 0.0."""
    if not expr.type.has_floats or (isinstance(expr, Call) and expr.function == "normalize_float"):
        return expr
    return Call("normalize_float", (expr,), expr.type)
