"""The last version of each row that a log of events has delivered, to skip older events that are repeated.

A version is the position of a change in the log of its database. Deleted rows keep their versions; the key of NULLs has
the version of the last deletion of all rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.fresh_names import free_name
from viewlet.columns.rows import Rows
from viewlet.store import Layout, Snapshot, Transaction
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.source import Bag

Key = tuple[Any, ...]
Versions = Mapping[Key, int]


def versions_bags(table: Table) -> list[Bag]:
    """The bag of versions; none without a primary key, since rows cannot be identified."""
    if not table.primary_key:
        return []
    column = free_name("_version", table.names)
    types = {**{name: table.types[name] for name in table.primary_key}, column: pa.int64()}
    return [(f"{table.name}.versions", Layout(tuple(types), table.primary_key), types)]


def all_rows(table: Table) -> Key:
    """The key that stands for all rows."""
    return (None,) * len(table.primary_key)


def known_versions(snapshot: Snapshot, table: Table, keys: Sequence[Key]) -> dict[Key, int]:
    """The stored versions of rows."""
    ((bag, _, types),) = versions_bags(table)
    given = _rows(types, dict.fromkeys(keys, 0))
    _, found = snapshot.contents(bag).lookup(table.primary_key, given.hashes(table.primary_key))
    rows = (tuple(row.values()) for row in found.consolidate().arrow().to_pylist())
    return {tuple(key): version for *key, version in rows}


def note_versions(transaction: Transaction, snapshot: Snapshot, table: Table, new: Versions) -> None:
    """Replace the stored versions of rows."""
    if new:
        ((bag, layout, types),) = versions_bags(table)
        old = known_versions(snapshot, table, list(new))
        gone = {key: version for key, version in old.items() if key in new}
        transaction.append(bag, Rows.concat([_rows(types, gone).negated(), _rows(types, new)]).consolidate(), layout)


def _rows(types: Mapping[str, pa.DataType], versions: Versions) -> Rows:
    rows = [(*key, version) for key, version in versions.items()]
    columns = list(zip(*rows, strict=True)) or [()] * len(types)
    arrays = {name: pa.array(c, kind) for (name, kind), c in zip(types.items(), columns, strict=True)}
    return Rows(arrays, np.ones(len(rows), dtype=np.int64))
