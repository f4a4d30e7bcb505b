"""One run of one compiled program: what its terms read, and where the deltas of its maps go.

An epoch has one run per affected view; a program that is computed anew has one over deltas of its own.
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
"""In a run that fills maps, a map with more rows than this is read in pieces by later steps."""


class OnSpark(Protocol):
    """Evaluates the operators of a program that only Spark can evaluate."""

    def row_wise(self, term: SparkRowwise, rows: Rows) -> Rows: ...
    def regroup(self, term: Regroup, inputs: Sequence[Rows]) -> Rows: ...


class ProgramRun:
    """Refreshes a program with an epoch's deltas or, initially, creates and fills its maps."""

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
        """Bags of which all rows are the change, in a run that fills maps; they can be read in pieces."""
        self.ready = ready
        self.initial = initial
        """Whether this is the program's first run, which adds rows that exist without any data."""
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
        """A run from scratch of an existing program: its maps are rebuilt, and its result is only a delta.

        `shared` maps, which other views keep, are used as they are.
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
        """Whether a step has not run yet; marks it as done."""
        if step.map.name in self.deltas.done:
            return False
        self.deltas.done.add(step.map.name)
        return True

    def put(self, step: PreparedStep, rows: Rows) -> None:
        """Add the result of a step's terms; stored rows are netted as they are sorted, others here."""
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
        """Whether this run fills a step's map whose rows need not be known all at once."""
        return self.initial and step.map.stored and step.map.name != self.ready.program.view

    def fill(self, step: PreparedStep, rows: Rows) -> None:
        """Put many rows, all or some, into a map; later steps read them in pieces."""
        name = step.map.name
        self.deltas.transaction.fill(name, rows, step.layout)
        self.sources[name] = Source(self.new(name), step.layout.columns)

    def adopt(self, step: PreparedStep, delta: Rows, refs: Sequence[RunRef]) -> None:
        """Record the delta of a step's map; its runs, if it is stored, were written by tasks."""
        layout = self.layout(step)
        if layout is None:
            self.deltas.changes[step.map.name] = delta
        else:
            self.deltas.adopt(step.map.name, delta, refs, layout)

    def layout(self, step: PreparedStep) -> Layout | None:
        """The layout of a step's map, None if it is not stored; a view that shares it may have added look-ups."""
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
        """Create an empty map; an existing one of another view is used as it is, with all of its rows as its delta."""
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
