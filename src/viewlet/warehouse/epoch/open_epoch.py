"""An open epoch: it collects a user's changes, checks them as they arrive, and applies them when its block ends.

Small changes are held in memory until then. Large ones are written to files as they arrive, by the transaction that
will commit them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from viewlet.columns.rows import Rows
from viewlet.errors import RejectedEpoch
from viewlet.intake.pieces import count_rows, in_pieces
from viewlet.intake.refusal import RejectedRow
from viewlet.store import Transaction
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.epoch.apply import commit_epoch, deltas_of, table_changes, take_in
from viewlet.warehouse.epoch.blame import blaming_changes
from viewlet.warehouse.epoch.intake_tasks import Action
from viewlet.warehouse.epoch.load import TableLoading
from viewlet.warehouse.epoch.settled import Settled
from viewlet.warehouse.epoch.table_changes import TableChanges
from viewlet.warehouse.epoch.task_intake import GivenFrame, can_take_by_tasks, given_frame, take_by_tasks

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse

Also = Callable[[Transaction], Mapping[str, Any]]
"""Adds to a transaction, and returns what it adds to the record."""


@contextmanager
def open_epoch(warehouse: Warehouse, also: Also | None = None) -> Iterator[OpenEpoch]:
    """One atomic epoch: all changes inside the block are applied together, or none.

    `also` adds to the commit, which then happens even if no table changed.
    """
    with warehouse.writing():
        opened = OpenEpoch(warehouse, also)
        try:
            warehouse.epoch_is_open = True
            try:
                yield opened
            finally:
                warehouse.epoch_is_open = False
                opened.close()
            opened.commit()
        finally:
            opened.abandon()


class OpenEpoch:
    """The changes collected so far; they are applied when the block ends."""

    def __init__(self, warehouse: Warehouse, also: Also | None = None) -> None:
        self._warehouse = warehouse
        self._also = also
        self._catalog = warehouse.catalog
        self._snapshot = warehouse.store.snapshot()
        self._transaction: Transaction | None = None
        """The transaction of the rows that were written as they arrived."""
        self._changes: dict[str, TableChanges] = {}
        self._frames: list[GivenFrame] = []
        """DataFrames to be ingested together, by one job."""
        self._is_open = True
        self.number = 0
        """The epoch's number, once it is committed."""
        self.late: dict[str, int] = {}
        """How many rows of each table were late and kept aside, once the block has ended."""
        self.rejected: dict[str, int] = {}
        """How many rows of each table violated a constraint and were kept aside, once the block has ended."""
        self.dropped: dict[str, dict[str, int]] = {}
        """How many rows of each table each constraint dropped, once the block has ended."""
        self.is_committed = False
        """Whether a commit was made."""

    def __repr__(self) -> str:
        if self._is_open:
            return f"<open epoch: changes of {', '.join(self._changes) or 'nothing'}>"
        return f"<epoch {self.number}>" if self.number else "<epoch, ended without a commit>"

    def insert(self, table: str, rows: Any) -> None:
        """Insert rows; many, and those of streams, are written as they arrive."""
        changes = self._of(table, gathered=False)
        if self._by_tasks(changes, "insert", rows):
            return
        self._take_frames(changes)
        pieces = in_pieces(changes.table.name, rows)
        if pieces is None:
            self._of(table).insert(take_in(changes.table, rows))
            return
        taken = _taken_in(changes.table, pieces)
        first = list(islice(taken, 2))
        if len(first) < 2 or changes.pending or changes.load or changes.table.watermark:
            self._of(table).insert(Rows.concat([*first, *taken] or [changes.table.empty()]))
        else:
            self._load(changes, chain(_emptied(first), taken), count_rows(rows))

    def _by_tasks(self, changes: TableChanges, action: Action, rows: Any) -> bool:
        """Queue a Spark DataFrame for ingestion by tasks, if it is suited; return whether it was.

        It is ingested with others at the end of the block. But if the table also has other changes, it is ingested at
        once, so that each is checked against those before it.
        """
        if not can_take_by_tasks(self._warehouse.engine, changes, action, rows):
            return False
        last = self._frames[-1].state if self._frames else None
        given = given_frame(self._warehouse, changes, action, rows, last)
        if (changes.pending or changes.load) and not self._waits(changes):
            self._take_together([given])
            return True
        if last is not None and given.state is not last:
            self._take_frames()
        self._frames.append(given)
        return True

    def _waits(self, changes: TableChanges) -> bool:
        """Whether DataFrames for this table are queued."""
        return any(frame.changes is changes for frame in self._frames)

    def _take_frames(self, changes: TableChanges | None = None) -> None:
        """Ingest the queued DataFrames; given a table, only if some are for it. After a failure they stay queued."""
        if self._frames and (changes is None or self._waits(changes)):
            self._take_together(self._frames)
            self._frames = []

    def _take_together(self, frames: list[GivenFrame]) -> None:
        self._transaction = self._transaction or self._warehouse.store.begin()
        take_by_tasks(self._warehouse, frames, self._transaction)

    def _load(self, changes: TableChanges, rows: Iterator[Rows], total: int | None) -> None:
        """Write rows as they arrive; discard those already written if one is refused."""
        self._transaction = self._transaction or self._warehouse.store.begin()
        changes.load = TableLoading(changes, self._transaction, total)
        try:
            changes.load.add_all(rows)
        except BaseException:
            changes.load.withdraw()
            raise

    def delete(self, table: str, rows: Any) -> None:
        """Delete whole rows, one copy for each row given; or, with a primary key, by key."""
        changes = self._of(table, gathered=False)
        by_key = bool(changes.table.primary_key) and _has_keys_only(rows, changes.table)
        if self._by_tasks(changes, "delete_keys" if by_key else "delete", rows):
            return
        changes = self._of(table)
        if by_key:
            changes.delete_keys(take_in(changes.table, rows, changes.table.primary_key))
        else:
            changes.delete(take_in(changes.table, rows))

    def upsert(self, table: str, rows: Any) -> None:
        """Insert rows, each replacing the row with its key."""
        if not self._by_tasks(self._of(table, gathered=False), "upsert", rows):
            changes = self._of(table)
            changes.upsert(take_in(changes.table, rows))

    def replace(self, table: str, old: Any, new: Any) -> None:
        """Replace old rows by new ones, pair by pair; an old row stays if its new one is refused."""
        changes = self._of(table)
        changes.replace(take_in(changes.table, old), take_in(changes.table, new))

    def deltas(self) -> list[tuple[TableChanges, Rows]]:
        """The net changes of the tables that change."""
        self._take_frames()
        changed = list(self._changes.values())
        for changes in list(changed):
            if isinstance(changes.load, Settled):
                changes.load.settle()
                changed += changes.load.asides.values()
                if changes.load.is_empty:  # all rows were refused
                    changes.load = None
        self.late = {c.table.name: count for c in changed if (count := _aside(c, c.late, c.table.late))}
        self.rejected = {c.table.name: count for c in changed if (count := _aside(c, c.rejected, c.table.rejected))}
        self.dropped = {c.table.name: dict(c.dropped) for c in changed if c.dropped}
        return [(c, self._delta(c, delta)) for c, delta in deltas_of(changed)]

    def _delta(self, changes: TableChanges, delta: Rows) -> Rows:
        """A table's change; rows already written are read back only if views read the table."""
        if changes.load is None:
            return delta
        return changes.load.delta(is_read=bool(self._catalog.readers(changes.table.name)))

    def commit(self) -> None:
        """Apply the changes, with all resulting changes."""
        self.number, changed = self._warehouse.store.epoch, self.deltas()
        if changed or self._also is not None:
            begun, self._transaction = self._transaction, None
            with blaming_changes(self._warehouse, changed):
                self.number = commit_epoch(self._warehouse, changed, self._also or _nothing, begun)
            self.is_committed = True

    def close(self) -> None:
        """Accept no more changes."""
        self._is_open = False

    def abandon(self) -> None:
        """Remove files of changes that were not committed."""
        if self._transaction is not None:
            self._transaction.abort()

    def _of(self, name: str, *, gathered: bool = True) -> TableChanges:
        """The changes of a table; `gathered`: with queued and loaded ones, for other changes to be checked against."""
        if not self._is_open:
            raise RejectedEpoch("the epoch has ended", hint="make changes inside its block")
        table = self._catalog.table(name)
        if table.aside_of:
            raise RejectedEpoch(
                f"table {table.name} holds rows that {table.aside_of} did not accept, and only that table changes it",
                hint=f"change {table.aside_of}",
            )
        if table.static and (readers := self._catalog.readers(table.name)):
            raise RejectedEpoch(
                f"table {table.name} is STATIC, and {', '.join(readers)} read it",
                hint="drop them, change the table, and create them again",
            )
        if table.source is not None:
            raise RejectedEpoch(
                f"table {table.name} is fed by a {table.source.kind}, which alone changes it",
                hint=f"change what it reads, then db.read_sources({table.name!r})",
            )
        if table.name not in self._changes:
            self._changes[table.name] = table_changes(table, self._snapshot, self._warehouse.sessions)
        changes = self._changes[table.name]
        if gathered:
            self._take_frames(changes)
        if gathered and changes.load is not None and not isinstance(changes.load, Settled):
            Settled.of(changes, changes.load.transaction)
        return changes


