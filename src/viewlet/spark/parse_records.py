"""Parsing the records of text files with Spark's own readers of CSV, JSON and XML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from viewlet.columns.fresh_names import free_name
from viewlet.plan.types import BIGINT, STRING, Field
from viewlet.plan.words import quoted
from viewlet.spark.session.arrow_frames import from_arrow, to_arrow
from viewlet.spark.session.children import active

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def parse_records(
    spark: SparkSession, format: str, texts: pa.Array, fields: Sequence[Field], options: Mapping[str, str]
) -> tuple[pa.Table, pa.Array]:
    """The columns of each text, NULL where Spark could not read them, and the text if Spark could not read it."""
    from pyspark.sql import functions as sf

    corrupt, place = (free_name(name, [f.name for f in fields]) for name in ("_corrupt", "_place"))
    ddl = ", ".join(f"{quoted(name)} {kind}" for name, kind in [*((f.name, f.type) for f in fields), (corrupt, STRING)])
    parse = {"csv": sf.from_csv, "json": sf.from_json, "xml": sf.from_xml}[format]
    columns = [Field(place, BIGINT), *(Field(f.name, f.type) for f in fields), Field(corrupt, STRING)]
    rows = pa.table([pa.array(range(len(texts)), pa.int64()), texts], names=["place", "text"])
    with active(spark):
        frame = from_arrow(spark, rows, (Field("place", BIGINT), Field("text", STRING)))
        parsed = parse("text", ddl, {**options, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": corrupt})
        found = to_arrow(frame.select("place", parsed.alias("it")).select("place", "it.*"), columns)
    found = found.sort_by(place)  # tasks may end in another order
    return found.select([f.name for f in fields]), found[corrupt].combine_chunks()
