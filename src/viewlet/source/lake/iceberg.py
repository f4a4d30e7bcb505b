"""An Iceberg table as the source of a table: all rows first, then the difference of snapshots.

A snapshot is a set of data files, each with the deletions that apply to it. To compare two snapshots, only files that
are in one of them, or whose deletions differ, are read. Rows that were only rewritten are in both and cancel.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from viewlet import arguments
from viewlet.errors import SqlError, StoreError
from viewlet.extras import needed
from viewlet.plan.words import options_text, quoted_text
from viewlet.source.bad_records import OnBad, read_on_bad
from viewlet.source.feed import Batch, Feed, Target, fields_of
from viewlet.source.lake.arrow_batches import arrow_batch, pick_columns
from viewlet.source.net_changes import Place
from viewlet.warehouse.declare.tables import Table

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import FileScanTask
    from pyiceberg.table import Table as LakeTable

_SECRET = ("secret", "password", "token", "credential")
Tasks = dict[tuple[str, ...], "FileScanTask"]
"""The scan tasks of data files, by the paths of the file and its deletions."""


@dataclass(frozen=True)
class Iceberg(Feed):
    """A table of an Iceberg catalog as a source."""

    kind: ClassVar[str] = "iceberg"
    catalog: str
    name: str
    properties: tuple[tuple[str, str], ...] = ()
    on_bad: OnBad = "FAIL EPOCH"

    def batches(self, target: Target) -> Generator[Batch, None, None]:
        with opened(self.catalog, self.name, self.properties) as table:
            now, position = table.current_snapshot(), target.position()
            known = None if position is None else position["snapshot"]
            current = None if now is None else now.snapshot_id
            if position is not None and current == known:
                return
            before, after = _tasks(table, known), _tasks(table, current)
            gone, come = (
                _rows(table, [task for key, task in some.items() if key not in others])
                for some, others in ((before, after), (after, before))
            )
            oldest = now.timestamp_ms / 1e3 if now is not None and position is not None else None
            yield arrow_batch(target.table, {"snapshot": current}, come, gone, Place(self.name), oldest)

    def check(self, table: Table) -> None:
        with opened(self.catalog, self.name, self.properties) as source:
            pick_columns(table, source.schema().as_arrow().empty_table(), self.name)

    @property
    def statement(self) -> str:
        place = f"FROM ICEBERG {quoted_text(self.catalog)} TABLE {quoted_text(self.name)}"
        return f"{place}{options_text(dict(self.properties))} ON BAD RECORD {self.on_bad}"


def _tasks(table: LakeTable, snapshot: int | None) -> Tasks:
    """The scan tasks of a snapshot."""
    if snapshot is None:
        return {}
    if table.snapshot_by_id(snapshot) is None:
        raise StoreError(
            f"{'.'.join(table.name())} no longer has snapshot {snapshot}, up to which it was read",
            hint="keep snapshots longer; drop the table and create it again, which reads all rows",
        )
    tasks = table.scan(snapshot_id=snapshot).plan_files()
    return {(t.file.file_path, *sorted(d.file_path for d in t.delete_files)): t for t in tasks}


def _rows(table: LakeTable, tasks: list[FileScanTask]) -> pa.Table:
    """The rows of files, with the table's current columns."""
    arrow = needed("pyiceberg.io.pyarrow", "iceberg")
    everything = needed("pyiceberg.expressions", "iceberg").AlwaysTrue()
    return arrow.ArrowScan(table.metadata, table.io, table.schema(), everything).to_table(tasks)


@contextmanager
def catalog_of(name: str, properties: tuple[tuple[str, str], ...]) -> Iterator[Catalog]:
    """A catalog, by its name in PyIceberg's configuration, or by properties."""
    catalogs, exceptions = needed("pyiceberg.catalog", "iceberg"), needed("pyiceberg.exceptions", "iceberg")
    failures = tuple(
        kind for kind in vars(exceptions).values() if isinstance(kind, type) and issubclass(kind, Exception)
    )
    try:
        yield catalogs.load_catalog(name, **dict(properties))
    except failures as error:
        raise StoreError(f"Iceberg catalog {name}: {error}") from error


@contextmanager
def opened(catalog: str, name: str, properties: tuple[tuple[str, str], ...]) -> Iterator[LakeTable]:
    """The current state of a table in a catalog."""
    with catalog_of(catalog, properties) as found:
        yield found.load_table(name)


def read_properties(properties: Mapping[str, Any] | None) -> tuple[tuple[str, str], ...]:
    """Validate the properties of a catalog; refuse secrets."""
    given = {name: str(value) for name, value in arguments.mapping("the properties", properties).items()}
    if secret := next((name for name in given if any(word in name.lower() for word in _SECRET)), None):
        raise SqlError(f"{secret} would be stored in the warehouse", hint="put it into ~/.pyiceberg.yaml")
    return tuple(sorted(given.items()))


def iceberg(
    catalog: str,
    table: str,
    *,
    properties: Mapping[str, Any] | None = None,
    on_bad_record: str = "FAIL EPOCH",
) -> Iceberg:
    """A table of an Iceberg catalog, for `db.create_table(…, source=…)`.

    `catalog`: its name in PyIceberg's configuration; or any name, with `properties` such as `uri` and `warehouse`.
    """
    name, own = arguments.text("the catalog", catalog), arguments.text("the table", table)
    return Iceberg(name, own, read_properties(properties), read_on_bad(on_bad_record, "READ NULLS"))


def read(document: Mapping[str, Any]) -> Iceberg:
    """Decode an Iceberg source."""
    fields = fields_of(document)
    return Iceberg(**{**fields, "properties": tuple((name, value) for name, value in fields["properties"])})
