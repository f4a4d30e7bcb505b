"""A cluster of lists: runs distributed programs on partitions in memory, where a task sees its own partition alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from tests.local_epoch import LocalEpoch
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.hash import hash_rows
from viewlet.columns.rows import Rows
from viewlet.engine.prepared import layout_of
from viewlet.engine.terms.compile_term import compile_term
from viewlet.plan.sums import SLOT
from viewlet.plan.types import Field
from viewlet.program.distributed import (
    Arrival,
    Compute,
    Distributed,
    Local,
    Move,
    Partitioned,
    Replicated,
    Statement,
    Tag,
    Update,
)
from viewlet.program.program import Map, Step
from viewlet.program.terms import KEY
from viewlet.store import Contents, make_contents
from viewlet.store.runs.write_runs import make_map_run

DRIVER = -1
runnable = cache(compile_term)


def contents_of(kept: Map, rows: Rows | None) -> Contents:
    """A map's rows as a store would give them."""
    layout = layout_of(kept, is_view=False)
    types = {f.name: arrow_type(f.type) for f in kept.columns}
    runs = [] if rows is None or not len(rows) else make_map_run(rows.select(layout.columns), layout)
    return make_contents(layout, runs, types)


def together(rows: Iterable[Rows | None], columns: Sequence[Field]) -> Rows | None:
    """Some bags, by position, under the names of some columns; further ones are left out. None for nothing."""
    names = [f.name for f in columns]
    there = [Rows(dict(zip(names, r.columns.values(), strict=False)), r.weights) for r in rows if r is not None]
    return Rows.concat(there) if there else None


def added(rows: Iterable[Rows | None], columns: Sequence[Field], sums: tuple[str, ...]) -> Rows | None:
    """The net of some bags."""
    total = together(rows, columns)
    net = None if total is None else total.consolidate(sums)
    return net if net is not None and len(net) else None


@dataclass
class Site(LocalEpoch):
    """What one partition, or the driver, can read."""

    maps: Mapping[str, Map]
    initial: bool = False
    deltas: dict[str, Rows | None] = field(default_factory=dict)
    before: dict[str, Rows | None] = field(default_factory=dict)
    after: dict[str, Rows | None] = field(default_factory=dict)
    elsewhere: Callable[[str], Rows | None] | None = None
    """Maps that are not here: only the driver may read them, the first rows of an order."""
    _opened: dict[tuple[str, int], Contents] = field(default_factory=dict)

    def change(self, bag: str) -> Rows | None:
        return self.deltas.get(bag)

    def old(self, bag: str) -> Contents:
        return self._contents(bag, self.before[bag])

    def new(self, bag: str) -> Contents:
        if bag not in self.after and self.elsewhere is not None:
            return contents_of(self.maps[bag], self.elsewhere(bag))
        return self._contents(bag, self.after[bag])

    def _contents(self, bag: str, rows: Rows | None) -> Contents:
        if (bag, id(rows)) not in self._opened:
            self._opened[bag, id(rows)] = contents_of(self.maps[bag], rows)
        return self._opened[bag, id(rows)]

    def update(self, kept: Map, rows: Iterable[Rows | None]) -> None:
        """Add rows to a map; the net of them is its delta."""
        delta = added(rows, kept.columns, kept.sums)
        self.deltas[kept.name] = delta
        if kept.stored:
            self.after[kept.name] = added((self.before[kept.name], delta), kept.columns, kept.sums)

    def next_epoch(self, *, initial: bool = False) -> None:
        self.before, self.deltas, self.initial, self._opened = dict(self.after), {}, initial, {}


