"""A step as a Spark task: part of a term on one partition, with the same code as in process."""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import values_of
from viewlet.columns.rows import Rows
from viewlet.engine.cluster.exchange import Target, by_partition, pack, piece_batch, unpack
from viewlet.engine.terms.compile_term import WithoutSpark, compile_step, compile_term
from viewlet.engine.terms.regroup_groups import group_rows, regroup_function, replace_groups
from viewlet.program.terms import FinalizeSums, Fold, Probe, Regroup, Sessionize, Term
from viewlet.store import Contents, Layout, RunRef, open_contents, write_runs


@dataclass(frozen=True, slots=True)
class Lookups:
    """The runs of a map, for look-ups."""

    refs: tuple[RunRef, ...]
    layout: Layout
    types: dict[str, pa.DataType]


class TaskEpoch(WithoutSpark):
    """The epoch as one task sees it: its share of a delta, and maps opened in place."""

    def __init__(self, task: Task, part: int, change: Rows | None) -> None:
        self.task, self.part, self.initial = task, part, task.initial
        self._change = change

    def change(self, bag: str) -> Rows | None:
        return self._change

    def old(self, bag: str) -> Contents:
        return self._open(bag, "old")

    def new(self, bag: str) -> Contents:
        return self._open(bag, "new")

    def _open(self, bag: str, version: str) -> Contents:
        found = self.task.maps[bag, version]
        contents = open_contents(self.task.address, found.refs, found.layout, found.types)
        return contents.partition(self.part, self.task.parts) if bag in self.task.sliced else contents


@dataclass(frozen=True)
class Task:
    """Maps pieces of a partition to pieces for the next ones, for `mapInArrow`."""

    address: str
    parts: int
    steps: tuple[Term, ...]
    maps: dict[tuple[str, str], Lookups]
    target: Target
    initial: bool
    sliced: frozenset[str] = frozenset()
    """Maps of which the task reads only its own partition, since it got every row of the delta."""
    writes: tuple[Layout | None, tuple[str, ...]] | None = None
    """For the last task: the layout and sums of the map whose run it writes; without a layout it only adds up."""

    @staticmethod
    def running(
        address: str,
        parts: int,
        steps: tuple[Term, ...],
        maps: dict[tuple[str, str], Lookups],
        target: Target,
        initial: bool,
    ) -> Task:
        """The task of a segment."""
        sliced = frozenset(s.map for s in steps if isinstance(s, Probe) and not s.read.on)
        return Task(address, parts, steps, maps, target, initial, sliced)

    @staticmethod
    def finishing(address: str, parts: int, layout: Layout | None, sums: tuple[str, ...]) -> Task:
        """The task that adds up a map's delta and writes its run."""
        return Task(address, parts, (), {}, Target(), False, writes=(layout, sums))

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        shares: dict[int, list[Rows]] = {}
        for batch in batches:
            for part, data in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
                shares.setdefault(part, []).append(unpack(data))
        for part, pieces in shares.items():
            there = [p for p in pieces if len(p)]
            rows = Rows.concat(there) if there else None
            yield from self._finish(rows) if self.writes else self._run(part, rows)

    def _run(self, part: int, rows: Rows | None) -> Iterator[pa.RecordBatch]:
        result = self._result(TaskEpoch(self, part, rows), rows)
        if result is not None and len(result):
            yield piece_batch(by_partition(result, self.target, self.parts))

    def _result(self, epoch: TaskEpoch, rows: Rows | None) -> Rows | None:
        first, *rest = self.steps
        match first:
            case FinalizeSums() | Fold() | Sessionize():
                rows = compile_term(first)(epoch)
            case Regroup():
                rows = _regrouped(first, epoch, rows)
            case _:
                rest = list(self.steps)
        for step in rest:
            if rows is None or not len(rows):
                return None
            rows = compile_step(step)(epoch, rows)  # type: ignore[arg-type]
        return rows

    def _finish(self, rows: Rows | None) -> Iterator[pa.RecordBatch]:
        assert self.writes is not None
        layout, sums = self.writes
        delta = None if rows is None else rows.consolidate(sums)
        if delta is not None and len(delta):
            # A map's name may contain anything: characters that file names must not, or the number of an epoch.
            own = f"task-{uuid.uuid4().hex}"
            refs = () if layout is None else write_runs(self.address, delta, layout, name=own)
            yield pa.RecordBatch.from_pydict({"ref": [pickle.dumps(refs)], "data": [pack(delta)]})


def _regrouped(term: Regroup, epoch: TaskEpoch, rows: Rows | None) -> Rows | None:
    """A regrouped operator on the groups of this partition."""
    if rows is None:
        return None
    touched = values_of(rows["touched"], "i8").view(np.uint64)
    inputs = [group_rows(epoch.new(i.map), i, touched) for i in term.inputs]
    return replace_groups(term, epoch.old(term.target), touched, regroup_function(term)(inputs))
