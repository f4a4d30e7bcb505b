"""The changes of a table so far in an epoch, as runs of its transaction, written by tasks or in process.

Later changes are checked against the table including these. Together they may not be net, since one change can delete
what an earlier one inserted; they are net if no two have a key in common.
"""

from __future__ import annotations

from collections.abc import Sequence

from viewlet.columns.rows import Rows
from viewlet.engine.cluster.written import Written
from viewlet.engine.epoch import EpochDeltas, WrittenChange, adopt_runs, counts
from viewlet.store import Contents, Transaction, make_contents
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.declare.watermarks import latest_in
from viewlet.warehouse.epoch.load import Loading
from viewlet.warehouse.epoch.table_changes import TableChanges


class Settled(Loading):
    """The changes of a table that are in runs, with those of its tables of late and rejected rows."""

    def __init__(self, changes: TableChanges, transaction: Transaction) -> None:
        super().__init__(changes, transaction)
        self.asides: dict[str, TableChanges] = {}
        self._inserted = self._deleted = self._times = 0
        self._are_apart = True
        """Whether no two changes have a key in common."""

    @staticmethod
    def of(changes: TableChanges, transaction: Transaction) -> Settled:
        """Move all changes so far from memory to runs."""
        before, settled = changes.load, changes.load
        if not isinstance(settled, Settled):
            settled = changes.load = Settled(changes, transaction)
        if before is not None and before is not settled:  # rows loaded as they arrived are in the transaction
            settled._count(before.counts["inserted"], before.counts["deleted"])
        changes.before = 0
        settled.settle()
        return settled

    def settle(self) -> None:
        """Write the changes in memory to runs."""
        changes, table = self._changes, self._changes.table
        delta = changes.delta()
        changes.pending, changes.taken = [], 0
        if len(delta):
            self.transaction.append(table.name, delta, table.layout)
            if table.index is not None:
                self.transaction.append(table.index, table.index_rows(delta), table.index_layout)
            found = counts(delta)
            self._count(found["inserted"], found["deleted"], latest_in(table.watermark, table.fields, delta))
        for aside, rows in changes.take_asides():
            own = self._aside(aside)
            own.put(rows)
            Settled.of(own, self.transaction)
        if table.index is not None:
            changes.index = self.transaction.contents(table.index)

    @property
    def earlier(self) -> Contents | None:
        """The runs that the changes so far have added to the table's index, if there is one."""
        table = self._changes.table
        if table.index is None or not self._times:
            return None
        before, now = self.transaction.before(table.index), self.transaction.contents(table.index)
        return make_contents(before.layout, now.runs[len(before.runs) :], before.types)

    def adopt(self, written: Sequence[Written], latest: int | None, *, are_apart: bool = False) -> None:
        """Adopt runs that tasks wrote: of the table, its index, and its tables of late and rejected rows.

        `are_apart`: they have no key in common with earlier changes.
        """
        table = self._changes.table
        for bag in (table.name, table.index):
            if bag is not None:
                adopt_runs(self.transaction, bag, [w.ref for w in written if w.bag == bag], 0, 0)
        own = [w for w in written if w.bag == table.name]
        self._count(sum(w.inserted for w in own), sum(w.deleted for w in own), latest, are_apart=are_apart)
        for aside in table.asides:
            if theirs := [w for w in written if w.bag == aside.name]:
                Settled.of(self._aside(aside), self.transaction).adopt(theirs, None)
        if table.index is not None:
            self._changes.index = self.transaction.contents(table.index)

    def _aside(self, table: Table) -> TableChanges:
        return self.asides.setdefault(table.name, TableChanges(table, None))

    def _count(self, inserted: int, deleted: int, latest: int | None = None, *, are_apart: bool = False) -> None:
        self._are_apart &= are_apart or not self._times
        self._inserted, self._deleted = self._inserted + inserted, self._deleted + deleted
        self._times += 1
        self.latest = max((time for time in (self.latest, latest) if time is not None), default=None)

    @property
    def is_empty(self) -> bool:
        """Whether there are no changes."""
        return not self._times and not self.asides

    @property
    def counts(self) -> dict[str, int]:
        return {"inserted": self._inserted, "deleted": self._deleted}

    def delta(self, *, is_read: bool) -> Rows:
        return self._changes.table.empty()

    def hand_on(self, deltas: EpochDeltas, delta: Rows) -> None:
        name, before = self._changes.table.name, self.transaction.before(self._changes.table.name)
        runs = self.transaction.contents(name).runs[len(before.runs) :]
        if runs:
            contents = make_contents(before.layout, runs, before.types)
            deltas.changes.written[name] = WrittenChange(
                contents, self._inserted, self._deleted, is_net=self._are_apart
            )
