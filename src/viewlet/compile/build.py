"""The program under construction: its steps, names and notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from viewlet.compile.abilities import Abilities
from viewlet.plan.expr import Call, Column, Expr, Named, substitute
from viewlet.plan.nodes import Plan
from viewlet.plan.show import show_node
from viewlet.plan.types import FRACTIONAL, Field, Type
from viewlet.program.program import Map, Note, Step
from viewlet.program.terms import Change, Compute, Term


@dataclass
class Builder:
    """Collects the steps of one view's program, in an order in which they can run."""

    view: str
    abilities: Abilities
    steps: list[Step] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    _names: int = 0
    depth: int = 0

    def note(self, plan: Plan, tier: str, reason: str = "") -> None:
        """Record how an operator is maintained."""
        self.notes.append(Note(show_node(plan), self.depth, tier, reason))

    def fresh(self, prefix: str) -> str:
        """A column name that no plan uses."""
        self._names += 1
        return f"_{prefix}{self._names}"

    def keep(
        self,
        terms: Sequence[Term],
        key: tuple[str, ...],
        *,
        meaning: str,
        indexes: tuple[tuple[str, ...], ...] = (),
        sums: tuple[str, ...] = (),
        name: str | None = None,
    ) -> Map:
        """Materialize the sum of some terms as a map."""
        columns = terms[0].columns
        kept = Map(name or self.next_map(), columns, key, indexes, sums, meaning)
        self.steps.append(Step(kept, tuple(terms)))
        return kept

    def netted(self, terms: tuple[Term, ...], exprs: Iterable[Expr]) -> tuple[Term, ...]:
        """Terms on whose rows some expressions can be evaluated without fear.

        Between them, the terms of a sum may make a row and take it away again: one that never was. An expression
        that can fail must not see it, so the terms are added up first.
        """
        return self.added_up(terms) if any(map(self.abilities.can_fail, exprs)) else terms

    def added_up(self, terms: tuple[Term, ...]) -> tuple[Term, ...]:
        """The sum of some terms as one, without keeping it."""
        if len(terms) == 1:
            return terms
        columns = terms[0].columns
        added = Map(self.next_map(), columns, tuple(f.name for f in columns), meaning="added up", stored=False)
        self.steps.append(Step(added, terms))
        return (change_of(added),)

    def next_map(self) -> str:
        return f"{self.view}.m{len(self.steps) + 1}"


def change_of(kept: Map, count: int | None = None) -> Change:
    """The delta of a map of this program; its first columns, or all."""
    return Change(kept.name, kept.columns[:count])


def compute(rows: Term, results: Sequence[tuple[Field, Expr]]) -> Term:
    """Computed columns over a term; one step where two would only pick, and none where nothing changes."""
    if isinstance(rows, Compute) and (_only_picks(e for _, e in results) or _only_picks(r.expr for r in rows.results)):
        below = {r.name: r.expr for r in rows.results}
        results, rows = [(f, substitute(e, below)) for f, e in results], rows.rows
    fields = tuple(f for f, _ in results)
    if fields == rows.columns and all(isinstance(e, Column) and e.name == f.name for f, e in results):
        return rows
    return Compute(rows, tuple(Named(f.name, e) for f, e in results), fields)


def _only_picks(exprs: Iterable[Expr]) -> bool:
    return all(isinstance(e, Column) for e in exprs)


def passing(fields: Sequence[Field]) -> list[tuple[Field, Expr]]:
    """Columns that stay as they are."""
    return [(f, Column(f.name, f.type)) for f in fields]


def rename(rows: Term, new: tuple[Field, ...]) -> Term:
    """The same columns under other names, by position."""
    return compute(rows, [(n, Column(f.name, f.type)) for f, n in zip(rows.columns, new, strict=True)])


def comparable(expr: Expr) -> Expr:
    """A key as Spark compares it: all NaN are one, and −0.0 is 0.0."""
    if not has_float(expr.type) or (isinstance(expr, Call) and expr.function == "normalize_float"):
        return expr
    return Call("normalize_float", (expr,), expr.type)


def has_float(kind: Type) -> bool:
    """Whether a type has doubles or floats in it."""
    match kind.name:
        case "array" | "map":
            return any(has_float(part) for part in kind.args)
        case "struct":
            return any(has_float(part) for _, part in kind.args)
        case name:
            return name in FRACTIONAL
