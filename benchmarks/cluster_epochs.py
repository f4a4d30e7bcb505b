"""Epochs of one view on the Spark engine, in a process of their own: what it holds is what the driver has to hold.

`python -m benchmarks.cluster_epochs WAREHOUSE VIEW ORDERS TIMES [--recompute]`, after `benchmarks.cluster` has made the
warehouse; one line of JSON says what epochs took, beside the smallest Spark job with a shuffle and a Python stage and, if
asked for, beside Spark SQL computing the view from the tables.
"""

from __future__ import annotations

import argparse
import json
import pickle
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from workloads.tpch import columns, narrowed, queries

import viewlet
from benchmarks.create import memory_peak
from benchmarks.measure import measured, run_on_spark, timed
from viewlet.spark.session.session import start_spark

WARM_UP = 2


def changes_of(warehouse: Path, orders: int) -> Path:
    """The folder with the changes that epochs of so many orders are going to make."""
    return warehouse.parent / "changes" / str(orders)


def smallest_job(spark: Any) -> float:
    """The milliseconds of a job that shuffles a few rows and passes them through Python workers."""

    def same(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    frame = spark.range(8).repartition(2)
    return timed(lambda: frame.mapInArrow(same, "id bigint").toArrow())


def apply(db: viewlet.Database, change: Any, kept: dict[str, list[str]]) -> None:
    """One epoch: orders with their lines that come, and others that go."""
    with db.epoch() as epoch:
        for kind, orders, lines in (
            ("insert", change.orders_in, change.lines_in),
            ("delete", change.orders_out, change.lines_out),
        ):
            for table, rows in (("orders", orders), ("lineitem", lines)):
                if table in kept:
                    getattr(epoch, kind)(table, rows.select(kept[table]))


def recomputation(spark: Any, db: viewlet.Database, name: str, times: int) -> list[float]:
    """What Spark SQL takes for the query, on the tables as they are now."""
    for table in narrowed(name):
        db.table(table).spark().createOrReplaceTempView(table)
    return measured(lambda: timed(lambda: run_on_spark(spark, queries()[name])), times)


def taken(folder: Path) -> Iterator[Any]:
    """The changes that no epoch has made yet, each once."""
    for file in sorted(folder.iterdir()):
        change = pickle.loads(file.read_bytes())
        file.unlink()
        yield change


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
    parser.add_argument("--recompute", action="store_true")
    parser.add_argument("--check", action="store_true", help="compare the view with Spark SQL in the end")
    given = parser.parse_args(argv)
    coming = taken(changes_of(given.warehouse, given.orders))
    kept = {table: columns(statement) for table, statement in narrowed(given.view).items()}
    spark = start_spark()
    with viewlet.connect(given.warehouse, spark=spark, engine="spark") as db:
        with memory_peak() as peak:
            epochs = measured(lambda: timed(lambda: apply(db, next(coming), kept)), given.times, WARM_UP)
        records = db.history()[-len(epochs) :]
        found = {
            "orders": given.orders,
            "epochs": epochs,
            "rows": sum(c["inserted"] + c["deleted"] for c in records[-1]["tables"].values()),
            "driver": peak[0] + jvm_memory(spark),
            "jobs": [record["jobs"][0] for record in records],
            "techniques": [record["views"][given.view]["technique"] for record in records],
            "smallest": measured(lambda: smallest_job(spark), given.times, WARM_UP),
            "recompute": recomputation(spark, db, given.view, given.times) if given.recompute else [],
        }
        assert not given.check or db.check(given.view).num_rows == 0, given.view
    spark.stop()
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
