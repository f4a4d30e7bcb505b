"""Where a table's rows come from, if not from users: the seam that folders, and whatever else feeds tables, plug into.

The law: what was read and how far reading has come are one commit, so every record is taken in exactly once,
whatever is interrupted where. A kind of source is a frozen dataclass that derives from `Source`, with a line in `KINDS`.
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
"""How the documents of each kind are read: where the function is found when the first is needed."""


class Source(ABC):
    """What feeds a table; nothing else changes it."""

    kind: ClassVar[str]

    @abstractmethod
    def read(self, warehouse: Warehouse, table: Table) -> Iterator[int]:
        """Take in what is new, epoch by epoch; the numbers of the epochs."""

    @property
    def together(self) -> str:
        """What tells the sources that are read in the same epochs: nothing, if it is read alone."""
        return ""

    def read_together(self, warehouse: Warehouse, tables: Sequence[Table]) -> Iterator[int]:
        """The same for all tables whose sources are read in the same epochs; this is the source of the first."""
        assert len(tables) == 1, f"a {self.kind} is read alone"
        return self.read(warehouse, tables[0])

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """All that makes it again in another process, as JSON."""

    def bags(self, table: Table) -> list[Bag]:
        """What it keeps beside the table: how far it has come."""
        return []

    def asides(self, table: Table) -> list[Table]:
        """The tables of what it could not take in."""
        return []

    def check(self, table: Table) -> None:
        """Refuse a new table that it could not feed."""
        return

    def release(self, table: Table) -> None:
        """Let go of what others keep for its sake, once the table is dropped."""
        return

    def status(self, table: Table, snapshot: Snapshot) -> dict[str, Any]:
        """How far reading has come, as plain values."""
        return {"kind": self.kind}

    @property
    def statement(self) -> str | None:
        """What CREATE TABLE says of it, if it can be said there."""
        return None


def positions_bag(table: Table) -> str:
    """The bag in which a table's source can store how far it has read."""
    return f"{table.name}.positions"


def source_document(source: Source | None) -> dict[str, Any] | None:
    return None if source is None else {"kind": source.kind, **source.document()}


def read_source(document: Mapping[str, Any] | None) -> Source | None:
    """The source that a document describes."""
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
