"""A Delta table that follows a table or view, exactly once.

An epoch is one version. Its number is the version's application transaction, which Delta stores with the version, so
the table itself holds its position.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from viewlet.columns.fresh_names import free_name
from viewlet.errors import StoreError
from viewlet.extras import needed
from viewlet.plan.words import quoted
from viewlet.sink.keyed_changes import find_key, gone_and_come, keys_of
from viewlet.sink.sink import Opened, Sender, Sink


@dataclass(frozen=True)
class DeltaTable(Sink):
    """A Delta table as a sink."""

    kind: ClassVar[str] = "delta"
    path: str
    key: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"Delta table {self.path}"

    @contextmanager
    def opened(self, sender: Sender) -> Iterator[Opened]:
        deltalake = needed("deltalake", "delta")
        key = find_key(self.key, sender.relation, needed_by=str(self))
        try:
            yield _Open(self, sender, key, deltalake)
        except deltalake.exceptions.DeltaError as error:
            raise StoreError(f"{self}: {error}") from error


@dataclass
class _Open:
    sink: DeltaTable
    sender: Sender
    key: tuple[str, ...]
    deltalake: Any

    def last(self) -> int | None:
        if not self.deltalake.DeltaTable.is_deltatable(self.sink.path):
            return None
        table = self.deltalake.DeltaTable(self.sink.path)
        whose = table.metadata().name or ""
        if not whose.startswith("viewlet/"):
            raise StoreError(f"{self.sink} was not created by Viewlet", hint="name a path without a table")
        _, warehouse, name = whose.split("/", 2)
        self.sender.refuse_other(self.sink, warehouse, name)
        found = table.transaction_version(self._application)
        return None if found is None else int(found)

    def write(self, epoch: int, changes: pa.Table) -> None:
        gone, come = gone_and_come(self.sender.relation, changes)
        table = self._table(come.schema)
        transaction = self.deltalake.Transaction(self._application, epoch)
        commit = self.deltalake.CommitProperties(app_transactions=[transaction])
        if table.transaction_version(self._application) is None:
            actions = self.deltalake.write_deltalake
            actions(table, come, mode="append", commit_properties=commit)
        else:
            self._merge(table, gone, come, commit)

    @property
    def _application(self) -> str:
        return f"viewlet/{self.sender.warehouse}/{self.sender.relation.name}"

    def _table(self, schema: pa.Schema) -> Any:
        """The table; created with a change feed if it does not exist."""
        made: Any = self.deltalake.DeltaTable
        if made.is_deltatable(self.sink.path):
            return made(self.sink.path)
        settings = {"delta.enableChangeDataFeed": "true"}
        return made.create(self.sink.path, schema, name=self._application, configuration=settings)

    def _merge(self, table: Any, gone: pa.Table, come: pa.Table, commit: Any) -> None:
        """Delete, update and insert in one version: upsert `come`, and delete the keys of `gone` that it lacks."""
        goes = free_name("goes", come.column_names)
        come_back = set(keys_of(come, self.key))
        only = gone.filter(pa.array([key not in come_back for key in keys_of(gone, self.key)], pa.bool_()))
        marked = [
            part.append_column(goes, pa.array([flag] * len(part), pa.bool_()))
            for part, flag in ((come, False), (only, True))
        ]
        same = " AND ".join(f"(t.{quoted(k)} IS NOT DISTINCT FROM s.{quoted(k)})" for k in self.key)
        values = {quoted(name): f"s.{quoted(name)}" for name in come.column_names}
        (
            table.merge(pa.concat_tables(marked), same, "s", "t", commit_properties=commit)
            .when_matched_delete(f"s.{quoted(goes)}")
            .when_matched_update(values)
            .when_not_matched_insert(values, f"NOT s.{quoted(goes)}")
            .execute()
        )


def delta_table(path: str | Path, *, key: Sequence[str] | str = ()) -> DeltaTable:
    """A Delta table, for `db.export(view, …)`; `key`: the columns that identify a row."""
    place = str(path) if "://" in str(path) else str(Path(path).absolute())
    return DeltaTable(place, (key,) if isinstance(key, str) else tuple(key))
