"""Tables and views as Spark DataFrames.

A table's Parquet files are read by Spark as they are. Rows that were taken away are few: only the rows that
share a hash with one of them are netted, here; all others Spark reads without looking.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from viewlet.columns.rows import Rows
from viewlet.plan.types import BIGINT, Field
from viewlet.plan.words import quoted
from viewlet.spark.session.arrow_frames import arrow_schema, from_arrow, spark_schema, to_arrow
from viewlet.store import Contents, Snapshot, TableContents
from viewlet.warehouse.maintained import Maintained
from viewlet.warehouse.refresh import visible
from viewlet.warehouse.tables import Table

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
"""How the files of a table are read, whatever a session says of other files. Spark reads when the frame is used;
should a file be altered until then, its pages are not what they say."""


def frame_of(spark: SparkSession, found: Table | Maintained, snapshot: Snapshot) -> DataFrame:
    """The rows of a table or view at a snapshot."""
    contents = snapshot.contents(found.name)
    if isinstance(found, Table):
        assert isinstance(contents, TableContents)
        return _table_frame(spark, contents, found.fields)
    return _frame(spark, visible(found, contents.consolidated()), found.fields)


def _frame(spark: SparkSession, rows: Rows, fields: tuple[Field, ...]) -> DataFrame:
    return from_arrow(spark, rows.expanded().arrow(), fields)


def _table_frame(spark: SparkSession, contents: TableContents, fields: tuple[Field, ...]) -> DataFrame:
    files, names = contents.positive_files(), [quoted(f.name) for f in fields]
    recent, gone = contents.recent(), _gone(contents, fields)
    if not files:
        return _frame(spark, Rows.concat([recent, gone]).consolidate(), fields)
    hashed = contents.layout.row_hash
    schema = spark_schema([*fields, Field(hashed, BIGINT, False)])
    stored = spark.read.schema(schema).options(**AS_WRITTEN).parquet(*files)
    gone_hashes = np.concatenate([gone.hashes(), recent.filter(recent.weights < 0).hashes()])
    if not len(gone_hashes):
        return _plus(spark, stored.select(*names), recent, fields)
    hashes = spark.createDataFrame(pa.table({hashed: np.unique(gone_hashes).view(np.int64)}))
    untouched = stored.join(hashes, hashed, "left_anti").select(*names)
    touched = to_arrow(stored.join(hashes, hashed, "left_semi").select(*names), fields)
    netted = Rows.concat([Rows.of(touched), recent, gone]).consolidate()
    return _plus(spark, untouched, netted, fields)


def _plus(spark: SparkSession, frame: DataFrame, rows: Rows, fields: tuple[Field, ...]) -> DataFrame:
    return frame.unionAll(_frame(spark, rows, fields)) if len(rows) else frame


def _gone(contents: TableContents, fields: tuple[Field, ...]) -> Rows:
    """The rows taken away that are in files."""
    schema = arrow_schema(fields)
    tables = [pq.read_table(file, columns=schema.names).cast(schema) for file in contents.negative_files()]
    table = pa.concat_tables(tables) if tables else schema.empty_table()
    return Rows.of(table, np.full(table.num_rows, -1, dtype=np.int64))


class Reading:
    """The names of tables and views, with their current rows, in sessions of ours."""

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse
        self._frames: dict[str, tuple[int, Contents, DataFrame]] = {}

    def query(
        self, text: str, parameters: Mapping[str, Any] | None = None, *, spark: SparkSession | None = None
    ) -> DataFrame:
        """A query over the last committed epoch, in a session of ours: one like the caller's, if none is given."""
        from viewlet.spark.session.children import active
        from viewlet.spark.session.leaves import mentions
        from viewlet.spark.session.session import EAGER_RULES, leave_out

        mentioned = [name for name in self._warehouse.catalog.names() if mentions(text, name)]
        with active(spark or self._warehouse.sessions.statement(text)) as spark:
            self.show(spark, mentioned)
            leave_out(spark, EAGER_RULES)
            return spark.sql(text, dict(parameters) if parameters else None)

    def show(self, spark: SparkSession, names: Iterable[str]) -> None:
        """Let names stand for the rows of the last committed epoch in a session."""
        from viewlet.spark.session.leaves import register

        snapshot = self._warehouse.store.snapshot()
        for gone in self._frames.keys() - set(self._warehouse.catalog.names()):
            del self._frames[gone]
        for name in names:
            register(spark, self._warehouse.sessions.warehouse, name, self.frame(name, snapshot))

    def frame(self, name: str, snapshot: Snapshot) -> DataFrame:
        """The rows of a table or view at a snapshot; those of the last one asked for are at hand."""
        from viewlet.spark.session.children import active

        plain, contents = self._warehouse.sessions.plain, snapshot.contents(name)
        if isinstance(contents, TableContents):
            contents.check_files()
        epoch, there, frame = self._frames.get(name, (-1, contents, None))
        if frame is None or epoch != snapshot.epoch or there.runs != contents.runs or frame.sparkSession is not plain:
            with active(plain):
                frame = frame_of(plain, self._warehouse.catalog.find(name), snapshot)
            self._frames[name] = snapshot.epoch, contents, frame  # files stay as long as their contents are held
        return frame
