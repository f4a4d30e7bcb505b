"""Splits an epoch's changes, with a key, into deleted rows and inserted or updated ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from viewlet.errors import StoreError
from viewlet.formatting import suggestion
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.read.relation import Relation

GONE = ["delete", "update_preimage"]
COME = ["insert", "update_postimage"]


def find_key(given: Sequence[str], relation: Relation, *, needed_by: str = "") -> tuple[str, ...]:
    """The columns that identify rows of a relation: those given, else a table's primary key."""
    if unknown := [name for name in given if name not in relation.columns]:
        raise StoreError(f"{relation.name} has no column {unknown[0]}", hint=suggestion(unknown[0], relation.columns))
    found = relation.definition
    key = tuple(given) or (found.primary_key if isinstance(found, Table) else ())
    if needed_by and not key:
        raise StoreError(
            f"{needed_by} finds rows by key, but {relation.name} has no key",
            hint="name columns that identify its rows: key=(…); if rows repeat, count them in a view",
        )
    return key


def gone_and_come(relation: Relation, changes: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The deleted and the inserted rows of a change feed."""
    kinds = changes.column(len(relation.columns))
    rows = changes.select(list(range(len(relation.columns))))
    return rows.filter(pc.is_in(kinds, pa.array(GONE))), rows.filter(pc.is_in(kinds, pa.array(COME)))


def keys_of(rows: pa.Table, key: Sequence[str]) -> list[tuple[Any, ...]]:
    """The key of each row."""
    return list(zip(*(rows[name].to_pylist() for name in key), strict=True))
