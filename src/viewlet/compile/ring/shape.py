"""The shape of a clause: what each factor must keep, and what connects the factors.

Columns that an equality makes equal are one *variable* (unification); a condition on one factor is tested in its leaf;
an expression over one factor is computed there, so that only its value is kept; an inequality between two factors
becomes a range. The remaining, residual conditions are tested as soon as their columns are available.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from viewlet.compile.build import Builder, comparable
from viewlet.compile.ring.calculus import Atom, Clause
from viewlet.compile.ring.inequality import Sides, isolate
from viewlet.plan.expr import Call, Column, Expr, Literal, columns_of, rewrite
from viewlet.plan.types import BOOLEAN, Field
from viewlet.program.identity import identity

Atoms = frozenset[int]
Outputs = Sequence[tuple[Field, Expr]]


_BOUNDS = {
    (True, True): "least_exceeding",
    (True, False): "least_reaching",
    (False, True): "greatest_exceeded",
    (False, False): "greatest_reached",
}
"""The function that bounds a finite difference of doubles, by whether from below and whether strictly."""


@dataclass(frozen=True, slots=True)
class Range:
    """`less + offset < more`, or `<=`, between columns of two leaves. For doubles: `offset < more − less`."""

    left: int
    less: Column
    right: int
    more: Column
    strict: bool
    offset: Literal | None
    rounds: bool = False

    @property
    def is_open(self) -> bool:
        """Whether the bound itself is excluded."""
        return self.strict and not self.rounds

    def condition(self) -> Expr:
        return Call("lt" if self.is_open else "le", (self.bound(below=True), self.more), BOOLEAN)

    def bound(self, *, below: bool) -> Expr:
        """The lower bound of `more`, or the upper bound of `less`."""
        known = self.less if below else self.more
        if self.offset is None:
            return known
        if self.rounds:
            return Call(_BOUNDS[below, self.strict], (known, self.offset), known.type)
        return Call("add" if below else "subtract", (known, self.offset), known.type)


class Shape:
    """A clause by its numbered factors; names are those of the leaves' columns."""

    def __init__(self, build: Builder, clause: Clause, outputs: Outputs) -> None:
        self.build = build
        # Sorted independently of how the join was written, so that equal maps are recognized.
        self.atoms = sorted(clause.atoms, key=lambda a: (not self.is_static(a), repr(identity(a.terms, ()))))
        self.everything: Atoms = frozenset(range(len(self.atoms)))
        self.home = {f.name: i for i, a in enumerate(self.atoms) for f in a.columns}
        assert len(self.home) == sum(len(a.columns) for a in self.atoms), f"factors share names: {clause}"
        self.local: list[list[Expr]] = [[] for _ in self.atoms]
        self.fields: list[dict[Expr, Field]] = [{} for _ in self.atoms]
        self.variables: list[dict[int, str]] = []
        self.null_safe: list[tuple[int, str, int, str]] = []
        self.ranges: list[Range] = []
        self.residual: list[Expr] = []
        self._conditions(clause.conditions)
        self.outputs = [(f, self._localized(e)) for f, e in outputs]
        self.shown = frozenset(n for _, e in self.outputs for n in columns_of(e))

    def is_static(self, atom: Atom) -> bool:
        return bool(atom.tables) and atom.tables <= self.build.facts.static

    def starts(self, atoms: Atoms) -> list[int]:
        """The factors of a product whose deltas have statements: those that can change."""
        moving = [i for i in sorted(atoms) if not self.is_static(self.atoms[i])]
        return moving or sorted(atoms)

    def _conditions(self, conditions: Iterable[Expr]) -> None:
        equal: list[tuple[int, Expr, int, Expr]] = []
        unequal: list[Sides] = []
        for condition in conditions:
            homes = self._homes(condition)
            match condition:
                case _ if len(homes) <= 1:
                    self.local[min(homes, default=0)].append(condition)
                case Call("eq" | "eq_null_safe" as function, (a, b)) if len(self._homes(a)) == len(self._homes(b)) == 1:
                    (i,), (j,) = self._homes(a), self._homes(b)
                    if function == "eq":
                        equal.append((i, comparable(a), j, comparable(b)))
                    else:
                        self.null_safe.append((i, self._field(i, comparable(a)), j, self._field(j, comparable(b))))
                case _ if (found := isolate(self.build, self.home, condition)) is not None:
                    unequal.append(found)
                case _:
                    self.residual.append(condition)
        self._unify(equal)
        self.ranges += map(self._range, unequal)
        self.residual = [self._localized(c) for c in self.residual]

    def _range(self, sides: Sides) -> Range:
        less = Column(self._field(sides.left, sides.less), sides.less.type)
        more = Column(self._field(sides.right, sides.more), sides.more.type)
        return Range(sides.left, less, sides.right, more, sides.strict, sides.offset, sides.rounds)

    def _unify(self, equal: list[tuple[int, Expr, int, Expr]]) -> None:
        """Make equal columns one variable; two of the same factor are compared within it."""
        groups: list[set[tuple[int, Expr]]] = []
        for i, a, j, b in equal:
            met = [g for g in groups if (i, a) in g or (j, b) in g]
            groups = [g for g in groups if g not in met] + [{(i, a), (j, b)}.union(*met)]
        for group in groups:
            variable: dict[int, str] = {}
            for i, e in sorted(group, key=repr):
                if i in variable:
                    first = next(k for k, f in self.fields[i].items() if f.name == variable[i])
                    self.local[i].append(Call("eq", (first, e), BOOLEAN))
                else:
                    variable[i] = self._field(i, e)
            self.variables.append(variable)

    def _homes(self, expr: Expr) -> frozenset[int]:
        return frozenset(self.home[n] for n in columns_of(expr))

    def _field(self, i: int, expr: Expr) -> str:
        """The column of a leaf that holds an expression."""
        fields = self.fields[i]
        if expr not in fields:
            name = expr.name if isinstance(expr, Column) else self.build.fresh("e")
            fields[expr] = Field(name, expr.type)
        return fields[expr].name

    def _localized(self, expr: Expr) -> Expr:
        """An expression over leaves' columns: parts that read a single factor are computed there."""

        def local(e: Expr) -> Expr | None:
            homes = self._homes(e)
            if len(homes) != 1 or isinstance(e, Literal):
                return None
            return Column(self._field(min(homes), e), e.type)

        return rewrite(expr, local)

    def parts(self, rest: Atoms, start: int) -> list[Atoms]:
        """The connected parts of the other factors that a delta of one factor leaves."""
        if not self.build.rules.decomposition:
            return [rest]
        groups = [frozenset(v) & rest for v in self.variables if start not in v]
        groups += [frozenset([i, j]) & rest for i, _, j, _ in self.null_safe]
        groups += [frozenset([r.left, r.right]) & rest for r in self.ranges]
        groups += [self.of(c) & rest for c in self.residual if start not in self.of(c)]
        parts: list[Atoms] = [frozenset([i]) for i in rest]
        for group in groups:
            met = [p for p in parts if p & group]
            parts = [p for p in parts if p not in met] + ([frozenset().union(*met)] if met else [])
        return sorted(parts, key=sorted)

    def of(self, condition: Expr) -> Atoms:
        """The factors whose leaves' columns a condition reads."""
        owner = {f.name: i for i, fields in enumerate(self.fields) for f in fields.values()}
        return frozenset(owner[n] for n in columns_of(condition))

    def exported(self, atoms: Atoms) -> list[Field]:
        """The columns of a component that the rest needs."""
        needed = set(self.shown)
        for variable in self.variables:
            inside = [n for i, n in variable.items() if i in atoms]
            if inside and not set(variable) <= atoms:
                needed.add(inside[0])
        for i, a, j, b in self.null_safe:
            needed |= {n for k, n, other in ((i, a, j), (j, b, i)) if k in atoms and other not in atoms}
        for r in self.ranges:
            if not {r.left, r.right} <= atoms:
                needed |= {r.less.name, r.more.name}
        for condition in self.residual:
            if not self.of(condition) <= atoms:
                needed |= columns_of(condition)
        return [f for i in sorted(atoms) for f in self.fields[i].values() if f.name in needed]
