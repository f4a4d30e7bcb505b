"""A folder of Parquet files that follows a table or view: one file for each epoch that changed it.

A file bears the number of its epoch and is put in its place whole, in the order of epochs. So the folder itself
says how far it has come: what was interrupted is written again, under the same name, and nothing is there twice.
After an outage the change feed has what is missing.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from viewlet.errors import StoreError
from viewlet.warehouse.relation import Relation

_FILE = re.compile(r"epoch-(\d{12})\.parquet")


def export(relation: Relation, path: Path, *, plain: bool) -> list[int]:
    """Bring a folder up to the relation's epoch; the epochs that were written.

    `plain`: the rows alone, of something that only grows; else with the columns of the change feed.
    """
    path.mkdir(parents=True, exist_ok=True)
    last = last_epoch(path)
    if last is None:
        _write(path, relation.epoch, _shown(relation, relation.as_inserted(), plain=plain))
        return [relation.epoch]
    if relation.oldest > last:
        raise StoreError(
            f"{path} has {relation.name} up to epoch {last}, and its changes are kept from epoch {relation.oldest} on",
            hint="empty the folder, to have all rows written again; or keep changes longer: db.set_retention",
        )
    written = relation.changes_by_epoch(last)
    for epoch, changes in written:
        _write(path, epoch, _shown(relation, changes, plain=plain))
    return [epoch for epoch, _ in written]


def last_epoch(path: Path) -> int | None:
    """How far a folder has come."""
    found = [int(name[1]) for file in path.iterdir() if (name := _FILE.fullmatch(file.name))]
    return max(found, default=None)


def _shown(relation: Relation, changes: pa.Table, *, plain: bool) -> pa.Table:
    return changes.select(relation.columns) if plain else changes


def _write(path: Path, epoch: int, rows: pa.Table) -> None:
    """Put a file in its place, whole and durable."""
    hidden, place = path / f".epoch-{epoch:012}", path / f"epoch-{epoch:012}.parquet"
    with hidden.open("wb") as file:
        pq.write_table(rows, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(hidden, place)
