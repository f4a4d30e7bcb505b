"""Maps while the rounds of one epoch run: what is stored, and what the rounds have added so far, in memory.

A round reads maps as they were when it began (`old`) and with what it adds itself (`new`). Nothing is stored before
the last round: then each map gets all that the rounds added. So an attempt can be given up.

To a round that tasks run, the maps are what the transaction is to an epoch (`engine.epoch.Bags`): tasks read the runs of
maps where they are, and those that they write are added by name.
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
"""So many runs of like size are made one."""
_MANY = 64
"""So many runs that tasks wrote are."""
Place = Callable[[MapBody], Run]
"""What makes a run that tasks can read."""


class WorkingMap:
    """A map that rounds add to."""

    def __init__(self, there: Contents) -> None:
        self._there = there
        self._added: list[Run] = []
        self.now = there

    def add(self, rows: Rows) -> Rows:
        """Add rows; what they come to."""
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
        """Let all runs be where tasks can read them; many small ones become one."""
        if len(self._added) > _MANY:
            merged = _run_of(self.added(), self._there.layout, self._there.types)
            self._added = [] if merged is None else [merged]
        self._added = [run if _is_placed(run) else place(run.map) for run in self._added]
        self._show()

    def _show(self) -> None:
        self.now = make_contents(self._there.layout, (*self._there.runs, *self._added), self._there.types)

    def _merge(self) -> None:
        """Let there be few runs: the last ones become one when they are as large as the one before them."""
        while len(self._added) > _FEW and len(self._added[-2].map) <= _FEW * len(self._added[-1].map):
            layout, types = self._there.layout, self._there.types
            last = [self._added.pop().map.as_rows(layout) for _ in range(2)]
            merged = _run_of(Rows.concat(last), layout, types)
            self._added += [] if merged is None else [merged]

    def added(self) -> Rows:
        """All that was added."""
        return self._rows(self._added)

    def store(self, bag: str, transaction: Transaction) -> None:
        """Put all that was added into a transaction: rows, and runs that tasks can read by their names."""
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
    """A run that is only in memory."""
    body = build(rows, layout)
    if body is None:
        return None
    return Run(RunRef("map", "", 0, body.batch.nbytes, 0, len(body), data=()), layout, types, body)


class WorkingMaps:
    """The maps of a loop while an epoch runs."""

    def __init__(self, transaction: Transaction | None, *, anew: bool = False) -> None:
        self._there = transaction
        self._anew = anew
        """Whether maps begin empty, whatever is stored."""
        self._maps: dict[str, WorkingMap] = {}
        self._began: dict[str, Contents] = {}

    @property
    def _transaction(self) -> Transaction:
        assert self._there is not None, "maps that are in memory alone"
        return self._there

    @staticmethod
    def in_memory() -> WorkingMaps:
        """Maps that begin empty, for programs that read no others."""
        return WorkingMaps(None, anew=True)

    def begin_round(self) -> None:
        """What maps hold now is what they held when the round began."""
        self._began = {}

    def aside(self) -> WorkingMaps:
        """Maps that begin empty, and of which nothing is stored."""
        return WorkingMaps(self._there, anew=True)

    def open(self, ready: PreparedProgram) -> None:
        """Let rounds add to the maps of a program."""
        for step in (s for s in ready.steps if s.map.stored):
            self.open_bag(step.map.name, step.layout, step.map.columns)

    def open_bag(self, bag: str, layout: Layout, columns: Sequence[Field]) -> None:
        """Let rounds add to a bag; a new one begins empty."""
        if self._anew or not self._transaction.has(bag):
            types = {f.name: arrow_type(f.type) for f in columns}
            self._maps[bag] = WorkingMap(make_contents(layout, (), types))
        else:
            self._maps[bag] = WorkingMap(self._transaction.contents(bag))

    def add(self, bag: str, rows: Rows) -> Rows:
        """Add rows to a map; what they come to."""
        self._began.setdefault(bag, self._maps[bag].now)
        return self._maps[bag].add(rows)

    def added(self, bag: str) -> Rows:
        """All that the rounds added to a map."""
        return self._maps[bag].added()

    def old(self, bag: str) -> Contents:
        return self._began.get(bag) or self.new(bag)

    def new(self, bag: str) -> Contents:
        return self._maps[bag].now if bag in self._maps else self._transaction.contents(bag)

    # ——— to a round that tasks run

    def send(self) -> None:
        """Let all maps be where tasks can read them."""
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
        """A bag as the epoch found it."""
        return self._transaction.before(bag)

    def store(self, *, without: str) -> None:
        """Put what the rounds added into the epoch's transaction, but for one map that is passed on otherwise."""
        for bag, working in self._maps.items():
            if bag == without:
                continue
            if self._anew:
                self._transaction.drop(bag)
            working.store(bag, self._transaction)
