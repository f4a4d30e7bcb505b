"""Arrow tables as Spark DataFrames, and back, in the types that Viewlet stores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from viewlet.columns.arrow_types import arrow_type
from viewlet.plan.types import INT, MONTHS, Field, Type
from viewlet.plan.words import quoted
from viewlet.spark.decode.data_types import encode_fields
from viewlet.spark.session.handles import partitions_of

if TYPE_CHECKING:
    from py4j.protocol import Py4JJavaError
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

VARIANT_TYPE = Type("variant")


def spark_schema(fields: Sequence[Field]) -> StructType:
    from pyspark.sql.types import StructType

    return StructType.fromJson(encode_fields(tuple(fields)))


def arrow_schema(fields: Sequence[Field]) -> pa.Schema:
    return pa.schema([pa.field(f.name, arrow_type(f.type)) for f in fields])


def from_arrow(spark: SparkSession, table: pa.Table, fields: Sequence[Field]) -> DataFrame:
    """A DataFrame of an Arrow table's rows; columns by position."""
    return _received(spark.createDataFrame(_sendable(table, fields), spark_schema(_sent(fields))), fields)


def from_partitions(
    spark: SparkSession, parts: int, read: Callable[[int], pa.Table], fields: Sequence[Field]
) -> DataFrame:
    """A DataFrame of `parts` partitions, whose rows tasks get from `read(partition)`; columns by position."""
    numbers = spark.range(0, parts, 1, parts)
    return _received(numbers.mapInArrow(PartitionTask(read, tuple(fields)), spark_schema(_sent(fields))), fields)


def from_tasks(
    map_with: Callable[[Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]], Any], DataFrame],
    task: Callable[[Iterable[pa.RecordBatch]], Iterable[pa.Table]],
    fields: Sequence[Field],
) -> DataFrame:
    """A DataFrame of the rows that tasks return; `map_with` is given the task and the schema of its batches."""
    return _received(map_with(RowsTask(task, tuple(fields)), spark_schema(_sent(fields))), fields)


def can_come_from_tasks(kind: Type) -> bool:
    """Whether tasks may return a type to Spark; not if Spark has several types for the same Arrow type."""
    inside = [
        part for arg in kind.args for part in (arg if isinstance(arg, tuple) else (arg,)) if isinstance(part, Type)
    ]
    return kind.name not in _APART and all(map(can_come_from_tasks, inside))


_APART = frozenset({"char", "collated", "time", "varchar", "variant", "void"})
_BATCH = 10_000


@dataclass(frozen=True)
class PartitionTask:
    """Maps numbers of partitions to their rows, for `mapInArrow`."""

    read: Callable[[int], pa.Table]
    fields: tuple[Field, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in (number for batch in batches for number in batch.column(0).to_pylist()):
            yield from _sendable(self.read(number), self.fields).to_batches(max_chunksize=_BATCH)


@dataclass(frozen=True)
class RowsTask:
    """Maps a task's input to rows, for `mapInArrow`."""

    task: Callable[[Iterable[pa.RecordBatch]], Iterable[pa.Table]]
    fields: tuple[Field, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in self.task(batches):
            yield from _sendable(table, self.fields).to_batches(max_chunksize=_BATCH)


def _sendable(table: pa.Table, fields: Sequence[Field]) -> pa.Table:
    """An Arrow table in a form that Spark accepts."""
    named = table.rename_columns([f.name for f in fields])
    for i, f in enumerate(fields):
        if f.type == VARIANT_TYPE:
            named = named.set_column(i, f.name, _filled(named.column(i)))
        elif pa.types.is_nested(named.column(i).type):
            named = named.set_column(i, f.name, _unsliced(named.column(i)))
    return named


def _sent(fields: Sequence[Field]) -> list[Field]:
    """The columns in types that Spark accepts from Arrow."""
    return [Field(f.name, INT, f.nullable) if f.type.name in MONTHS else f for f in fields]


def _received(frame: DataFrame, fields: Sequence[Field]) -> DataFrame:
    """A DataFrame as received from Arrow, converted to the intended types."""
    return _recast(frame, _sent(fields), fields, "CAST(make_ym_interval(0, {}) AS {})")


def _unsliced(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Copies of the arrays: PySpark rebuilds lists and maps, which fails for slices."""
    return column.take(pa.array(range(len(column)), pa.int64()))


def _filled(variants: pa.ChunkedArray) -> pa.Array:
    """Variants whose parts are never NULL, as Spark requires; a variant itself may be."""
    array = pa.concat_arrays(variants.chunks) if variants.num_chunks else pa.array([], variants.type)
    parts = [array.field(i).fill_null(b"") for i in range(array.type.num_fields)]
    fields = [f.with_nullable(False) for f in array.type]
    return pa.StructArray.from_arrays(parts, fields=fields, mask=array.is_null())


def to_arrow(frame: DataFrame, fields: Sequence[Field]) -> pa.Table:
    """The rows of a DataFrame in Viewlet's Arrow types; columns by position."""
    wanted = arrow_schema(fields)
    named = without_months(frame.toDF(*[f"c{i}" for i in range(len(fields))]))
    table = collected(named).rename_columns(wanted.names)
    return table if table.schema.equals(wanted) else table.cast(wanted)


def collected(frame: Any) -> pa.Table:
    """The batches that Spark sends. `toArrow` would cast to types without NULLs inside, and fail on these."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    from viewlet.spark.session.jvm import quietly

    try:
        with quietly():
            return pa.Table.from_batches(frame._collect_as_arrow(empty_list_if_zero_records=False))
    except Py4JJavaError as error:
        raise PySparkException(_cause(error)) from None


def streamed(frame: DataFrame) -> Iterator[pa.RecordBatch]:
    """The same rows batch by batch, as Spark computes them: neither side ever holds them all."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_schema

    from viewlet.spark.session.jvm import quietly

    large = frame.sparkSession.conf.get("spark.sql.execution.arrow.useLargeVarTypes") == "true"
    schema = to_arrow_schema(frame.schema, prefers_large_types=large)
    yield pa.RecordBatch.from_pylist([], schema=schema)  # so that the columns are known even without rows
    try:
        with quietly():
            for message in partitions_of(frame):
                yield pa.ipc.read_record_batch(pa.py_buffer(message), schema)
    except Py4JJavaError as error:
        raise PySparkException(_cause(error)) from None


def _cause(error: Py4JJavaError) -> str:
    """The root cause of a task's failure, which PySpark hides while rows are sent."""
    cause = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    return str(cause.getMessage() or cause.toString())


def without_months(frame: DataFrame) -> DataFrame:
    """The same rows with intervals of months as integers, since Spark cannot send these intervals to Arrow."""
    there = [Field(f.name, Type(f.dataType.simpleString())) for f in frame.schema.fields]
    sent = [Field(f.name, INT) if f.type.name in MONTHS else f for f in there]
    whole = "CAST({0} AS INTERVAL YEAR TO MONTH)"
    return _recast(frame, there, sent, f"CAST(12 * extract(YEAR FROM {whole}) + extract(MONTH FROM {whole}) AS {{1}})")


def _recast(frame: DataFrame, there: Sequence[Field], wanted: Sequence[Field], form: str) -> DataFrame:
    """Convert the columns whose types change, by an expression over their names and new types."""
    if all(a.type == b.type for a, b in zip(there, wanted, strict=True)):
        return frame
    recast = [
        name if a.type == b.type else f"{form.format(name, b.type)} AS {name}"
        for name, a, b in zip((quoted(f.name) for f in there), there, wanted, strict=True)
    ]
    return frame.selectExpr(*recast)
