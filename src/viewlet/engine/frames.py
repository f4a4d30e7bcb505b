"""Tables and views as Spark DataFrames.

A table's Parquet files are read by Spark as they are. Rows that were taken away are few: only the rows that
share a hash with one of them are netted, here; all others Spark reads without looking.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from viewlet.catalog import View
from viewlet.catalyst.frames import arrow_schema, from_arrow, spark_schema, to_arrow
from viewlet.columns.rows import Rows
from viewlet.plan.types import BIGINT, Field
from viewlet.sql.words import quoted
from viewlet.store import Snapshot, TableContents
from viewlet.tables import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from viewlet.database import Database


def frame_of(spark: SparkSession, found: Table | View, snapshot: Snapshot) -> DataFrame:
    """The rows of a table or view at a snapshot."""
    contents = snapshot.contents(found.name)
    if isinstance(found, Table):
        assert isinstance(contents, TableContents)
        return _table_frame(spark, contents, found.fields)
    rows = contents.consolidated().select(found.program.stored).rename([f.name for f in found.fields])
    return _frame(spark, rows, found.fields)


def _frame(spark: SparkSession, rows: Rows, fields: tuple[Field, ...]) -> DataFrame:
    return from_arrow(spark, rows.expanded().arrow(), fields)


def _table_frame(spark: SparkSession, contents: TableContents, fields: tuple[Field, ...]) -> DataFrame:
    files, names = contents.positive_files(), [quoted(f.name) for f in fields]
    recent, gone = contents.recent(), _gone(contents, fields)
    if not files:
        return _frame(spark, Rows.concat([recent, gone]).consolidate(), fields)
    hashed = contents.layout.row_hash
    stored = spark.read.schema(spark_schema([*fields, Field(hashed, BIGINT, False)])).parquet(*files)
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


class ReadingSession:
    """A session beside the definitions' one, in which the names of tables and views stand for their current rows."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._spark: SparkSession | None = None
        self._shown: dict[str, int] = {}

    def query(self, text: str, parameters: Mapping[str, Any] | None = None) -> DataFrame:
        """A query over the last committed epoch; Spark binds its parameters."""
        from viewlet.catalyst.jvm import quietly
        from viewlet.catalyst.users import share_functions

        snapshot, lower = self._database.store.snapshot(), text.lower()
        for name in set(self._shown) - set(self._database.catalog.names()):
            self._session().catalog.dropTempView(name)
            del self._shown[name]
        for name in self._database.catalog.names():
            if name.replace("`", "``").lower() in lower:
                self._show(name, snapshot)
        share_functions(self._database.session, self._session())
        with quietly():
            return self._session().sql(text, dict(parameters) if parameters else None)

    def _show(self, name: str, snapshot: Snapshot) -> None:
        if self._shown.get(name) != snapshot.epoch:
            found = self._database.catalog.find(name)
            frame_of(self._session(), found, snapshot).createOrReplaceTempView(quoted(name))
            self._shown[name] = snapshot.epoch

    def _session(self) -> SparkSession:
        if self._spark is None:
            parent = self._database.session
            self._spark = parent.newSession()
            for setting in ("spark.sql.session.timeZone", "spark.sql.ansi.enabled", "spark.sql.shuffle.partitions"):
                self._spark.conf.set(setting, str(parent.conf.get(setting)))
        return self._spark


def show_in_session(database: Database) -> None:
    """Give every table and view its name in the definitions' session, with its current rows."""
    from viewlet.catalyst.tables import register

    spark, snapshot = database.session, database.store.snapshot()
    for name, fields in database.catalog.schemas().items():
        register(spark, name, fields, frame_of(spark, database.catalog.find(name), snapshot))
