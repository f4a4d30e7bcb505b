"""An open epoch: the deltas so far, and the state before and after them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.rows import Rows
from viewlet.engine.prepared import PreparedProgram, PreparedStep
from viewlet.program.terms import Regroup, SparkRowwise
from viewlet.store import Contents, Layout, RunRef, Transaction, make_contents


class OnSpark(Protocol):
    """Runs operators that only Spark can evaluate."""

    def row_wise(self, view: str, term: SparkRowwise, rows: Rows) -> Rows: ...
    def regroup(self, view: str, term: Regroup, inputs: Sequence[Rows]) -> Rows: ...


class OpenEpoch:
    """The changes of one epoch while programs run; all of it is in the transaction, or nothing is."""

    def __init__(self, transaction: Transaction, spark: OnSpark) -> None:
        self.transaction = transaction
        self.spark = spark
        self.changes: dict[str, Rows] = {}
        self.view = ""
        self.initial = False
        self.done: set[str] = set()
        """The maps that are up to date: one that several views share is brought there once."""
        self._empty: dict[str, Contents] = {}
        self._aside: str | None = None

    def add(self, bag: str, delta: Rows, layout: Layout | None) -> None:
        """Record what changes in a bag, and append it where it has a layout to be kept in."""
        self.changes[bag] = delta
        if layout is not None and bag != self._aside:
            self.transaction.append(bag, delta, layout)

    def put(self, step: PreparedStep, rows: Rows) -> None:
        """Add what the terms of a step came to; stored rows are netted as they are sorted, others here."""
        name = step.map.name
        if step.map.stored and name != self._aside:
            delta = self.transaction.append(name, rows, step.layout)
        else:
            delta = rows if step.is_netted else rows.consolidate(step.map.sums)
        if len(delta):
            self.changes[name] = delta

    def adopt(self, bag: str, delta: Rows, refs: Sequence[RunRef], layout: Layout | None) -> None:
        """Record what changes in a bag, whose runs are written already where it has a layout to be kept in."""
        self.changes[bag] = delta
        if layout is not None:
            self.transaction.adopt(bag, refs, layout, {name: delta[name].type for name in layout.columns})

    def layout(self, step: PreparedStep) -> Layout | None:
        """How a step's map is stored, if it is: another view that shares it may look it up in further ways."""
        if not step.map.stored or step.map.name == self._aside:
            return None
        return self.transaction.layout(step.map.name) or step.layout

    def begin(self, ready: PreparedProgram, *, initial: bool = False) -> None:
        """The programs' turn passes to a view; in its first epoch its maps are made, empty."""
        self.view, self.initial = ready.program.view, initial
        if initial:
            for step in (s for s in ready.steps if s.map.stored):
                self._make(step)

    def begin_anew(self, ready: PreparedProgram) -> None:
        """A view is computed from nothing although it is there: its other maps are made again, it is put aside."""
        self.view, self.initial, self._aside = ready.program.view, True, ready.program.view
        for step in (s for s in ready.steps if s.map.stored):
            if step.map.name == self._aside:
                there = self.transaction.contents(step.map.name)
                self._empty[step.map.name] = make_contents(there.layout, (), there.types)
            else:
                self.transaction.drop(step.map.name)
                self._make(step)

    def _make(self, step: PreparedStep) -> None:
        """An empty map; one that another view keeps already is taken as it is, and all of it as its first delta."""
        name, layout = step.map.name, step.layout
        types = {f.name: arrow_type(f.type) for f in step.map.columns}
        there = self.transaction.contents(name) if self.transaction.has(name) else None
        if there is None:
            self.transaction.create(name, layout, types)
            self._empty[name] = self.transaction.contents(name)
            return
        rows = there.consolidated()
        wider = there.layout.with_lookups(layout.lookups)
        if wider != there.layout:
            self.transaction.drop(name)
            self.transaction.append(name, rows, wider)
        self._empty[name] = make_contents(wider, (), there.types)
        self.done.add(name)
        if len(rows):
            self.changes[name] = rows

    def change(self, bag: str) -> Rows | None:
        return self.changes.get(bag)

    def old(self, bag: str) -> Contents:
        return self._empty[bag] if bag in self._empty else self.transaction.before(bag)

    def new(self, bag: str) -> Contents:
        return self.transaction.contents(bag)

    def on_spark(self, term: SparkRowwise, rows: Rows) -> Rows:
        return self.spark.row_wise(self.view, term, rows)

    def regroup_on_spark(self, term: Regroup, inputs: Sequence[Rows]) -> Rows:
        return self.spark.regroup(self.view, term, inputs)
