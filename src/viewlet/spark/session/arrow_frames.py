"""Arrow tables as Spark DataFrames, and back, with the types that Viewlet stores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from viewlet.columns.arrow_types import arrow_type
from viewlet.plan.types import INT, MONTHS, Field, Type
from viewlet.spark.decode.data_types import encode_fields
from viewlet.spark.session.handles import partitions_of

if TYPE_CHECKING:
    from py4j.protocol import Py4JJavaError
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

VARIANT_TYPE = Type("variant")


def spark_schema(fields: Sequence[Field]) -> StructType:
    """The Spark schema of some columns."""
    from pyspark.sql.types import StructType

    return StructType.fromJson(encode_fields(tuple(fields)))


def arrow_schema(fields: Sequence[Field]) -> pa.Schema:
    """The Arrow schema of some columns."""
    return pa.schema([pa.field(f.name, arrow_type(f.type)) for f in fields])


def from_arrow(spark: SparkSession, table: pa.Table, fields: Sequence[Field]) -> DataFrame:
    """A DataFrame of an Arrow table's rows; columns by position."""
    return _received(spark.createDataFrame(_sendable(table, fields), spark_schema(_sent(fields))), fields)


def from_partitions(
    spark: SparkSession, parts: int, read: Callable[[int], pa.Table], fields: Sequence[Field]
) -> DataFrame:
    """A DataFrame whose partitions tasks read: `read` gives the rows of each, by its number; columns by position."""
    numbers = spark.range(0, parts, 1, parts)
    return _received(numbers.mapInArrow(PartitionTask(read, tuple(fields)), spark_schema(_sent(fields))), fields)


def from_tasks(
    map_with: Callable[[Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]], Any], DataFrame],
    task: Callable[[Iterable[pa.RecordBatch]], Iterable[pa.Table]],
    fields: Sequence[Field],
) -> DataFrame:
    """A DataFrame of the rows that tasks give; `map_with` runs a function that gives batches of a schema in them."""
    return _received(map_with(RowsTask(task, tuple(fields)), spark_schema(_sent(fields))), fields)


def can_come_from_tasks(kind: Type) -> bool:
    """Whether Spark takes values of a type from a task: of some it tells more apart than Arrow does."""
    inside = [
        part for arg in kind.args for part in (arg if isinstance(arg, tuple) else (arg,)) if isinstance(part, Type)
    ]
    return kind.name not in _APART and all(map(can_come_from_tasks, inside))


_APART = frozenset({"char", "collated", "time", "varchar", "variant", "void"})
_BATCH = 10_000


@dataclass(frozen=True)
class PartitionTask:
    """A function for `mapInArrow`: numbers of partitions in, their rows out."""

    read: Callable[[int], pa.Table]
    fields: tuple[Field, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in (number for batch in batches for number in batch.column(0).to_pylist()):
            yield from _sendable(self.read(number), self.fields).to_batches(max_chunksize=_BATCH)


@dataclass(frozen=True)
class RowsTask:
    """A function for `mapInArrow`: whatever a task takes in, its rows out."""

    task: Callable[[Iterable[pa.RecordBatch]], Iterable[pa.Table]]
    fields: tuple[Field, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in self.task(batches):
            yield from _sendable(table, self.fields).to_batches(max_chunksize=_BATCH)


def _sendable(table: pa.Table, fields: Sequence[Field]) -> pa.Table:
    """An Arrow table as Spark takes it."""
    named = table.rename_columns([f.name for f in fields])
    for i, f in enumerate(fields):
        if f.type == VARIANT_TYPE:
            named = named.set_column(i, f.name, _filled(named.column(i)))
        elif pa.types.is_nested(named.column(i).type):
            named = named.set_column(i, f.name, _unsliced(named.column(i)))
    return named


def _sent(fields: Sequence[Field]) -> list[Field]:
    """The columns as Spark takes them from Arrow."""
    return [Field(f.name, INT, f.nullable) if f.type.name in MONTHS else f for f in fields]


def _received(frame: DataFrame, fields: Sequence[Field]) -> DataFrame:
    """The columns as they are meant."""
    return _recast(frame, _sent(fields), fields, "CAST(make_ym_interval(0, {}) AS {})")


def _unsliced(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same values in arrays of their own: PySpark rebuilds lists and maps, and cannot where they are slices."""
    return column.take(pa.array(range(len(column)), pa.int64()))


def _filled(variants: pa.ChunkedArray) -> pa.Array:
    """Variants whose parts are never NULL, as Spark wants them; a variant itself may be."""
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
    """What Spark sends. `toArrow` would cast it to types that are never NULL inside, and fail where all of them is."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    from viewlet.spark.session.jvm import quietly

    try:
        with quietly():
            return pa.Table.from_batches(frame._collect_as_arrow(empty_list_if_zero_records=False))
    except Py4JJavaError as error:
        raise PySparkException(_cause(error)) from None


def streamed(frame: DataFrame) -> Iterator[pa.RecordBatch]:
    """The same rows, batch by batch, as Spark computes them: neither side ever holds them all."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_schema

    from viewlet.spark.session.jvm import quietly

    large = frame.sparkSession.conf.get("spark.sql.execution.arrow.useLargeVarTypes") == "true"
    schema = to_arrow_schema(frame.schema, prefers_large_types=large)
    yield pa.RecordBatch.from_pylist([], schema=schema)  # so that the columns are known where there are no rows
    try:
        with quietly():
            for message in partitions_of(frame):
                yield pa.ipc.read_record_batch(pa.py_buffer(message), schema)
    except Py4JJavaError as error:
        raise PySparkException(_cause(error)) from None


def _cause(error: Py4JJavaError) -> str:
    """What a task raised, which PySpark hides where it happens while rows are sent."""
    cause = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    return str(cause.getMessage() or cause.toString())


def without_months(frame: DataFrame) -> DataFrame:
    """The same rows with intervals of months as their numbers: Spark's own exchange with Arrow has no such type."""
    there = [Field(f.name, Type(f.dataType.simpleString())) for f in frame.schema.fields]
    sent = [Field(f.name, INT) if f.type.name in MONTHS else f for f in there]
    whole = "CAST({0} AS INTERVAL YEAR TO MONTH)"
    return _recast(frame, there, sent, f"CAST(12 * extract(YEAR FROM {whole}) + extract(MONTH FROM {whole}) AS {{1}})")


def _recast(frame: DataFrame, there: Sequence[Field], wanted: Sequence[Field], form: str) -> DataFrame:
    """The columns whose types change, through an expression in their names and new types."""
    if all(a.type == b.type for a, b in zip(there, wanted, strict=True)):
        return frame
    quoted = ["`" + f.name.replace("`", "``") + "`" for f in there]
    recast = [
        name if a.type == b.type else f"{form.format(name, b.type)} AS {name}"
        for name, a, b in zip(quoted, there, wanted, strict=True)
    ]
    return frame.selectExpr(*recast)
