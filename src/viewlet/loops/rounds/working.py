"""Maps during the rounds of one epoch: the stored contents, and what the rounds have added, in memory.

A round reads maps as they were before it (`old`) and with its own additions (`new`). Nothing is stored until the last
round has ended, so an attempt can be abandoned.

For rounds on a cluster, these maps play the role of an epoch's transaction (`engine.epoch.Bags`): tasks read the runs
of maps in place, and the runs that they write are added by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pyarrow as pa

from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.rows import Rows
from viewlet.engine.prepared import PreparedProgram
from viewlet.plan.types import Field
from viewlet.store import Contents, Layout, RunRef, Transaction, make_contents
from viewlet.store.runs.map_run import MapBody, build
from viewlet.store.runs.runs import Run, Types

_FEW = 4
"""How many runs of similar size are merged."""
_MANY = 64
"""How many added runs are merged before they are sent to tasks."""
Place = Callable[[MapBody], Run]
"""Makes a run that tasks can read."""


class WorkingMap:
    """A map that rounds add to."""

    def __init__(self, there: Contents) -> None:
        self._there = there
        self._added: list[Run] = []
        self.now = there

    def add(self, rows: Rows) -> Rows:
        """Add rows; return them netted."""
        run = _run_of(rows, self._there.layout, self._there.types)
        if run is None:
            return self._there.nothing()
        self._added.append(run)
        self._merge()
        self._show()
        return run.map.as_rows(self._there.layout)

    def adopt(self, runs: Sequence[Run]) -> None:
        """Add runs that tasks wrote."""
        self._added += runs
        self._show()

    def send(self, place: Place) -> None:
        """Make all runs readable by tasks; merge them if there are many."""
        if len(self._added) > _MANY:
            merged = _run_of(self.added(), self._there.layout, self._there.types)
            self._added = [] if merged is None else [merged]
        self._added = [run if _is_placed(run) else place(run.map) for run in self._added]
        self._show()

    def _show(self) -> None:
        self.now = make_contents(self._there.layout, (*self._there.runs, *self._added), self._there.types)

    def _merge(self) -> None:
        """Merge the last two runs while they are of similar size, so that there are few."""
        while len(self._added) > _FEW and len(self._added[-2].map) <= _FEW * len(self._added[-1].map):
            layout, types = self._there.layout, self._there.types
            last = [self._added.pop().map.as_rows(layout) for _ in range(2)]
            merged = _run_of(Rows.concat(last), layout, types)
            self._added += [] if merged is None else [merged]

    def added(self) -> Rows:
        """All added rows."""
        return self._rows(self._added)

    def store(self, bag: str, transaction: Transaction) -> None:
        """Put all additions into a transaction: rows, and the names of runs that tasks can read."""
        layout, types = self._there.layout, self._there.types
        transaction.append(bag, self._rows([run for run in self._added if not _is_placed(run)]), layout)
        transaction.adopt(bag, [run.ref for run in self._added if _is_placed(run)], layout, types)

    def _rows(self, runs: Sequence[Run]) -> Rows:
        rows = [run.map.as_rows(self._there.layout) for run in runs]
        return Rows.concat(rows) if rows else self._there.nothing()


def _is_placed(run: Run) -> bool:
    """Whether tasks can read a run."""
    return bool(run.ref.file or run.ref.data)


def _run_of(rows: Rows, layout: Layout, types: Mapping[str, pa.DataType]) -> Run | None:
    """A run in memory only."""
    body = build(rows, layout)
    if body is None:
        return None
    return Run(RunRef("map", "", 0, body.batch.nbytes, 0, len(body), data=()), layout, types, body)


class WorkingMaps:
    """The maps of a loop while an epoch runs."""

    def __init__(self, transaction: Transaction | None, *, anew: bool = False) -> None:
        self._there = transaction
        self._anew = anew
        """Whether maps start empty, whatever is stored."""
        self._maps: dict[str, WorkingMap] = {}
        self._began: dict[str, Contents] = {}

    @property
    def _transaction(self) -> Transaction:
        assert self._there is not None, "maps that are in memory alone"
        return self._there

    @staticmethod
    def in_memory() -> WorkingMaps:
        """Maps that start empty, for programs that read no others."""
        return WorkingMaps(None, anew=True)

    def begin_round(self) -> None:
        """Make the current contents of maps the ones before the round."""
        self._began = {}

    def aside(self) -> WorkingMaps:
        """Maps that start empty and are never stored."""
        return WorkingMaps(self._there, anew=True)

    def open(self, ready: PreparedProgram) -> None:
        """Open the maps of a program for rounds to add to."""
        for step in (s for s in ready.steps if s.map.stored):
            self.open_bag(step.map.name, step.layout, step.map.columns)

    def open_bag(self, bag: str, layout: Layout, columns: Sequence[Field]) -> None:
        """Open a bag for rounds to add to; a new one starts empty."""
        if self._anew or not self._transaction.has(bag):
            types = {f.name: arrow_type(f.type) for f in columns}
            self._maps[bag] = WorkingMap(make_contents(layout, (), types))
        else:
            self._maps[bag] = WorkingMap(self._transaction.contents(bag))

    def add(self, bag: str, rows: Rows) -> Rows:
        """Add rows to a map; return them netted."""
        self._began.setdefault(bag, self._maps[bag].now)
        return self._maps[bag].add(rows)

    def added(self, bag: str) -> Rows:
        """All rows that the rounds added to a map."""
        return self._maps[bag].added()

    def old(self, bag: str) -> Contents:
        return self._began.get(bag) or self.new(bag)

    def new(self, bag: str) -> Contents:
        return self._maps[bag].now if bag in self._maps else self._transaction.contents(bag)

    # ——— for rounds on a cluster

    def send(self) -> None:
        """Make all maps readable by tasks."""
        for working in self._maps.values():
            there = working.now
            working.send(partial(self._transaction.placed, layout=there.layout, types=there.types))

    def has(self, bag: str) -> bool:
        return bag in self._maps or self._transaction.has(bag)

    def layout(self, bag: str) -> Layout | None:
        return self._maps[bag].now.layout if bag in self._maps else self._transaction.layout(bag)

    def before(self, bag: str) -> Contents:
        return self.old(bag)

    def contents(self, bag: str) -> Contents:
        return self.new(bag)

    def append(self, bag: str, rows: Rows, layout: Layout) -> Rows:
        assert layout == self.layout(bag), f"`{bag}` has another layout"
        return self.add(bag, rows)

    def adopt(self, bag: str, refs: Sequence[RunRef], layout: Layout, types: Types) -> None:
        self._began.setdefault(bag, self._maps[bag].now)
        self._maps[bag].adopt(self._transaction.opened(refs, layout, types))

    def stored(self, bag: str) -> Contents:
        """A bag before the epoch."""
        return self._transaction.before(bag)

    def store(self, *, without: str) -> None:
        """Put the additions to all maps but one into the epoch's transaction."""
        for bag, working in self._maps.items():
            if bag == without:
                continue
            if self._anew:
                self._transaction.drop(bag)
            working.store(bag, self._transaction)
