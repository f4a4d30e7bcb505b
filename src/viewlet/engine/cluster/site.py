"""One partition while an epoch runs: its share of every result, maps opened where they are, runs that are written here.

A map as the epoch leaves it (`new`) is what was committed and the run that its delta has become on this partition.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace

import numpy as np

from viewlet.columns.rows import Rows
from viewlet.engine.cluster.maps import StoredMap
from viewlet.engine.cluster.shares import together
from viewlet.program.distributed import Replicated, Update
from viewlet.program.program import Map
from viewlet.program.terms import Regroup, SparkRowwise
from viewlet.store import Contents, RunRef, make_contents
from viewlet.store.runs.runs import Run
from viewlet.store.runs.write_runs import make_map_run, save_durably
from viewlet.store.storage.open_storage import storage_at


@dataclass(frozen=True, slots=True)
class Written:
    """A run that a task made of a map's delta: in a file under a name of its own, or small enough to be sent."""

    map: str
    ref: RunRef
    inserted: int
    deleted: int
    counts: bool = True
    """Whether it is the one that is committed, where every partition makes the same."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """What stages took: bytes that went through exchanges, bytes of runs that were read, runs that were open already."""

    shuffled_bytes: int = 0
    read_bytes: int = 0
    runs_read: int = 0
    runs_at_hand: int = 0

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


@dataclass
class Site:
    """What the statements of a stage can read on one partition."""

    address: str
    part: int
    parts: int
    inline: int
    """The bytes up to which a run is sent instead of written."""
    maps: Mapping[str, StoredMap]
    deltas: dict[str, Rows] = field(default_factory=dict)
    written: dict[str, Written] = field(default_factory=dict)
    instead: Mapping[str, str] = field(default_factory=dict)
    """Results that stand for the deltas of maps, for the statement that runs."""
    is_cut: bool = False
    """Whether maps show just the rows of this partition, to the statement that runs."""
    initial: bool = False
    _opened: dict[tuple[str, bool], Contents] = field(default_factory=dict)
    _runs: dict[str, Run] = field(default_factory=dict)
    _used: list[tuple[Run, bool]] = field(default_factory=list)
    """The runs of maps that were looked at, and whether an earlier task of this worker had opened them."""

    def reader(self, given: Iterable[tuple[str, str]], *, is_cut: bool) -> Site:
        """The same place as one statement sees it."""
        return replace(self, instead=dict(given), is_cut=is_cut)

    def change(self, bag: str) -> Rows | None:
        name = self.instead.get(bag, bag)
        if name not in self.deltas and name in self._runs:
            self.deltas[name] = self._runs[name].map.as_rows(self.maps[name].layout)
        return self.deltas.get(name)

    def old(self, bag: str) -> Contents:
        key = bag, self.is_cut
        if key not in self._opened:
            whole = self.maps[bag].open(self.address)
            self._used += [(run, run.is_open) for run in whole.runs if run.ref.file]
            self._opened[key] = self.maps[bag].share(whole, self.part, self.parts) if self.is_cut else whole
        return self._opened[key]

    @property
    def traffic(self) -> Traffic:
        """What was read here so far."""
        read = [run.ref.size for run, was_open in self._used if not was_open and run.is_open]
        return Traffic(0, sum(read), len(read), sum(was_open for _, was_open in self._used))

    def new(self, bag: str) -> Contents:
        old = self.old(bag)
        if bag not in self._runs:
            return old
        if old.part is not None:  # all rows of the delta belong here
            return make_contents(old.layout, (*old.runs, self._runs[bag]), old.types).partition(*old.part)
        return make_contents(old.layout, (*old.runs, self._runs[bag]), old.types)

    def on_spark(self, term: SparkRowwise, rows: Rows) -> Rows:
        raise AssertionError("a task cannot ask Spark")

    def regroup_on_spark(self, term: Regroup, inputs: Sequence[Rows]) -> Rows:
        raise AssertionError("a task cannot ask Spark")

    def put(self, name: str, rows: Rows | None) -> None:
        """Keep a result; no rows are none."""
        if rows is not None and len(rows):
            self.deltas[name] = rows

    def update(self, statement: Update) -> None:
        """Add what some results come to to a map; the net of it is its delta."""
        rows = together([self.change(name) for name in statement.sources], statement.map.columns)
        if rows is None:
            return
        if not statement.map.stored:
            self.put(statement.name, rows.consolidate(statement.map.sums))
            return
        self._append(statement.map, rows, counts=not isinstance(statement.tag, Replicated) or self.part == 0)

    def _append(self, kept: Map, rows: Rows, *, counts: bool) -> None:
        layout = self.maps[kept.name].layout
        for run in make_map_run(rows.select(layout.columns), layout):
            weights = run.map.as_rows(layout).weights
            ends = int(np.maximum(weights, 0).sum()), int(np.maximum(-weights, 0).sum())
            filed = counts and run.ref.size > self.inline
            self._runs[kept.name] = save_durably(run, self.address, f"task-{uuid.uuid4().hex}") if filed else run
            self.written[kept.name] = Written(kept.name, _sendable(self._runs[kept.name].ref), *ends, counts)

    def take_over(self, made: Written) -> None:
        """Go on with a run that an earlier stage made here."""
        stored = self.maps.get(made.map)
        self.written[made.map] = made
        if stored is not None:
            self._runs[made.map] = Run(made.ref, stored.layout, stored.types, storage=storage_at(self.address))


def _sendable(ref: RunRef) -> RunRef:
    """The same with its bytes in one piece."""
    return ref if ref.data is None else replace(ref, data=(b"".join(ref.data),))
