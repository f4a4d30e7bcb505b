"""Column domains and map sizes, estimated from the keys and sizes of tables.

Columns that statements compare for equality, or copy, share a domain: `l_orderkey` is looked up in `o_orderkey`, the
key of `orders`, so a map by either has at most as many keys as there are orders. Estimates only guide where maps are
placed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from viewlet.compile.cost import ROWS
from viewlet.compile.options import Facts
from viewlet.plan.expr import Column
from viewlet.plan.nodes import Aggregate
from viewlet.program.chain import chain
from viewlet.program.program import Step
from viewlet.program.terms import (
    Change,
    Combine,
    FinalizeSums,
    Fold,
    GroupSums,
    Probe,
    Project,
    Regroup,
    Sessionize,
    Term,
    TopK,
    Values,
)

Place = tuple[str, int]
"""A column of a table or map, by position."""
Known = dict[str, Place]

DISTINCT = 25
"""The assumed number of values of a non-key column: like the thesis, we take groups by such columns to be few."""
PER_KEY = 4
"""The assumed number of rows that share the first column of a compound key."""


class Lineage:
    """What the statements of some steps imply about columns and sizes."""

    def __init__(self, steps: Sequence[Step], facts: Facts) -> None:
        self.facts = facts
        self.positions = {s.map.name: {f.name: i for i, f in enumerate(s.map.columns)} for s in steps}
        self._parents: dict[Place, Place] = {}
        for step in steps:
            for term in step.terms:
                self._connect(step.map.name, term)
        self._cardinalities = self._key_domains()
        self.rows: dict[str, float] = {}
        for step in steps:
            known = facts.rows.get(step.map.name)
            self.rows[step.map.name] = max(map(self._size, step.terms), default=0.0) if known is None else known

    def cardinality(self, bag: str, column: str) -> float | None:
        """How many values a map's column can have, if they come from a table's key."""
        return self._cardinalities.get(self.domain(bag, column))

    def domain(self, bag: str, column: str) -> Place:
        """The representative of all columns in the same domain."""
        return self._find((bag, self.positions[bag][column]))

    def _key_domains(self) -> dict[Place, float]:
        found: dict[Place, float] = {}
        for table, key in self.facts.keys.items():
            rows = float(self.facts.rows.get(table, ROWS))
            root = self._find((table, key[0]))
            found[root] = max(found.get(root, 0.0), rows if len(key) == 1 else rows / PER_KEY)
        return found

    def _find(self, place: Place) -> Place:
        while (parent := self._parents.get(place, place)) != place:
            place = parent
        return place

    def _unite(self, a: Place | None, b: Place | None) -> None:
        if a is not None and b is not None and (a := self._find(a)) != (b := self._find(b)):
            self._parents[a] = b

    def _connect(self, target: str, term: Term) -> None:
        known: Known = {}
        for step in chain(term):
            known = self._follow(step, known)
        for i, field in enumerate(term.columns):
            self._unite(known.get(field.name), (target, i))

    def _follow(self, step: Term, known: Known) -> Known:
        """The origin of each column after a step."""
        match step:
            case Change(bag, columns):
                return {f.name: (bag, i) for i, f in enumerate(columns) if f.name != step.weight}
            case FinalizeSums(name, keys, _, columns) | Fold(name, keys, _, _, columns):
                places = [self._place(name, key) for key in keys]
                return {f.name: p for f, p in zip(columns, places, strict=False) if p is not None}
            case Sessionize(name) | TopK(name):
                return {f.name: (name, i) for i, f in enumerate(step.columns) if i < len(self.positions[name])}
            case Regroup(inputs):
                return {f.name: (i.map, at) for i in inputs for at, f in enumerate(i.columns)}
            case Probe():
                for match in step.read.on:
                    self._unite(known.get(match.column), self._place(step.map, match.map_column))
                taken = {new: self._place(step.map, own) for own, new in step.take}
                return known | {name: place for name, place in taken.items() if place is not None}
            case Project(results=results):
                copied = {r.name: r.expr.name for r in results if isinstance(r.expr, Column)}
                return {new: known[old] for new, old in copied.items() if old in known}
            case _:
                names = {f.name for f in step.columns}
                return {name: place for name, place in known.items() if name in names}

    def _place(self, bag: str, column: str) -> Place | None:
        at = self.positions.get(bag, {}).get(column)
        return None if at is None else (bag, at)

    def _size(self, term: Term) -> float:
        """How many rows a term returns if everything is new."""
        rows = 0.0
        known: Known = {}
        for step in chain(term):
            known = self._follow(step, known)
            match step:
                case Change(bag):
                    rows = self._rows(bag)
                case Values(constants):
                    rows = float(len(constants))
                case FinalizeSums(name) | Sessionize(name):
                    rows = self._rows(name)
                case TopK():
                    rows = float(step.kept)
                case Fold(name, keys, _, _, columns):
                    rows = min(self._rows(name), self._groups(known, [f.name for f in columns[: len(keys)]]))
                case Regroup(inputs, function):
                    is_one = isinstance(function, Aggregate) and not step.is_keyed
                    rows = 1.0 if is_one else max((self._rows(i.map) for i in inputs), default=1.0)
                case Probe():
                    rows = max(rows, self._rows(step.map))
                case GroupSums(keys=keys) | Combine(keys=keys):
                    rows = min(rows, self._groups(known, keys))
                case _:
                    pass
        return rows

    def _rows(self, bag: str) -> float:
        return self.rows.get(bag, float(self.facts.rows.get(bag, ROWS)))

    def _groups(self, known: Mapping[str, Place], keys: Sequence[str]) -> float:
        """The estimated number of groups."""
        places = (known.get(key) for key in keys)
        return prod(DISTINCT if p is None else self._cardinalities.get(self._find(p), DISTINCT) for p in places)
