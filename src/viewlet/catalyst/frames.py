"""Arrow tables as Spark DataFrames, and back, with every type as Viewlet stores it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from viewlet.columns.types import arrow_type
from viewlet.plan.types import Field, Type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

VARIANT_TYPE = Type("variant")


def spark_schema(fields: Sequence[Field]) -> StructType:
    """The Spark schema of some columns."""
    from pyspark.sql.types import StructField, StructType, _parse_datatype_string

    return StructType([StructField(f.name, _parse_datatype_string(str(f.type)), f.nullable) for f in fields])


def arrow_schema(fields: Sequence[Field]) -> pa.Schema:
    """The Arrow schema of some columns."""
    return pa.schema([pa.field(f.name, arrow_type(f.type)) for f in fields])


def from_arrow(spark: SparkSession, table: pa.Table, fields: Sequence[Field]) -> DataFrame:
    """A DataFrame of an Arrow table's rows; columns by position."""
    named = table.rename_columns([f.name for f in fields])
    for i, f in enumerate(fields):
        if f.type == VARIANT_TYPE:
            named = named.set_column(i, f.name, _filled(named.column(i)))
    return spark.createDataFrame(named, spark_schema(fields))


def _filled(variants: pa.ChunkedArray) -> pa.Array:
    """Variants whose parts are never NULL, as Spark wants them; a variant itself may be."""
    array = pa.concat_arrays(variants.chunks) if variants.num_chunks else pa.array([], variants.type)
    parts = [array.field(i).fill_null(b"") for i in range(array.type.num_fields)]
    fields = [f.with_nullable(False) for f in array.type]
    return pa.StructArray.from_arrays(parts, fields=fields, mask=array.is_null())


def to_arrow(frame: DataFrame, fields: Sequence[Field]) -> pa.Table:
    """The rows of a DataFrame in Viewlet's Arrow types; columns by position."""
    wanted = arrow_schema(fields)
    named = frame.toDF(*[f"c{i}" for i in range(len(fields))])
    has_variant = any("variant" in str(f.type) for f in fields)
    table = (_collected(named) if has_variant else named.toArrow()).rename_columns(wanted.names)
    return table if table.schema.equals(wanted) else table.cast(wanted)


def _collected(frame: Any) -> pa.Table:
    """What Spark sends: `toArrow` would cast a variant's parts to what is never NULL, and fail where the variant is."""
    return pa.Table.from_batches(frame._collect_as_arrow(empty_list_if_zero_records=False))
