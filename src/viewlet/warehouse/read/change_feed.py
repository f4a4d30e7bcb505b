"""The change feed: the rows that each epoch changed in a table or view. Tasks read the changes of large epochs.

Tasks read the runs of an epoch directly. Runs of a view are netted by partition. Rows of a table are exchanged by key,
since an insertion and a deletion under one key make an update.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.fresh_names import free_name
from viewlet.columns.rows import Rows, group
from viewlet.engine.cluster.exchange import cut, pack, partition_of, unpack
from viewlet.engine.cluster.maps import StoredMap
from viewlet.plan.types import BIGINT, BINARY, INT, STRING, TIMESTAMP, Field
from viewlet.program.distributed import Anywhere
from viewlet.store import Contents
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.maintained import Maintained

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FEED = (Field("_change_type", STRING), Field("_commit_version", BIGINT), Field("_commit_timestamp", TIMESTAMP))
_SMALL, _SHARE = 4 << 20, 64 << 20
"""Bytes of an epoch's changes up to which they are read in process; bytes that one task reads."""


def change_fields(fields: Sequence[Field]) -> tuple[Field, ...]:
    """The columns of a feed: those of the table or view, then the kind of change, the epoch and its time."""
    names = [f.name for f in fields]
    return (*fields, *(replace(f, name=free_name(f.name, names)) for f in _FEED))


def change_schema(fields: Sequence[Field]) -> pa.Schema:
    return pa.schema([pa.field(f.name, arrow_type(f.type)) for f in change_fields(fields)])


@dataclass(frozen=True)
class ShowChanges:
    """Converts an epoch's changes to rows of the feed."""

    epoch: int
    timestamp: float
    stored: tuple[str, ...]
    fields: tuple[Field, ...]
    table: Table | None
    """The table, unless the feed is that of a view."""

    @staticmethod
    def of(found: Table | Maintained, epoch: int, timestamp: float) -> ShowChanges:
        table = found if isinstance(found, Table) else None
        return ShowChanges(epoch, timestamp, tuple(found.stored), tuple(found.fields), table)

    def __call__(self, rows: Rows) -> pa.Table:
        netted = rows.select(self.stored).rename([f.name for f in self.fields]).consolidate()
        at = np.repeat(np.arange(len(netted)), np.abs(netted.weights))
        kinds, when = self._kinds(netted), dt.datetime.fromtimestamp(self.timestamp, dt.UTC)
        schema = change_schema(self.fields)
        commit = zip((self.epoch, when), schema.types[-2:], strict=True)
        extra = [pa.array(kinds[at].tolist(), pa.string()), *(pa.array([v] * len(at), kind) for v, kind in commit)]
        own = [column.combine_chunks() for column in netted.take(at).arrow().columns]
        return pa.Table.from_arrays([*own, *extra], schema=schema)

    def _kinds(self, rows: Rows) -> np.ndarray[Any, Any]:
        """Each row's kind of change: with a primary key, a deletion and an insertion under one key are an update."""
        kinds = np.where(rows.weights > 0, "insert", "delete").astype(object)
        if self.table is not None and self.table.primary_key and len(rows):
            keyed = self.table.with_key(rows)
            first, groups = group([keyed[k] for k in self.table.key], len(rows))
            plus, minus = (
                np.bincount(groups, weights=mask, minlength=len(first)) for mask in (rows.weights > 0, rows.weights < 0)
            )
            both = ((plus > 0) & (minus > 0))[groups]
            kinds[both] = np.where(rows.weights[both] > 0, "update_postimage", "update_preimage")
        return kinds


def feed_frame(spark: SparkSession, address: str, feed: Sequence[tuple[Contents, ShowChanges]]) -> DataFrame | None:
    """The changes of epochs as a DataFrame; None if there are none, or if tasks cannot pass their types to Spark."""
    from viewlet.spark.session.arrow_frames import can_come_from_tasks, from_arrow

    if not feed or not all(can_come_from_tasks(f.type) for f in feed[0][1].fields):
        return None
    fields = change_fields(feed[0][1].fields)
    small = [show(contents.consolidated()) for contents, show in feed if contents.bytes <= _SMALL]
    frames = [from_arrow(spark, pa.concat_tables(small), fields)] if small else []
    frames += [_by_tasks(spark, address, contents, show) for contents, show in feed if contents.bytes > _SMALL]
    return reduce(lambda a, b: a.unionAll(b), frames)


def _by_tasks(spark: SparkSession, address: str, contents: Contents, show: ShowChanges) -> DataFrame:
    from viewlet.engine.cluster.runner import each_partition, partitions_for
    from viewlet.spark.session.arrow_frames import from_partitions, from_tasks

    stored, fields = StoredMap.of(contents, Anywhere()), change_fields(show.fields)
    parts = partitions_for(max(spark.sparkContext.defaultParallelism, contents.bytes // _SHARE))
    if show.table is None:
        return from_partitions(spark, parts, ReadPartition(address, stored, show, parts), fields)
    pieces = (Field("part", INT), Field("data", BINARY))
    rows = from_partitions(spark, len(stored.refs), CutRun(address, stored, show.table, parts), pieces)
    return from_tasks(lambda task, schema: each_partition(rows, parts, task, schema), ShowTask(show), fields)


@dataclass(frozen=True)
class ReadPartition:
    """Reads one partition of an epoch's changes of a view."""

    address: str
    stored: StoredMap
    show: ShowChanges
    parts: int

    def __call__(self, part: int) -> pa.Table:
        return self.show(self.stored.open(self.address).partition(part, self.parts).consolidated())


@dataclass(frozen=True)
class CutRun:
    """Reads a run of a table's changes and partitions it by the hash of the key."""

    address: str
    stored: StoredMap
    table: Table
    parts: int

    def __call__(self, number: int) -> pa.Table:
        rows = replace(self.stored, refs=self.stored.refs[number : number + 1]).open(self.address).scan()
        shares = list(cut(rows, partition_of(self.table.key_hashes(rows), self.parts)))
        data = pa.array([pack(share) for _, share in shares], pa.binary())
        return pa.table({"part": pa.array([part for part, _ in shares], pa.int32()), "data": data})


@dataclass(frozen=True)
class ShowTask:
    """A function for `mapInArrow`: takes packed rows of a table, partitioned by key, and yields rows of the feed."""

    show: ShowChanges

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        pieces = [unpack(data.as_py()) for batch in batches for data in batch.column("data")]
        if pieces:
            yield self.show(Rows.concat(pieces))
