"""How long Spark SQL needs to compute a view from scratch, on the same rows and in the same Spark.

Spark gets the best conditions: every input lies in one plain Parquet file, and the best of a few runs counts.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from viewlet.demo.definitions import TABLES, VIEWS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from viewlet.database import Database

RUNS = 3
ROW_GROUP = 128 * 1024
"""Small enough for the rows of a file to be read by all cores."""


def recompute_times(db: Database, names: Iterable[str]) -> dict[str, float]:
    """The best of a few runs of each view's definition, in milliseconds; the first run warms Spark up."""
    with TemporaryDirectory() as folder:
        spark = _session_over(db, Path(folder))
        return {name: min(_run(spark, VIEWS[name]) for _ in range(RUNS)) for name in names}


def _session_over(db: Database, folder: Path) -> SparkSession:
    """A Spark session of its own, with the settings of the warehouse's, where each name is a Parquet file."""
    spark = db.spark.newSession()
    partitions = "spark.sql.shuffle.partitions"
    spark.conf.set(partitions, db.spark.conf.get(partitions) or "2")
    for name in (*TABLES, *VIEWS):
        file = folder / f"{name}.parquet"
        pq.write_table(db.table(name).arrow(), file, row_group_size=ROW_GROUP)
        spark.read.parquet(str(file)).createOrReplaceTempView(name)
    return spark


def _run(spark: SparkSession, query: str) -> float:
    """Run a query to its end and throw the rows away."""
    start = time.perf_counter()
    spark.sql(query).write.format("noop").mode("overwrite").save()
    return (time.perf_counter() - start) * 1_000
