"""Ingests files of change events: each file once, with events in the order of file names and lines."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from viewlet.source.bad_records import BadRecord, bad_rows, refuse_bad
from viewlet.source.events.formats import event_taker
from viewlet.source.events.json_values import Times
from viewlet.source.feed import Target, apply_batch
from viewlet.source.files.folder_source import POSITION_LAYOUT, Folder, position_bag
from viewlet.source.files.listing import FileChange, batches, find_changes, state_of, wait_until_settled
from viewlet.source.files.read_files import FileRows
from viewlet.source.files.records import records_of
from viewlet.source.files.take_files import known_files, position_rows, reading_record
from viewlet.source.net_changes import NetChanges, Place
from viewlet.source.row_versions import note_versions
from viewlet.store import Transaction
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.epoch.apply import commit_epoch, deltas_of, table_changes
from viewlet.warehouse.epoch.blame import blaming_changes
from viewlet.warehouse.epoch.table_changes import TableChanges

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse

NOTHING = pa.table({})


def take_event_files(warehouse: Warehouse, table: Table, folder: Folder) -> Iterator[int]:
    """Commit the events of new files; yield the epochs."""
    new = find_changes(folder, known_files(warehouse.store.snapshot(), table), only_new=True)
    for batch in batches(sorted(new, key=lambda change: change.file)):
        wait_until_settled(batch)
        began, net = time.time(), NetChanges(table, versions=Target(warehouse, table).versions())
        if read := _read(folder, table, batch, net):
            yield _commit(warehouse, table, folder, read, net, began)


def _read(folder: Folder, table: Table, files: list[FileChange], net: NetChanges) -> list[FileRows]:
    """Add the events of files to the changes; stop at a file that changes meanwhile, which is read the next time."""
    take = event_taker(table, "debezium", cast(Times, folder.option("times")))
    read: list[FileRows] = []
    for change in files:
        path = Path(folder.path) / change.file
        with path.open("rb") as file:
            before, contents = state_of(file), io.BytesIO(file.read())
            if state_of(file) != before:
                return read
        counted = net.records
        for line, text in records_of(folder, table.fields, change.file, contents):
            take(net, text, None, Place(change.file, line, text))
        read.append(FileRows(change.file, before, NOTHING, events=net.records - counted))
    return read


def _commit(
    warehouse: Warehouse, table: Table, folder: Folder, read: list[FileRows], net: NetChanges, began: float
) -> int:
    target = Target(warehouse, table)
    batch = net.batch({}, target.stored, target.versions)
    by_file: dict[str, list[BadRecord]] = {file.file: file.bad for file in read}
    for name, bad in batch.bad:
        by_file[name].append(bad)
    if folder.on_bad == "FAIL EPOCH":
        refuse_bad(table, [(str(Path(folder.path) / name), bad) for name, bad in batch.bad])
    snapshot = warehouse.store.snapshot()
    changes = table_changes(table, snapshot, warehouse.sessions)
    apply_batch(changes, batch, snapshot)
    kept = [(TableChanges(aside, None), bad_rows(aside, batch.bad)) for aside in folder.asides(table) if batch.bad]

    def advance(transaction: Transaction) -> Mapping[str, Any]:
        transaction.append(position_bag(table), position_rows(read), POSITION_LAYOUT)
        note_versions(transaction, snapshot, table, batch.versions)
        return {"source": reading_record(table, read, 0, began)}

    deltas = [*deltas_of([changes]), *kept]
    with blaming_changes(warehouse, deltas):
        return commit_epoch(warehouse, deltas, advance)