def partition_numbers(rows: Rows, columns: tuple[str, ...], parts: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The partition of each row; groups say theirs by their hash."""
    hashes = rows[KEY].to_numpy().view(np.uint64) if columns == (KEY,) else rows.hashes(columns)
    return (hashes % np.uint64(parts)).astype(np.int64)


class Partitions:
    """Some partitions and a driver, with the maps of some steps, empty at first."""

    def __init__(self, steps: Sequence[Step], tags: Mapping[str, Tag], parts: int) -> None:
        self.maps = {s.map.name: s.map for s in steps}
        self.tags, self.parts = tags, parts
        self.home = int(hash_rows([], 1)[0] % np.uint64(parts))
        self.sites = {at: Site(self.maps) for at in (DRIVER, *range(parts))}
        for at, site in self.sites.items():
            site.after = {n: None for n in self.maps if isinstance(tags.get(n), Local) == (at == DRIVER)}
        self._everywhere: set[str] = set()

    def run(self, program: Distributed, changes: Mapping[str, Rows], *, initial: bool = False) -> None:
        """One epoch."""
        self._everywhere.clear()
        for site in self.sites.values():
            site.next_epoch(initial=initial)
        for statement in program.statements:
            self._run(statement, changes)
            if isinstance(statement.tag, Replicated):
                self._everywhere.add(statement.name)

    def _run(self, statement: Statement, changes: Mapping[str, Rows]) -> None:
        match statement:
            case Arrival(name):
                for at in range(self.parts):
                    self.sites[at].deltas[name] = self._dealt(changes.get(name), at)
            case Compute(name, term, tag, given):
                for at in self._sites(tag):
                    self.sites[at].deltas[name] = runnable(term)(self._reader(at, given))
            case Move(name, source, _, tag, columns):
                rows = self._collected(source, columns)
                for at in self._sites(tag):
                    self.sites[at].deltas[name] = self._share(rows, tag, at)
            case Update(kept, sources, tag):
                for at in self._sites(tag):
                    self.sites[at].update(kept, [self.sites[at].deltas.get(s) for s in sources])

    def _dealt(self, rows: Rows | None, at: int) -> Rows | None:
        """What came in at a partition: any rows."""
        return None if rows is None else rows.filter(np.arange(len(rows)) % self.parts == at)

    def _sites(self, tag: Tag) -> Iterable[int]:
        match tag:
            case Local():
                return (DRIVER,)
            case Partitioned(()):
                return (self.home,)
            case _:
                return range(self.parts)

    def _reader(self, at: int, given: Iterable[tuple[str, str]]) -> Site:
        """What a statement reads at a place."""
        site = self.sites[at]
        instead = {bag: site.deltas.get(result) for bag, result in given}
        return replace(site, deltas={**site.deltas, **instead}, elsewhere=self.whole if at == DRIVER else None)

    def _collected(self, source: str, columns: tuple[Field, ...]) -> Rows | None:
        sites = [self.sites[0]] if source in self._everywhere else self.sites.values()
        return together((site.deltas.get(source) for site in sites), columns)

    def _share(self, rows: Rows | None, tag: Tag, at: int) -> Rows | None:
        if rows is None or not isinstance(tag, Partitioned):
            return rows
        return rows.filter(partition_numbers(rows, tag.columns, self.parts) == at)

    def whole(self, name: str) -> Rows | None:
        """All rows of a map, which are where its tag says."""
        kept, tag = self.maps[name], self.tags[name]
        shares = {at: self.sites[at].after.get(name) for at in self._sites(tag)}
        if isinstance(tag, Replicated):
            first, *others = (as_bag(rows) for rows in shares.values())
            assert all(first == other for other in others), f"{name} is not the same on every partition"
            return shares[0]
        if isinstance(tag, Partitioned):
            astray = [
                at
                for at, rows in shares.items()
                if rows is not None and len(rows) != len(self._share(rows, tag, at) or ())
            ]
            assert not astray, f"{name} has rows on partitions {astray} that belong elsewhere"
        return added(shares.values(), kept.columns, kept.sums)


class OnePlace:
    """The same steps without partitions: what a distributed program is compared with."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = steps
        self.site = Site({s.map.name: s.map for s in steps})
        self.site.after = dict.fromkeys(self.site.maps)

    def run(self, changes: Mapping[str, Rows], *, initial: bool = False) -> None:
        """One epoch."""
        self.site.next_epoch(initial=initial)
        self.site.deltas.update(changes)
        for step in self.steps:
            self.site.update(step.map, [runnable(term)(self.site) for term in step.terms])


def as_bag(rows: Rows | None, sums: Iterable[str] = ()) -> dict[tuple[Any, ...], int]:
    """Rows as Python values, each with how often it occurs; limbs and slots as the number that they are, which they are in many ways."""
    if rows is None:
        return {}
    values: dict[str, list[Any]] = {}
    for name, column in rows.columns.items():
        number, _, limb = name.rpartition("_")
        if name in sums and limb.isdigit():
            known = values.get(number, [0] * len(rows))
            values[number] = [a + (v << (32 * int(limb))) for a, v in zip(known, column.to_pylist(), strict=True)]
        else:
            values[name] = [v if name in sums else repr(v) for v in column.to_pylist()]
    found: dict[tuple[Any, ...], int] = {}
    for at, weight in enumerate(rows.weights.tolist()):
        row = tuple(column[at] for column in values.values())
        found[row] = found.get(row, 0) + weight
    numbers = [i for i, name in enumerate(values) if name not in rows.columns or name in sums]
    there = {row: n for row, n in found.items() if n or any(int(row[i]) for i in numbers)}
    return _carried(there, list(values).index(SLOT)) if SLOT in values else there


def _carried(rows: Mapping[tuple[Any, ...], int], slot: int) -> dict[tuple[Any, ...], int]:
    """Rows of slots with the weights of each group's slots as the one number that they are; slot 0 counts and stays."""
    found: dict[tuple[Any, ...], int] = {}
    for row, weight in rows.items():
        at = int(row[slot])
        group = row if at == 0 else (*row[:slot], "all", *row[slot + 1 :])
        found[group] = found.get(group, 0) + (weight << (32 * at))
    return {row: n for row, n in found.items() if n or row[slot] == "0"}
