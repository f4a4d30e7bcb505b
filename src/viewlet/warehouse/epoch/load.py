"""Bulk loading: rows are checked and written piece by piece, to the files of the table and of its index."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from viewlet.columns.hash import Hashes
from viewlet.columns.rows import Rows, add_up, group
from viewlet.engine.epoch import EpochDeltas
from viewlet.errors import RejectedEpoch
from viewlet.progress import report
from viewlet.store import Transaction, make_contents
from viewlet.store.load import MapLoad
from viewlet.warehouse.epoch.table_changes import TableChanges, show_row


class Loading(ABC):
    """A change of a table and its index that is already written to files; the commit makes it visible."""

    def __init__(self, changes: TableChanges, transaction: Transaction) -> None:
        self._changes, self.transaction = changes, transaction
        self.latest: int | None = None
        """The latest event time of the inserted rows, if the table has a watermark."""

    @property
    @abstractmethod
    def counts(self) -> dict[str, int]:
        """The numbers of inserted and deleted rows."""

    @abstractmethod
    def delta(self, *, is_read: bool) -> Rows:
        """The change in memory if `is_read`, that is, if views read it; otherwise it may be empty."""

    @abstractmethod
    def hand_on(self, deltas: EpochDeltas, delta: Rows) -> None:
        """Add the change to an epoch's deltas."""


class TableLoading(Loading):
    """Inserted rows that are checked and written as they arrive."""

    def __init__(self, changes: TableChanges, transaction: Transaction, total: int | None) -> None:
        super().__init__(changes, transaction)
        self._total = total
        table = changes.table
        self._rows = transaction.load(table.name, table.layout, table.types)
        self._index = (
            None if table.index is None else transaction.load(table.index, table.index_layout, table.index_types)
        )

    @property
    def counts(self) -> dict[str, int]:
        return {"inserted": self._rows.rows, "deleted": 0}

    def delta(self, *, is_read: bool) -> Rows:
        table = self._changes.table
        return make_contents(table.layout, self._rows.finish(), table.types).scan() if is_read else table.empty()

    def hand_on(self, deltas: EpochDeltas, delta: Rows) -> None:
        if len(delta):
            deltas.changes[self._changes.table.name] = delta

    def add_all(self, pieces: Iterable[Rows]) -> None:
        """Load the rows that the table admits; raise if a key occurs twice."""
        for rows in pieces:
            self._add(rows)
        self._rows.finish()
        if isinstance(self._index, MapLoad):
            self._index.finish()
            if self._changes.table.primary_key and len(shared := self._index.repeated()):
                self._refuse_repeated(self._index, shared)

    def _add(self, rows: Rows) -> None:
        given = self._changes.checked(rows.filter(self._changes.admit(rows))).rows
        self._changes.before += len(rows)
        if self._index is not None and self._index.layout.fingerprints and self._index.layout.plain == given.names:
            given.learn_identities(given.names)  # the table stores row hashes, the index fingerprints
        self._rows.add(given)
        if self._index is not None:
            self._index.add(given)
        of = "" if self._total is None else f" of {self._total:,}"
        done = self._changes.before / self._total if self._total else None
        report(f"table {self._changes.table.name}", f"{self._rows.rows:,}{of} rows taken in", done)

    def _refuse_repeated(self, index: MapLoad, shared: Hashes) -> None:
        """Raise if rows that share the hash of a key share the key."""
        table = self._changes.table
        _, found = make_contents(index.layout, index.runs, table.index_types).lookup(table.key, shared)
        first, groups = group([found[name] for name in table.key], len(found))
        twice = first[add_up(found.weights, groups, len(first)) > 1]
        if len(twice):
            raise RejectedEpoch(
                f"table {table.name}: several of the rows given have the key {show_row(found, int(twice[0]), table)}",
                hint="give each key once",
            )

    def withdraw(self) -> None:
        """Undo the load."""
        for bag in (self._changes.table.name, self._changes.table.index):
            if bag is not None:
                self.transaction.withdraw(bag)
        self._changes.load, self._changes.before = None, 0
