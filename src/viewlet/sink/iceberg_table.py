"""An Iceberg table that follows a table or view, exactly once.

An epoch is one commit of the catalog: deleted rows, inserted rows, and the epoch's number as a property of the table,
so the table itself holds its position.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from viewlet.errors import StoreError
from viewlet.extras import needed
from viewlet.sink.keyed_changes import find_key, gone_and_come, keys_of
from viewlet.sink.sink import Opened, Sender, Sink
from viewlet.source.lake.iceberg import catalog_of, read_properties

_WAREHOUSE, _NAME, _EPOCH = "viewlet.warehouse", "viewlet.name", "viewlet.epoch"


@dataclass(frozen=True)
class IcebergTable(Sink):
    """A table of an Iceberg catalog as a sink."""

    kind: ClassVar[str] = "iceberg"
    catalog: str
    table: str
    key: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"Iceberg table {self.table}"

    @contextmanager
    def opened(self, sender: Sender) -> Iterator[Opened]:
        key = find_key(self.key, sender.relation, needed_by=str(self))
        with catalog_of(self.catalog, self.properties) as catalog:
            yield _Open(self, sender, key, catalog)


@dataclass
class _Open:
    sink: IcebergTable
    sender: Sender
    key: tuple[str, ...]
    catalog: Any

    def last(self) -> int | None:
        if not self.catalog.table_exists(self.sink.table):
            return None
        noted = self.catalog.load_table(self.sink.table).properties
        if _WAREHOUSE not in noted:
            raise StoreError(f"{self.sink} was not created by Viewlet", hint="name a table that does not exist")
        self.sender.refuse_other(self.sink, noted[_WAREHOUSE], noted[_NAME])
        return int(noted[_EPOCH]) if _EPOCH in noted else None

    def write(self, epoch: int, changes: pa.Table) -> None:
        gone, come = (_storable(rows) for rows in gone_and_come(self.sender.relation, changes))
        table, noted = self._table(come.schema), {_EPOCH: str(epoch)}
        with table.transaction() as transaction:
            if len(gone):
                transaction.delete(self._same_keys(gone), snapshot_properties=noted)
            if len(come):
                transaction.append(come, snapshot_properties=noted)
            transaction.set_properties(noted)

    def _table(self, schema: pa.Schema) -> Any:
        """The table; created if it does not exist."""
        if self.catalog.table_exists(self.sink.table):
            return self.catalog.load_table(self.sink.table)
        self.catalog.create_namespace_if_not_exists(self.sink.table.rpartition(".")[0])
        noted = {_WAREHOUSE: self.sender.warehouse, _NAME: self.sender.relation.name}
        return self.catalog.create_table(self.sink.table, schema, properties=noted)

    def _same_keys(self, rows: pa.Table) -> Any:
        """The condition that a row has the key of one of these rows."""
        words = needed("pyiceberg.expressions", "iceberg")
        keys = keys_of(rows, self.key)
        if len(self.key) == 1 and (None,) not in keys:
            return words.In(self.key[0], [value for (value,) in keys])
        conditions = None
        for values in keys:
            parts = [
                words.IsNull(n) if v is None else words.EqualTo(n, v) for n, v in zip(self.key, values, strict=True)
            ]
            one = parts[0] if len(parts) == 1 else words.And(*parts)
            conditions = one if conditions is None else words.Or(conditions, one)
        return conditions


def _storable(rows: pa.Table) -> pa.Table:
    """Convert integers to 32 or 64 bits, which Iceberg supports."""
    small = (pa.int8(), pa.int16())
    fields = [f.with_type(pa.int32()) if f.type in small else f for f in rows.schema]
    return rows.cast(pa.schema(fields))


def iceberg_table(
    catalog: str, table: str, *, key: Sequence[str] | str = (), properties: Mapping[str, Any] | None = None
) -> IcebergTable:
    """A table of an Iceberg catalog, for `db.export(view, …)`; `key`: the columns that identify a row."""
    columns = (key,) if isinstance(key, str) else tuple(key)
    return IcebergTable(catalog, table, columns, read_properties(properties))