def _aside(changes: TableChanges, rows: list[Rows], table: Table | None) -> int:
    """How many rows are kept aside in a table."""
    written = changes.load.asides.get(table.name) if table is not None and isinstance(changes.load, Settled) else None
    own = 0 if written is None or written.load is None else written.load.counts["inserted"]
    return own + sum(map(len, rows))


def _nothing(_: Transaction) -> Mapping[str, Any]:
    return {}


def _emptied(rows: list[Rows]) -> Iterator[Rows]:
    """Yield rows from a list, releasing each."""
    while rows:
        yield rows.pop(0)


def _taken_in(table: Table, pieces: Iterator[Any]) -> Iterator[Rows]:
    """Convert pieces to rows of a table; errors number rows across all pieces."""
    before = 0
    for piece in pieces:
        try:
            rows = take_in(table, piece)
        except RejectedRow as error:
            raise error.after(before) from None
        before += len(rows)
        yield rows


def _has_keys_only(rows: Any, table: Table) -> bool:
    """Whether rows to delete are given by key only."""
    width = len(table.primary_key)
    if width == len(table.fields):
        return False
    names = getattr(getattr(rows, "schema", None), "names", None) or getattr(rows, "columns", None)
    if names is not None:
        return len(names) == width
    first = next(iter(rows), None) if isinstance(rows, list | tuple) else None
    return isinstance(first, dict | tuple | list) and len(first) == width
