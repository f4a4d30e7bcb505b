"""Epochs on the Spark engine beside the smallest Spark job that has a shuffle and a Python stage, as the data grow.

Each query of TPC-H is a view of its own; an epoch brings some orders with their lines and takes as many away. Bytes that
are shuffled and read are those of the median epoch.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from workloads.tpch import columns, narrowed, queries
from workloads.tpch.data import Stream, tables

import viewlet
from benchmarks.measure import Times, grid, measured, say, spread, timed
from viewlet.spark.session.session import start_spark

QUERIES = ["q01", "q03", "q06", "q12", "q17", "q18"]
PAGE = """# Epochs on Spark as the data grow

Each query of TPC-H is a view of its own; an epoch brings {orders} orders with their lines and takes as many away, on the Spark engine. Beside it the smallest Spark job that has a shuffle and a Python stage, in the same run; medians, with the lowest and the highest. `python -m benchmarks.cluster --out docs/scaling-figures.md` makes this page.

{table}
"""


def smallest_job(spark: Any) -> float:
    """The milliseconds of a job that shuffles a few rows and passes them through Python workers."""

    def same(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    frame = spark.range(8).repartition(2)
    return timed(lambda: frame.mapInArrow(same, "id bigint").toArrow())


class Warehouse:
    """A query as a view, over the tables that it reads."""

    def __init__(self, path: Path, spark: Any, name: str, data: dict[str, pa.Table]) -> None:
        self.db = viewlet.connect(path, spark=spark, engine="inproc")
        statements = narrowed(name)
        self.columns = {table: columns(statement) for table, statement in statements.items()}
        self.stream = Stream(data["orders"], data["lineitem"])
        orders, lines = self.stream.initial
        rows = {**data, "orders": orders, "lineitem": lines}
        for table, statement in statements.items():
            self.db.sql(statement)
            self.db.insert(table, rows[table].select(self.columns[table]))
        self.db.create_view(name, queries()[name])
        self.db.engine = "spark"

    def epoch(self, orders: int) -> float:
        change = self.stream.epoch(orders)
        return timed(lambda: self._apply(change))

    def _apply(self, change: Any) -> None:
        with self.db.epoch() as epoch:
            for kind, orders, lines in (
                ("insert", change.orders_in, change.lines_in),
                ("delete", change.orders_out, change.lines_out),
            ):
                for table, rows in (("orders", orders), ("lineitem", lines)):
                    if table in self.columns:
                        getattr(epoch, kind)(table, rows.select(self.columns[table]))


def compare(spark: Any, data: dict[str, pa.Table], name: str, scale: float, orders: int, times: int) -> list[str]:
    """A line for a query: what an epoch took, what Spark ran, how that compares with the smallest job."""
    with tempfile.TemporaryDirectory() as path:
        warehouse = Warehouse(Path(path) / "w", spark, name, data)
        with warehouse.db:
            say(f"{name} is filled")
            epochs: Times = measured(lambda: warehouse.epoch(orders), times, warm_up=2)
            smallest = measured(lambda: smallest_job(spark), times, warm_up=2)
            jobs = [record["jobs"][0] for record in warehouse.db.history()[-times:]]
            assert warehouse.db.check(name).num_rows == 0, name
    ratio = statistics.median(epochs) / statistics.median(smallest)
    shape = f"{jobs[-1]['jobs']}/{jobs[-1]['stages']}"
    moved = [f"{statistics.median(job[what] for job in jobs):,.0f}" for what in ("shuffled_bytes", "read_bytes")]
    line = [name, f"{scale:g}", shape, spread(epochs), spread(smallest), f"{ratio:.2f}", *moved]
    say(" ".join(line))
    return line


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("queries", nargs="*", default=QUERIES)
    parser.add_argument("--scales", type=float, nargs="+", default=[0.01, 0.1])
    parser.add_argument(
        "--orders", type=int, default=100, help="orders that come, and that go; each with about four lines"
    )
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--folder", type=Path, default=Path("data"))
    parser.add_argument("--out", type=Path, help="the page, e.g. docs/scaling-figures.md")
    given = parser.parse_args(argv)
    spark = start_spark()
    lines = [
        compare(spark, tables(scale, given.folder), name, scale, given.orders, given.times)
        for name in given.queries
        for scale in given.scales
    ]
    figures = ["epoch, ms", "smallest job, ms", "ratio", "bytes shuffled", "bytes read"]
    text = PAGE.format(orders=given.orders, table=grid(["query", "scale", "jobs/stages", *figures], lines))
    print(text)
    if given.out:
        given.out.write_text(text, encoding="utf-8")
    spark.stop()


if __name__ == "__main__":
    main()
