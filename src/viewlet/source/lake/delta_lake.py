"""A Delta table as the source of a table: all rows first, then its change data feed, one version per epoch."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from viewlet.errors import StoreError
from viewlet.extras import needed
from viewlet.plan.words import quoted_text
from viewlet.source.bad_records import OnBad, read_on_bad
from viewlet.source.feed import Batch, Feed, Target, fields_of
from viewlet.source.lake.arrow_batches import arrow_batch, pick_columns, without_views
from viewlet.source.net_changes import Place
from viewlet.warehouse.declare.tables import Table

if TYPE_CHECKING:
    from deltalake import DeltaTable

_FEED = "delta.enableChangeDataFeed"
_GONE = ("delete", "update_preimage")
_COME = ("insert", "update_postimage")


@dataclass(frozen=True)
class Delta(Feed):
    """A Delta table as a source."""

    kind: ClassVar[str] = "delta"
    path: str
    on_bad: OnBad = "FAIL EPOCH"

    def batches(self, target: Target) -> Generator[Batch, None, None]:
        position = target.position()
        with opened(self.path) as table:
            known = table.metadata().id
            if position is None:
                position = {"version": table.version(), "table": str(known)}
                rows = without_views(pa.table(table.to_pyarrow_table()))
                yield arrow_batch(target.table, position, rows, rows.slice(0, 0), Place(self.path))
            if position["table"] != str(known):
                raise StoreError(
                    f"{self.path} is not the table that was read before", hint="drop the table and create it again"
                )
            for version in range(position["version"] + 1, table.version() + 1):
                yield self._version(target.table, table, version)

    def _version(self, table: Table, source: DeltaTable, version: int) -> Batch:
        """The changes of a version."""
        changes = self._changes(source, version)
        come, gone = (changes.filter(pc.is_in(changes["_change_type"], pa.array(kinds))) for kinds in (_COME, _GONE))
        moments = changes["_commit_timestamp"].cast(pa.timestamp("ms")).cast(pa.int64())
        oldest = pc.min(moments).as_py() / 1e3 if changes.num_rows else None
        position = {"version": version, "table": str(source.metadata().id)}
        return arrow_batch(table, position, come, gone, Place(self.path, version), oldest)

    def _changes(self, source: DeltaTable, version: int) -> pa.Table:
        failures = (pa.ArrowException, needed("deltalake", "delta").exceptions.DeltaError)
        try:
            return without_views(pa.table(source.load_cdf(starting_version=version, ending_version=version)))
        except failures as error:
            raise StoreError(
                f"Delta table {self.path} no longer has what version {version} changed: {error}",
                hint="vacuum it later; drop the table and create it again, which reads all rows",
            ) from error

    def check(self, table: Table) -> None:
        with opened(self.path) as source:
            if source.metadata().configuration.get(_FEED) != "true":
                raise StoreError(
                    f"{self.path} has no change data feed",
                    hint=f"ALTER TABLE … SET TBLPROPERTIES ('{_FEED}' = 'true')",
                )
            pick_columns(table, pa.schema(source.schema().to_arrow()).empty_table(), self.path)

    @property
    def statement(self) -> str:
        return f"FROM DELTA {quoted_text(self.path)} ON BAD RECORD {self.on_bad}"


@contextmanager
def opened(path: str) -> Iterator[DeltaTable]:
    """A Delta table at its latest version."""
    deltalake = needed("deltalake", "delta")
    try:
        yield deltalake.DeltaTable(path)
    except deltalake.exceptions.DeltaError as error:
        raise StoreError(f"Delta table {path}: {error}") from error


def delta(path: str | Path, *, on_bad_record: str = "FAIL EPOCH") -> Delta:
    """A Delta table with a change data feed, for `db.create_table(…, source=…)`: a folder, or a deltalake URL."""
    place = str(path) if "://" in str(path) else str(Path(path).absolute())
    return Delta(place, read_on_bad(on_bad_record, "READ NULLS"))


def read(document: Mapping[str, Any]) -> Delta:
    """Decode a Delta source."""
    return Delta(**fields_of(document))
