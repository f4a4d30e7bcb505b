"""Tables and views as Spark DataFrames; large ones are read by tasks.

Spark reads a table's Parquet files directly. Only rows that share a hash with a deleted row are netted: in process if
few were deleted, else by tasks, after an exchange by hash. The runs of a view are read and netted by partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from viewlet.columns.arrays import combine, values_of
from viewlet.columns.fresh_names import free_name
from viewlet.columns.rows import Rows
from viewlet.engine.cluster.maps import StoredMap
from viewlet.engine.cluster.runner import partitions_for
from viewlet.plan.types import BIGINT, MONTHS, Field
from viewlet.plan.words import quoted
from viewlet.program.distributed import Anywhere
from viewlet.spark.session.arrow_frames import (
    arrow_schema,
    can_come_from_tasks,
    from_arrow,
    from_partitions,
    spark_schema,
    to_arrow,
)
from viewlet.store import Contents, Snapshot, TableContents
from viewlet.store.location import split_url
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.maintained import Maintained
from viewlet.warehouse.refresh import visible

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from viewlet.warehouse.warehouse import Warehouse


AS_WRITTEN = {
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    "mergeSchema": "false",
    "parquet.page.verify-checksum.enabled": "true",
}
"""Options for reading a table's files, which override those of the session. Checksums of pages are verified, as Spark
reads files only when the DataFrame is used, and they may have been altered by then."""


def frame_of(spark: SparkSession, address: str, found: Table | Maintained, snapshot: Snapshot) -> DataFrame:
    """The rows of a table or view at a snapshot."""
    contents = snapshot.contents(found.name)
    if isinstance(found, Table):
        assert isinstance(contents, TableContents)
        return _table_frame(spark, address, contents, found.fields)
    if not is_for_tasks(found, snapshot):
        return _frame(spark, visible(found, contents.consolidated()), found.fields)
    parts = partitions_for(max(spark.sparkContext.defaultParallelism, contents.bytes // _SHARE))
    read = ReadShare(address, StoredMap.of(contents, Anywhere()), found.stored, parts)
    return from_partitions(spark, parts, read, found.fields)


def is_for_tasks(found: Maintained, snapshot: Snapshot) -> bool:
    """Whether tasks read a view: it is large, and tasks can pass its types to Spark."""
    return snapshot.contents(found.name).bytes > _SMALL and all(can_come_from_tasks(f.type) for f in found.fields)


_SMALL, _SHARE = 4 << 20, 64 << 20
"""Bytes of a view up to which it is read in process; bytes that one task reads."""


@dataclass(frozen=True)
class ReadShare:
    """Reads one partition of a map, each row as often as its weight says."""

    address: str
    stored: StoredMap
    columns: tuple[str, ...]
    parts: int

    def __call__(self, part: int) -> pa.Table:
        own = self.stored.open(self.address).partition(part, self.parts).consolidated()
        return own.select(self.columns).expanded().arrow()


def _frame(spark: SparkSession, rows: Rows, fields: tuple[Field, ...]) -> DataFrame:
    return from_arrow(spark, rows.expanded().arrow(), fields)


def _table_frame(spark: SparkSession, address: str, contents: TableContents, fields: tuple[Field, ...]) -> DataFrame:
    names = [quoted(f.name) for f in fields]
    has_files = any(run.ref.kind == "parquet" and run.ref.sign > 0 for run in contents.runs)
    if has_files and _many_are_gone(contents, fields):
        return _netted_by_tasks(spark, address, contents, fields)
    recent, gone = contents.recent(), _gone(contents, fields)
    if not has_files:
        return _frame(spark, Rows.concat([recent, gone]).consolidate(), fields)
    hashed = contents.layout.row_hash
    stored = _stored(spark, address, contents, fields, 1)
    gone_hashes = np.concatenate([gone.hashes(), recent.filter(recent.weights < 0).hashes()])
    if not len(gone_hashes):
        return _plus(spark, stored.select(*names), recent, fields)
    hashes = spark.createDataFrame(pa.table({hashed: np.unique(gone_hashes).view(np.int64)}))
    untouched = stored.join(hashes, hashed, "left_anti").select(*names)
    touched = to_arrow(stored.join(hashes, hashed, "left_semi").select(*names), fields)
    netted = Rows.concat([Rows.of(touched), recent, gone]).consolidate()
    return _plus(spark, untouched, netted, fields)


def _stored(
    spark: SparkSession, address: str, contents: TableContents, fields: tuple[Field, ...], sign: int
) -> DataFrame:
    """The rows of a table's files of insertions (`sign` 1) or deletions (−1), with their hashes, not netted.

    Spark itself reads files in a folder. Tasks read files in an object store, through the cache of their executor, as
    the session may have neither the store's file system nor its credentials.
    """
    hashed = (*fields, Field(contents.layout.row_hash, BIGINT, False))
    if split_url(address) is None or not all(can_come_from_tasks(f.type) for f in fields):
        files = contents.positive_files() if sign > 0 else contents.negative_files()
        return spark.read.schema(spark_schema(hashed)).options(**AS_WRITTEN).parquet(*files)
    own = [run.ref for run in contents.runs if run.ref.kind == "parquet" and run.ref.sign == sign]
    read = ReadFiles(address, replace(StoredMap.of(contents, Anywhere()), refs=tuple(own)), [f.name for f in hashed])
    return from_partitions(spark, len(own), read, hashed)


@dataclass(frozen=True)
class ReadFiles:
    """Reads one of a table's files, with the hashes of its rows."""

    address: str
    stored: StoredMap
    columns: list[str]

    def __call__(self, number: int) -> pa.Table:
        (run,) = replace(self.stored, refs=self.stored.refs[number : number + 1]).open(self.address).runs
        return pq.read_table(pa.BufferReader(run.body), columns=self.columns)


