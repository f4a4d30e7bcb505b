"""One run of one compiled program: what its terms read, and where its maps' deltas go.

An epoch has a run for each view that it reaches; a program that is computed anew has one over deltas of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.rows import Rows
from viewlet.engine.epoch import EpochDeltas
from viewlet.engine.prepared import PreparedProgram, PreparedStep
from viewlet.engine.whole_bag import Source
from viewlet.program.terms import Regroup, SparkRowwise
from viewlet.store import Contents, Layout, RunRef, make_contents

_MANY = 1 << 17
"""Rows of a map that are read piece by piece by what follows from them, in a run that fills it."""


class OnSpark(Protocol):
    """Runs the operators of a program that only Spark can evaluate."""

    def row_wise(self, term: SparkRowwise, rows: Rows) -> Rows: ...
    def regroup(self, term: Regroup, inputs: Sequence[Rows]) -> Rows: ...


class ProgramRun:
    """A program that is brought up to date with an epoch's deltas, or filled with its maps made first."""

    def __init__(
        self,
        deltas: EpochDeltas,
        ready: PreparedProgram,
        spark: OnSpark,
        *,
        initial: bool = False,
        sources: Mapping[str, Source] | None = None,
    ) -> None:
        self.deltas = deltas
        self.sources = dict(sources or {})
        """Bags all of whose rows are the change, in a run that fills maps: they can be read piece by piece."""
        self.ready = ready
        self.initial = initial
        """Whether this is the program's first run, which puts in what is there without any data."""
        self._spark = spark
        self._empty: dict[str, Contents] = {}
        self._aside: str | None = None
        if initial:
            for step in (s for s in ready.steps if s.map.stored):
                self._make(step)

    @classmethod
    def anew(
        cls,
        deltas: EpochDeltas,
        ready: PreparedProgram,
        spark: OnSpark,
        sources: Mapping[str, Source],
        shared: Collection[str] = (),
    ) -> ProgramRun:
        """A run from scratch of a program that is there: its maps are made again, its result is only a delta.

        `shared` maps, which other views keep, are taken as they are.
        """
        run = cls(deltas, ready, spark, sources=sources)
        run.initial, run._aside = True, ready.program.view
        for step in (s for s in ready.steps if s.map.stored):
            if step.map.name == run._aside:
                there = deltas.transaction.contents(step.map.name)
                run._empty[step.map.name] = make_contents(there.layout, (), there.types)
            else:
                if step.map.name not in shared:
                    deltas.transaction.drop(step.map.name)
                run._make(step)
        return run

    def was_empty(self, bag: str) -> bool:
        """Whether a map was empty before this run, which fills it."""
        return bag in self._empty

    def begins(self, step: PreparedStep) -> bool:
        """Whether a step is still to be run; it counts as done from now on."""
        if step.map.name in self.deltas.done:
            return False
        self.deltas.done.add(step.map.name)
        return True

    def put(self, step: PreparedStep, rows: Rows) -> None:
        """Add what the terms of a step came to; stored rows are netted as they are sorted, others here."""
        name = step.map.name
        if self.fills(step) and (len(rows) > _MANY or name in self.sources):
            self.fill(step, rows)
        elif step.map.stored and name != self._aside:
            self.deltas.add_unnetted(name, rows, step.layout)
        else:
            delta = rows if step.is_netted and not self.initial else rows.consolidate(step.map.sums)
            if len(delta):
                self.deltas.changes[name] = delta

    def fills(self, step: PreparedStep) -> bool:
        """Whether this run fills a step's map, and nobody asks for all of its rows at once."""
        return self.initial and step.map.stored and step.map.name != self.ready.program.view

    def fill(self, step: PreparedStep, rows: Rows) -> None:
        """Put many rows into a map, all that there are or some; what follows from them reads them piece by piece."""
        name = step.map.name
        self.deltas.transaction.fill(name, rows, step.layout)
        self.sources[name] = Source(self.new(name), step.layout.columns)

    def adopt(self, step: PreparedStep, delta: Rows, refs: Sequence[RunRef]) -> None:
        """Record what changes in a step's map, whose runs tasks have written where it is kept."""
        layout = self.layout(step)
        if layout is None:
            self.deltas.changes[step.map.name] = delta
        else:
            self.deltas.adopt(step.map.name, delta, refs, layout)

    def layout(self, step: PreparedStep) -> Layout | None:
        """How a step's map is stored, if it is: another view that shares it may look it up in further ways."""
        if not step.map.stored or step.map.name == self._aside:
            return None
        return self.deltas.transaction.layout(step.map.name) or step.layout

    def change(self, bag: str) -> Rows | None:
        if bag in self.sources and bag not in self.deltas.changes:
            self.deltas.changes[bag] = self.sources[bag].all()
        return self.deltas.changes.get(bag)

    def old(self, bag: str) -> Contents:
        return self._empty[bag] if bag in self._empty else self.deltas.transaction.before(bag)

    def new(self, bag: str) -> Contents:
        return self.deltas.transaction.contents(bag)

    def on_spark(self, term: SparkRowwise, rows: Rows) -> Rows:
        return self._spark.row_wise(term, rows)

    def regroup_on_spark(self, term: Regroup, inputs: Sequence[Rows]) -> Rows:
        return self._spark.regroup(term, inputs)

    def _make(self, step: PreparedStep) -> None:
        """An empty map; one that another view keeps already is taken as it is, and all of it as its first delta."""
        name, layout, transaction = step.map.name, step.layout, self.deltas.transaction
        types = {f.name: arrow_type(f.type) for f in step.map.columns}
        there = transaction.contents(name) if transaction.has(name) else None
        if there is None:
            transaction.create(name, layout, types)
            self._empty[name] = transaction.contents(name)
            return
        wider = there.layout.with_lookups(layout.lookups)
        if wider != there.layout:
            rows = there.consolidated()
            transaction.drop(name)
            transaction.fill(name, rows, wider)
        self._empty[name] = make_contents(wider, (), there.types)
        self.deltas.done.add(name)
        self.sources[name] = Source(transaction.contents(name), layout.columns)
