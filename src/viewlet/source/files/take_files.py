"""Ingests the changes of a folder: each portion of changed files is one epoch, which includes the position."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from viewlet.columns.arrays import truth_of
from viewlet.columns.hash import hash_rows
from viewlet.columns.rows import Rows
from viewlet.source.bad_records import bad_rows, refuse_bad
from viewlet.source.files.folder_source import (
    POSITION_LAYOUT,
    POSITION_TYPES,
    Folder,
    file_column,
    position_bag,
    rows_bag,
)
from viewlet.source.files.listing import FileChange, FileState, batches, find_changes, wait_until_settled
from viewlet.source.files.read_files import FileRows, file_rows, read_files
from viewlet.source.replace_rows import exchange_rows
from viewlet.store import Snapshot, Transaction
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.epoch.apply import commit_epoch, deltas_of, table_changes
from viewlet.warehouse.epoch.blame import blaming_changes
from viewlet.warehouse.epoch.table_changes import TableChanges

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse


def take_files(warehouse: Warehouse, table: Table, folder: Folder) -> Iterator[int]:
    """Commit the new, replaced and deleted files of a folder; yield the epochs."""
    changes = find_changes(folder, known_files(warehouse.store.snapshot(), table), only_new=table.append_only)
    for batch in batches(changes):
        wait_until_settled(batch)
        if (number := _Portion(warehouse, table, folder, batch).commit()) is not None:
            yield number


def known_files(snapshot: Snapshot, table: Table) -> dict[str, FileState]:
    """The files read so far."""
    rows = snapshot.contents(position_bag(table)).consolidated()
    columns = (rows[name].to_pylist() for name in ("file", "size", "changed", "inode"))
    return {file: FileState(*state) for file, *state in zip(*columns, strict=True)}


@dataclass
class _Portion:
    """A portion of changed files to ingest."""

    warehouse: Warehouse
    table: Table
    folder: Folder
    files: list[FileChange]

    def commit(self) -> int | None:
        """Ingest the files; return the epoch, or None if all of them changed while they were read."""
        began = time.time()
        read = read_files(self.warehouse.sessions, self.table, self.folder, self.files)
        gone = {c.file for c in self.files if c.now is None}
        if not read and not gone:
            return None
        if self.folder.on_bad == "FAIL EPOCH":
            refuse_bad(self.table, [(str(Path(self.folder.path) / f.file), bad) for f in read for bad in f.bad])
        old = sorted(gone | {f.file for f in read})
        snapshot = self.warehouse.store.snapshot()
        changes = table_changes(self.table, snapshot, self.warehouse.sessions)
        by_file = self._apply(
            changes, self._rows_of(snapshot, rows_bag(self.table), file_column(self.table), old), read
        )
        deltas = [*deltas_of([changes]), *self._bad_changes(snapshot, old, read)]
        position = Rows.concat(
            [self._rows_of(snapshot, position_bag(self.table), "file", old).negated(), position_rows(read)]
        )

        def advance(transaction: Transaction) -> Mapping[str, Any]:
            transaction.append(position_bag(self.table), position, POSITION_LAYOUT)
            if by_file is not None:
                bag = rows_bag(self.table)
                transaction.append(bag, by_file, transaction.contents(bag).layout)
            return {"source": reading_record(self.table, read, len(gone), began)}

        with blaming_changes(self.warehouse, deltas):
            return commit_epoch(self.warehouse, deltas, advance)

    def _rows_of(self, snapshot: Snapshot, bag: str, column: str, files: list[str]) -> Rows:
        """The rows of files in a bag keyed by file; none if there is no such bag."""
        if not snapshot.has(bag):
            return Rows.empty({column: pa.string(), **self.table.types})
        names = pa.array(files, pa.string())
        _, rows = snapshot.contents(bag).lookup((column,), hash_rows([names], len(names)))
        return rows.filter(truth_of(pc.is_in(rows[column], names))).consolidate()

    def _apply(self, changes: TableChanges, old: Rows, read: list[FileRows]) -> Rows | None:
        """Apply the difference of old and new rows; return the change of the rows by file, if these are stored."""
        column = file_column(self.table)
        new = [file_rows(column, file).select(old.names) for file in read]
        gone, come = exchange_rows(changes, old, Rows.concat([old.slice(0, 0), *new]))
        return None if self.table.append_only else Rows.concat([gone.negated(), come])

    def _bad_changes(self, snapshot: Snapshot, old: list[str], read: list[FileRows]) -> list[tuple[TableChanges, Rows]]:
        """The changes of the table of bad records, if there is one."""
        made = []
        for aside in self.folder.asides(self.table):
            assert aside.index is not None
            before = self._rows_of(snapshot, aside.index, "file", old)
            after = bad_rows(aside, [(f.file, bad) for f in read for bad in f.bad])
            delta = Rows.concat([before.select(aside.names).negated(), after]).consolidate()
            made += [(TableChanges(aside, None), delta)] if len(delta) else []
        return made


def reading_record(table: Table, read: list[FileRows], gone: int, began: float) -> dict[str, Any]:
    """The source's part of the epoch's record; the lag is the time since the oldest change of the portion."""
    now = time.time()
    oldest = min((f.state.changed / 1e9 for f in read), default=began)
    return {
        "table": table.name,
        "files": len(read),
        "gone": gone,
        "bad": sum(len(f.bad) for f in read),
        "read_ms": round((now - began) * 1e3, 3),
        "lag": round(max(0.0, now - oldest), 3),
    }


def position_rows(read: list[FileRows]) -> Rows:
    """The state of files that were read, as rows."""
    rows = [
        (f.file, f.state.size, f.state.changed, f.state.inode, f.rows.num_rows + f.events, len(f.bad)) for f in read
    ]
    columns = list(zip(*rows, strict=True)) or [()] * len(POSITION_TYPES)
    arrays = {name: pa.array(c, t) for (name, t), c in zip(POSITION_TYPES.items(), columns, strict=True)}
    return Rows(arrays, np.ones(len(rows), dtype=np.int64))


def reading_status(snapshot: Snapshot, table: Table) -> dict[str, int]:
    """The numbers of files, rows and bad records read so far."""
    known = snapshot.contents(position_bag(table)).consolidated()
    totals = {name: pc.sum(known[name]).as_py() or 0 for name in ("rows", "bad")}
    return {"files": len(known), **totals}
