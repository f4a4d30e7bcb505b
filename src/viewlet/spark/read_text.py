"""Text files as a DataFrame of a table's columns, through Spark's own readers of CSV and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from viewlet.errors import RejectedEpoch
from viewlet.plan.types import Field
from viewlet.spark.session.arrow_frames import spark_schema
from viewlet.spark.session.children import active

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def text_frame(
    spark: SparkSession, format: str, path: Path, fields: Sequence[Field], options: Mapping[str, Any]
) -> DataFrame:
    """The rows of a file, or of all files in a folder; reading a malformed record fails."""
    with active(spark):
        reader = spark.read.schema(spark_schema(fields)).options(**{"mode": "FAILFAST", **options})
        return reader.format(format).load(str(path.absolute()))


@contextmanager
def refusing_malformed(table: str, path: Path) -> Iterator[None]:
    """Raises Spark's read errors in the block as a refusal of the epoch."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        reason = " ".join(str(error).split())
        hint = "mend the file, or read it with CREATE TABLE … FROM FOLDER … ON BAD RECORD KEEP ASIDE"
        raise RejectedEpoch(f"table {table}: {path} cannot be read: {reason}", hint=hint) from None
