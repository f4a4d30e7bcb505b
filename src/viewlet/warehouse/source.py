"""The interface of sources, such as folders and topics, which feed tables instead of users.

The law: records and the position up to which they were read are committed together, so every record is ingested
exactly once, whatever is interrupted. A kind of source is a frozen dataclass that derives from `Source`, with a line in
`KINDS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from viewlet.errors import StoreError
from viewlet.store import Layout, Snapshot

if TYPE_CHECKING:
    from viewlet.warehouse.declare.tables import Table
    from viewlet.warehouse.warehouse import Warehouse

Bag = tuple[str, Layout, dict[str, pa.DataType]]

KINDS: dict[str, str] = {
    "delta": "viewlet.source.lake.delta_lake:read",
    "folder": "viewlet.source.files.folder_source:read",
    "iceberg": "viewlet.source.lake.iceberg:read",
    "kafka": "viewlet.source.events.kafka:read",
    "postgres": "viewlet.source.postgres.source:read",
    "project": "viewlet.project.streaming_tables:read",
    "spark": "viewlet.source.lake.spark_batch:read",
}
"""The address of the function that decodes documents of each kind, imported on first use."""


class Source(ABC):
    """The source of a table, which alone changes it."""

    kind: ClassVar[str]

    @abstractmethod
    def read(self, warehouse: Warehouse, table: Table) -> Iterator[int]:
        """Ingest new records, epoch by epoch; yield the numbers of the epochs."""

    @property
    def together(self) -> str:
        """A key shared by the sources that are read in the same epochs; empty if it is read alone."""
        return ""

    def read_together(self, warehouse: Warehouse, tables: Sequence[Table]) -> Iterator[int]:
        """Ingest new records of all tables whose sources share a key; this is the source of the first."""
        assert len(tables) == 1, f"a {self.kind} is read alone"
        return self.read(warehouse, tables[0])

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """Its serialized form, as JSON, from which another process can decode it."""

    def bags(self, table: Table) -> list[Bag]:
        """The bags that it keeps beside the table, such as its position."""
        return []

    def asides(self, table: Table) -> list[Table]:
        """The tables of records that it could not ingest."""
        return []

    def check(self, table: Table) -> None:
        """Raise if it cannot feed a new table."""
        return

    def release(self, table: Table) -> None:
        """Release what other systems keep for it, after the table is dropped."""
        return

    def status(self, table: Table, snapshot: Snapshot) -> dict[str, Any]:
        """Its position, as plain values."""
        return {"kind": self.kind}

    @property
    def statement(self) -> str | None:
        """Its clause in CREATE TABLE, if it has one."""
        return None


def positions_bag(table: Table) -> str:
    """The bag in which a table's source can store how far it has read."""
    return f"{table.name}.positions"


def source_document(source: Source | None) -> dict[str, Any] | None:
    return None if source is None else {"kind": source.kind, **source.document()}


def read_source(document: Mapping[str, Any] | None) -> Source | None:
    """Decode a source."""
    if document is None:
        return None
    if document["kind"] not in KINDS:
        raise StoreError(
            f"a {document['kind']} feeds a table, which this version of Viewlet does not know",
            hint="use a newer Viewlet",
        )
    module, _, function = KINDS[document["kind"]].partition(":")
    read: Callable[[Mapping[str, Any]], Source] = getattr(import_module(module), function)
    return read(document)
