"""The judge: what plain Spark SQL answers to the user's own text, over rows that the test keeps itself.

Nothing of Viewlet's takes part. The rows are Parquet files behind tables of Spark's catalog, as users have them: of rows
given in the query itself the optimizer would evaluate parts in advance. Views are temporary views by the user's text.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from inspect import signature
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import (
    CharType,
    DataType,
    StructType,
    VarcharType,
    VariantType,
    VariantVal,
    YearMonthIntervalType,
)

from tests.oracle.cases import Row, TableCase
from tests.oracle.values import declared

DATABASE = "judge"
FAULTY_RULES = ("PushProjectionThroughUnion", "PushProjectionThroughLimitAndOffset")
"""Rules of Spark's optimizer that Spark answers without. The first fails on correlated subqueries over unions; the second
moves them below a LIMIT, where they become joins that lose its ORDER BY: any rows may come then."""
MONTHS = "CAST(12 * extract(YEAR FROM {0}) + extract(MONTH FROM {0}) AS INT) AS {0}"
"""Intervals of months as numbers: Spark's exchange with Arrow has no such type."""


class Unplayable(Exception):
    """Spark itself cannot run a query, so that there is nothing to compare with."""


@lru_cache(maxsize=1)
def judge_of(spark: SparkSession) -> Judge:
    """The judge of a Spark application: its sessions stay warm from case to case."""
    return Judge(spark)


class Judge:
    """Two sessions with the settings of a case: the user's, which Viewlet gets, and a plain one.

    The tables are those of a database of the plain session's own.
    """

    def __init__(self, spark: SparkSession) -> None:
        self.user, self._plain = spark.newSession(), spark.newSession()
        excluded = ",".join(f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in FAULTY_RULES)
        self._plain.conf.set("spark.sql.optimizer.excludedRules", excluded)
        self._settings = {s: dict[str, str]() for s in (self.user, self._plain)}
        self._numbers = itertools.count()
        self._names: list[str] = []
        self._folder = Path()
        self._sql(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
        self._sql(f"USE {DATABASE}")

    def begin(self, tables: Iterable[TableCase], settings: Mapping[str, str], folder: Path) -> None:
        """Forget the last case; make the tables of the next one, empty."""
        self.move(settings)
        self._configure(self._plain, settings)
        for name in self._names:
            self._plain.catalog.dropTempView(name)
            self._sql(f"DROP TABLE IF EXISTS {name}")
        self._names.clear()
        self._folder = folder
        for table in tables:
            self._make_table(table, folder / table.name)

    def move(self, settings: Mapping[str, str]) -> None:
        """Let the user have other settings."""
        self._configure(self.user, settings)

    def _configure(self, session: SparkSession, settings: Mapping[str, str]) -> None:
        for name in self._settings[session].keys() - settings.keys():
            session.conf.unset(name)
        for name, value in settings.items():
            session.conf.set(name, value)
        self._settings[session] = dict(settings)

    def _make_table(self, table: TableCase, folder: Path) -> None:
        folder.mkdir(parents=True)
        body = ", ".join(f"{c.name} {declared(c.type)}" for c in table.columns)
        self._sql(f"CREATE TABLE {table.name} ({body}) USING parquet LOCATION '{folder}'")
        self._names.append(table.name)

    def put(self, table: TableCase, rows: list[Row]) -> pa.Table:
        """Let a table hold some rows; those rows."""
        folder = self._folder / table.name
        for old in folder.glob("*.parquet"):
            old.unlink()
        data = as_arrow(table, rows)
        pq.write_table(data, folder / f"{next(self._numbers)}.parquet", write_statistics=False)  # they leave out NaN
        self._sql(f"REFRESH TABLE {table.name}")
        return data

    def create_view(self, name: str, text: str) -> None:
        self._sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {text}")
        self._names.append(name)

    def frame(self, view: str) -> DataFrame:
        return self._plain.table(view)

    def answer(self, view: str) -> pa.Table:
        """What a view is, by Spark."""
        frame = self.frame(view)
        if months := _quoted(f.name for f in frame.schema if isinstance(f.dataType, YearMonthIntervalType)):
            frame = frame.selectExpr(*(MONTHS.format(c) if c in months else c for c in _quoted(frame.columns)))
        try:
            return pa.Table.from_batches(frame._collect_as_arrow(empty_list_if_zero_records=False))  # type: ignore[operator]
        except (PySparkException, Py4JJavaError) as error:
            raise Unplayable(f"{view}: {_reason(error)}") from None

    def _sql(self, text: str) -> None:
        try:
            self._plain.sql(text)
        except PySparkException as error:
            raise Unplayable(f"{text}: {_reason(error)}") from None


def _quoted(names: Iterable[str]) -> list[str]:
    return [f"`{name}`" for name in names]


def _reason(error: PySparkException | Py4JJavaError) -> str:
    """What went wrong first."""
    if isinstance(error, PySparkException):
        return str(error).split("\n")[0]
    cause = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    return str(cause)


def as_arrow(table: TableCase, rows: list[Row]) -> pa.Table:
    """Rows as Spark would keep them."""
    columns = list(zip(*rows, strict=True)) or [()] * len(table.columns)
    fields = [pa.field(c.name, arrow_type(_parsed(declared(c.type)))) for c in table.columns]
    arrays = [
        pa.array([_stored(v, c.type) for v in values], f.type)
        for values, c, f in zip(columns, table.columns, fields, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _stored(value: Any, kind: str) -> Any:
    """A value as a table holds it: CHAR is padded, a variant is two binary parts."""
    if isinstance(value, str) and (found := re.fullmatch(r"char\((\d+)\)", kind)):
        return value.ljust(int(found[1]))
    return vars(value) if isinstance(value, VariantVal) else value


@lru_cache
def _parsed(kind: str) -> DataType:
    parsed = DataType.fromDDL(f"c {kind}")
    assert isinstance(parsed, StructType)
    return parsed[0].dataType


_IN_UTC: Any = (
    {"timestamp_utc": True} if "timestamp_utc" in signature(to_arrow_type).parameters else {"timezone": "UTC"}
)


def arrow_type(kind: DataType) -> pa.DataType:
    match kind:
        case YearMonthIntervalType():
            return pa.int32()
        case CharType() | VarcharType():
            return pa.string()
        case VariantType():
            parts = [pa.field(name, pa.binary(), nullable=False) for name in ("value", "metadata")]
            return pa.struct(parts)
    return to_arrow_type(kind, **_IN_UTC)
