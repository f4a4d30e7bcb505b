"""Epochs of one view on the Spark engine, in a process of their own: what it holds is what the driver has to hold.

`python -m benchmarks.cluster_epochs WAREHOUSE VIEW ORDERS TIMES [--recompute FILES]`, after `benchmarks.cluster` has made the
warehouse; one line of JSON says what epochs took, beside the smallest Spark job with a shuffle and a Python stage and, if
asked for, beside Spark SQL computing the view from the tables.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from workloads.tpch import narrowed, queries

import viewlet
from benchmarks.create import memory_peak
from benchmarks.measure import measured, run_on_spark, timed
from viewlet.spark.session.session import start_spark

WARM_UP = 2
ACTIONS = ("insert", "delete")
Change = list[tuple[str, str, Any]]
"""What is done with which rows of which table."""


def changes_of(warehouse: Path, orders: int) -> Path:
    """The folder with the changes that epochs of so many orders are going to make."""
    return warehouse.parent / "changes" / str(orders)


def smallest_job(spark: Any) -> float:
    """The milliseconds of a job that shuffles a few rows and passes them through Python workers."""

    def same(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    frame = spark.range(8).repartition(2)
    return timed(lambda: frame.mapInArrow(same, "id bigint").toArrow())


def apply(db: viewlet.Database, change: Change) -> None:
    """One epoch: orders with their lines that come, and others that go."""
    with db.epoch() as epoch:
        for action, table, rows in change:
            getattr(epoch, action)(table, rows)


def recomputation(spark: Any, made: Path, name: str, times: int) -> list[float]:
    """What Spark SQL takes for the query, on the tables as Parquet files; a first run counts only if it is the only one."""
    for table in narrowed(name):
        spark.read.parquet(str(made / f"{table}.parquet")).createOrReplaceTempView(table)
    return measured(lambda: timed(lambda: run_on_spark(spark, queries()[name])), times, int(times > 1))


def taken(folder: Path, read: Callable[[Path], Any]) -> Iterator[Change]:
    """The changes that no epoch has made yet, each once."""
    made = folder.parent / f"{folder.name}-made"
    made.mkdir(exist_ok=True)
    for own in sorted(folder.iterdir()):
        files = own.rename(made / own.name).iterdir()
        yield [(*_what(file), read(file)) for file in sorted(files, key=lambda file: ACTIONS.index(_what(file)[0]))]


def _what(file: Path) -> tuple[str, str]:
    """What is done with the rows of a file, and the table."""
    action, _, table = file.name.partition("-")
    return action, table


def jvm_memory(spark: Any) -> int:
    """What Spark's JVM holds after a collection, in bytes."""
    java = spark._jvm.java.lang
    java.System.gc()
    return int(java.Runtime.getRuntime().totalMemory() - java.Runtime.getRuntime().freeMemory())


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("warehouse", type=Path)
    parser.add_argument("view")
    parser.add_argument("orders", type=int)
    parser.add_argument("times", type=int)
    parser.add_argument("--frames", action="store_true", help="hand over DataFrames instead of Arrow tables")
    parser.add_argument("--recompute", type=Path, help="the Parquet files of the tables, for Spark SQL")
    parser.add_argument("--again", type=int, default=5, help="how often Spark SQL computes the view")
    parser.add_argument("--placement", type=json.loads, help="where maps are, instead of where the compiler puts them")
    parser.add_argument("--check", action="store_true", help="compare the view with Spark SQL in the end")
    given = parser.parse_args(argv)
    spark = start_spark()
    read = (lambda file: spark.read.parquet(str(file))) if given.frames else pq.read_table
    coming = taken(changes_of(given.warehouse, given.orders), read)
    with viewlet.connect(given.warehouse, spark=spark, engine="spark") as db:
        if given.placement:
            db.set_placement(given.view, given.placement)
        with memory_peak() as peak:
            epochs = measured(lambda: timed(partial(apply, db, next(coming))), given.times, WARM_UP)
        records = db.history()[-len(epochs) :]
        found = {
            "orders": given.orders,
            "epochs": epochs,
            "rows": sum(c["inserted"] + c["deleted"] for c in records[-1]["tables"].values()),
            "driver": peak[0] + jvm_memory(spark),
            "jobs": [record["jobs"][0] for record in records],
            "techniques": [record["views"][given.view]["technique"] for record in records],
            "smallest": measured(lambda: smallest_job(spark), given.times, WARM_UP),
            "recompute": recomputation(spark, given.recompute, given.view, given.again) if given.recompute else [],
        }
        assert not given.check or db.check(given.view).num_rows == 0, given.view
    spark.stop()
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