def _many_are_gone(contents: TableContents, fields: tuple[Field, ...]) -> bool:
    """Whether too many rows were deleted from a table to net them in process."""
    gone = sum(run.ref.size for run in contents.runs if run.ref.kind == "parquet" and run.ref.sign < 0)
    return gone > _SMALL and all(can_come_from_tasks(f.type) and f.type.name not in MONTHS for f in fields)


def _netted_by_tasks(
    spark: SparkSession, address: str, contents: TableContents, fields: tuple[Field, ...]
) -> DataFrame:
    """All rows of a table; those that share a hash with a deleted row are netted by tasks."""
    from pyspark.sql import functions as F

    hashed, weight = (
        contents.layout.row_hash,
        free_name("_weight", (*contents.layout.columns, contents.layout.row_hash)),
    )
    stored = _stored(spark, address, contents, fields, 1)
    gone, recent = _stored(spark, address, contents, fields, -1), contents.recent()
    few = {**recent.select([f.name for f in fields]).columns, hashed: recent.hashes().view(np.int64)}
    signed = (*fields, Field(hashed, BIGINT, False), Field(weight, BIGINT, False))
    changes = gone.withColumn(weight, F.lit(-1).cast("bigint")).unionAll(
        from_arrow(spark, pa.table({**few, weight: recent.weights}), signed)
    )
    hashes = changes.where(F.col(quoted(weight)) < 0).select(quoted(hashed)).distinct()
    touched = stored.join(hashes, hashed, "left_semi").select(*map(quoted, stored.columns))
    together = touched.withColumn(weight, F.lit(1).cast("bigint")).unionAll(changes)
    netted = together.repartition(F.col(quoted(hashed))).mapInArrow(NetTask(hashed, weight), spark_schema(fields))
    untouched = stored.join(hashes, hashed, "left_anti").select(*(quoted(f.name) for f in fields))
    return untouched.unionAll(netted)


@dataclass(frozen=True)
class NetTask:
    """A function for `mapInArrow` that nets rows with hashes and weights."""

    hashed: str
    weight: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        given = list(batches)
        if not given:
            return
        table = pa.Table.from_batches(given)
        weights = values_of(combine(table.column(self.weight)), "i8")
        rows = Rows.of(table.drop_columns([self.hashed, self.weight]), weights)
        yield from rows.consolidate().expanded().arrow().to_batches()


def _plus(spark: SparkSession, frame: DataFrame, rows: Rows, fields: tuple[Field, ...]) -> DataFrame:
    return frame.unionAll(_frame(spark, rows, fields)) if len(rows) else frame


def _gone(contents: TableContents, fields: tuple[Field, ...]) -> Rows:
    """The deleted rows that are in files."""
    schema = arrow_schema(fields)
    tables = [pq.read_table(file, columns=schema.names).cast(schema) for file in contents.negative_files()]
    table = pa.concat_tables(tables) if tables else schema.empty_table()
    return Rows.of(table, np.full(table.num_rows, -1, dtype=np.int64))


class Reading:
    """Registers tables and views with their current rows in Viewlet's own sessions."""

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse
        self._frames: dict[str, tuple[int, Contents, DataFrame]] = {}

    def query(
        self, text: str, parameters: Mapping[str, Any] | None = None, *, spark: SparkSession | None = None
    ) -> DataFrame:
        """Run a query over the last committed epoch, in the given session or in one with the caller's settings."""
        from viewlet.spark.session.children import active
        from viewlet.spark.session.leaves import mentions, register
        from viewlet.spark.session.session import EAGER_RULES, leave_out
        from viewlet.warehouse.read.earlier import with_names_of_epochs
        from viewlet.warehouse.read.relation import Relation

        text, earlier = with_names_of_epochs(text) if "version" in text.lower() else (text, {})
        mentioned = [name for name in self._warehouse.catalog.names() if mentions(text, name)]
        with active(spark or self._warehouse.sessions.statement(text)) as spark:
            self.show(spark, mentioned)
            for stands, (name, epoch) in earlier.items():
                then = Relation(self._warehouse, self._warehouse.catalog.find(name)).as_of(epoch)
                frame = from_arrow(self._warehouse.sessions.plain, then.arrow(), then.fields)
                register(spark, self._warehouse.sessions.warehouse, stands, frame)
            leave_out(spark, EAGER_RULES)
            return spark.sql(text, dict(parameters) if parameters else None)

    def show(self, spark: SparkSession, names: Iterable[str]) -> None:
        """Register names in a session, with the rows of the last committed epoch."""
        from viewlet.spark.session.leaves import register

        snapshot = self._warehouse.store.snapshot()
        for gone in self._frames.keys() - set(self._warehouse.catalog.names()):
            del self._frames[gone]
        for name in names:
            register(spark, self._warehouse.sessions.warehouse, name, self.frame(name, snapshot))

    def frame(self, name: str, snapshot: Snapshot) -> DataFrame:
        """The rows of a table or view at a snapshot; the last DataFrame of each is cached."""
        from viewlet.spark.session.children import active

        plain, contents = self._warehouse.sessions.plain, snapshot.contents(name)
        if isinstance(contents, TableContents) and split_url(self._warehouse.store.address) is None:
            contents.check_files()
        epoch, there, frame = self._frames.get(name, (-1, contents, None))
        if frame is None or epoch != snapshot.epoch or there.runs != contents.runs or frame.sparkSession is not plain:
            with active(plain):
                found = self._warehouse.catalog.find(name)
                frame = frame_of(plain, self._warehouse.store.address, found, snapshot)
            self._frames[name] = snapshot.epoch, contents, frame  # holding the contents keeps their files
        return frame
