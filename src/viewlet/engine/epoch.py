"""What the refreshes of an epoch share: the transaction, and the net change of each bag so far."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from viewlet.columns.rows import Rows
from viewlet.store import Contents, Layout, RunRef, Transaction, make_contents
from viewlet.store.runs.runs import Types


@dataclass(frozen=True, slots=True)
class WrittenChange:
    """A change written by tasks: its runs, and how many rows it inserts and deletes."""

    contents: Contents
    inserted: int
    deleted: int
    is_net: bool = True
    """Whether no run deletes what another inserts; not so for all runs of a bag."""

    @property
    def rows(self) -> int:
        return self.contents.rows


class Changes(MutableMapping[str, Rows]):
    """The net change of each bag; changes written by tasks are read only if their rows are needed."""

    def __init__(self) -> None:
        self._rows: dict[str, Rows] = {}
        self.written: dict[str, WrittenChange] = {}

    def __getitem__(self, bag: str) -> Rows:
        if bag not in self._rows:
            self._rows[bag] = self.written[bag].contents.consolidated()
        return self._rows[bag]

    def __setitem__(self, bag: str, rows: Rows) -> None:
        self.written.pop(bag, None)
        self._rows[bag] = rows

    def __delitem__(self, bag: str) -> None:
        self.written.pop(bag, None)
        self._rows.pop(bag, None)

    def __iter__(self) -> Iterator[str]:
        return iter({**self._rows, **self.written})

    def __len__(self) -> int:
        return len({**self._rows, **self.written})

    def __contains__(self, bag: object) -> bool:
        return bag in self._rows or bag in self.written

    def get(self, bag: str, default: Rows | None = None) -> Rows | None:  # type: ignore[override]
        return self[bag] if bag in self._rows or bag in self.written else default

    def rows(self, bag: str) -> int:
        """The number of rows in a change."""
        return self.written[bag].rows if bag in self.written else len(self._rows[bag])

    def counts(self, bag: str) -> dict[str, int]:
        """How many rows the change of a bag inserts and deletes, zero if there is none."""
        if bag in self.written:
            return {"inserted": self.written[bag].inserted, "deleted": self.written[bag].deleted}
        return counts(self._rows[bag]) if bag in self._rows else {"inserted": 0, "deleted": 0}


def counts(delta: Rows) -> dict[str, int]:
    """How many rows a change inserts and deletes."""
    positive = np.maximum(delta.weights, 0)
    return {"inserted": int(positive.sum()), "deleted": int((positive - delta.weights).sum())}


class Bags(Protocol):
    """What programs read and add to: the transaction of an epoch, or the maps of a loop in a round."""

    def has(self, bag: str) -> bool: ...

    def layout(self, bag: str) -> Layout | None: ...

    def before(self, bag: str) -> Contents: ...

    def contents(self, bag: str) -> Contents: ...

    def append(self, bag: str, rows: Rows, layout: Layout) -> Rows:
        """Add rows to a bag; returns them netted if it is a map."""

    def adopt(self, bag: str, refs: Sequence[RunRef], layout: Layout, types: Types) -> None:
        """Add runs that tasks have written."""


class Deltas:
    """The changes of some bags."""

    def __init__(self, bags: Bags) -> None:
        self.bags = bags
        self.changes = Changes()
        self.jobs: list[dict[str, Any]] = []
        """Statistics of the cluster's jobs, for the epoch's record."""

    def add(self, bag: str, delta: Rows, layout: Layout) -> None:
        """Record the delta of a bag, and append it."""
        self.changes[bag] = delta
        self.bags.append(bag, delta, layout)

    def add_unnetted(self, bag: str, rows: Rows, layout: Layout) -> None:
        """Append rows to a bag, and record what they net to; the store nets them while sorting."""
        delta = self.bags.append(bag, rows, layout)
        if len(delta):
            self.changes[bag] = delta

    def adopt(self, bag: str, delta: Rows, refs: Sequence[RunRef], layout: Layout) -> None:
        """Record the delta of a bag whose runs tasks have written."""
        self.changes[bag] = delta
        self.bags.adopt(bag, refs, layout, {name: delta[name].type for name in layout.columns})

    def adopt_written(self, bag: str, refs: Sequence[RunRef], inserted: int, deleted: int) -> None:
        """The same for an existing bag, without reading the delta."""
        self.changes.written[bag] = adopt_runs(self.bags, bag, refs, inserted, deleted)


class EpochDeltas(Deltas):
    """The deltas of an open epoch; all of them are in the transaction."""

    def __init__(self, transaction: Transaction) -> None:
        super().__init__(transaction)
        self.transaction = transaction
        self.done: set[str] = set()
        """Maps that are refreshed already; a map shared by several views is refreshed once."""
        self.remembered: dict[str, Any] = {}
        """What refreshes keep in memory, by name, after the commit."""


def adopt_runs(bags: Bags, bag: str, refs: Sequence[RunRef], inserted: int, deleted: int) -> WrittenChange:
    """Add runs that tasks have written to an existing bag; returns them as its change."""
    before = bags.before(bag)
    bags.adopt(bag, refs, before.layout, before.types)
    runs = bags.contents(bag).runs
    contents = make_contents(before.layout, runs[len(runs) - len(refs) :], before.types)
    return WrittenChange(contents, inserted, deleted)
