"""Refresh time against data size: does an epoch cost what changed, or what is there?

Two views over `sales` (and `customers`): (a) a group-by of one table, (b) a join aggregate of two. At 1, 10 and
100 times the data, epochs of 10, 1,000 and 100,000 rows (half put in, half taken out) run on both engines,
durably; beside them Spark SQL and DuckDB recompute the same views from the same rows, in the same run.

    python -m benchmarks.refresh [--base 100000] [--scales 1,10,100] [--out docs/refresh.md]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import viewlet
from viewlet.engine.choose import EngineName
from viewlet.spark.session.session import start_spark

VIEWS = {
    "a": "SELECT item, count(*) AS n, sum(amount) AS total FROM sales GROUP BY item",
    "b": "SELECT c.region, c.segment, count(*) AS n, sum(s.amount) AS total"
    " FROM sales s JOIN customers c ON s.cust = c.cust GROUP BY c.region, c.segment",
}
SIZES = (10, 1_000, 100_000)
ENGINES: tuple[EngineName, ...] = ("inproc", "spark")


def money(cents: np.ndarray[Any, np.dtype[np.int64]]) -> pa.Array:
    """Cents as DECIMAL(12,2), whose bytes are 128-bit integers."""
    words = np.stack([cents, cents >> 63], axis=1)
    return pa.Array.from_buffers(pa.decimal128(12, 2), len(cents), [None, pa.py_buffer(words)])


def sales(rng: np.random.Generator, start: int, count: int, customers: int) -> pa.Table:
    """Some sales, numbered from `start`."""
    cents = rng.integers(100, 100_000, count)
    return pa.table(
        {
            "id": np.arange(start, start + count),
            "cust": rng.integers(0, customers, count),
            "item": rng.integers(0, 5_000, count).astype(np.int32),
            "amount": money(cents),
        }
    )


def customer_rows(count: int) -> pa.Table:
    at = np.arange(count)
    return pa.table(
        {
            "cust": at,
            "region": pa.array([f"region {i}" for i in range(25)]).take(pa.array(at % 25)),
            "segment": pa.array(["home", "office", "school", "public"]).take(pa.array(at % 4)),
        }
    )


class Warehouse:
    """A warehouse with data, and the epochs to come."""

    def __init__(self, path: Path, spark: Any, rows: int, view: str) -> None:
        self.rng = np.random.default_rng(1)
        self.customers = max(rows // 20, 1)
        self.base = sales(self.rng, 0, rows, self.customers)
        self.next = rows
        self.gone = 0
        self.db = viewlet.connect(path, spark=spark)
        self.db.sql("CREATE TABLE sales (id BIGINT, cust BIGINT, item INT, amount DECIMAL(12,2))")
        self.db.sql("CREATE TABLE customers (cust BIGINT, region STRING, segment STRING)")
        self.db.insert("customers", customer_rows(self.customers))
        self.db.insert("sales", self.base)
        self.view = view
        self.db.create_view(view, VIEWS[view])

    def epoch(self, size: int, engine: EngineName) -> tuple[float, float]:
        """One epoch, half of its rows new, half of them old ones that go: milliseconds in all, and for the view."""
        new = sales(self.rng, self.next, size // 2, self.customers)
        old = self.base.slice(self.gone, size - size // 2)
        self.next += size // 2
        self.gone += size - size // 2
        self.db.engine = engine
        started = time.perf_counter()
        with self.db.epoch() as e:
            e.insert("sales", new)
            e.delete("sales", old)
        spent = (time.perf_counter() - started) * 1e3
        return spent, self.db.history()[-1]["views"][self.view]["ms"]


def timed(work: Callable[[], Any], times: int) -> float:
    """The median of some runs, in milliseconds, after one that does not count."""
    work()
    spent = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        spent.append((time.perf_counter() - started) * 1e3)
    return statistics.median(spent)


def recompute(spark: Any, warehouse: Warehouse, directory: Path) -> tuple[float, float]:
    """What Spark SQL and DuckDB take to compute the view from plain Parquet files of the current rows."""
    text, con = VIEWS[warehouse.view], duckdb.connect()
    con.execute("SET threads = 2")
    for name in ("sales", "customers"):
        file = directory / f"{name}.parquet"
        pq.write_table(warehouse.db.table(name).arrow(), file)
        spark.read.parquet(str(file)).createOrReplaceTempView(name)
        con.execute(f"CREATE TABLE {name} AS SELECT * FROM '{file}'")
    by_spark = timed(lambda: spark.sql(text).write.format("noop").mode("overwrite").save(), 3)
    return by_spark, timed(lambda: con.execute(text).fetchall(), 3)


def smallest_job(spark: Any) -> float:
    """The smallest query that is a job: a projection of one row, asked and collected."""
    return timed(lambda: spark.range(1).selectExpr("id + 1 AS y").collect(), 30)


def measure(spark: Any, rows: int, view: str) -> list[list[str]]:
    """The lines of the table for one view at one data size."""
    lines = []
    with tempfile.TemporaryDirectory() as directory:
        warehouse = Warehouse(Path(directory) / "warehouse", spark, rows, view)
        again = recompute(spark, warehouse, Path(directory))
        for engine in ENGINES:
            for size in (s for s in SIZES if s <= rows):
                lines.append(_line(warehouse, size, engine, rows, again))
                print(" | ".join(lines[-1]), file=sys.stderr, flush=True)
        bad = warehouse.db.check()
        assert bad.num_rows == 0, f"the view is wrong: {bad.slice(0, 5).to_pylist()}"
        warehouse.db.close()
    return lines


def _line(warehouse: Warehouse, size: int, engine: EngineName, rows: int, again: tuple[float, float]) -> list[str]:
    warehouse.epoch(size, engine)
    times = 3 if engine == "spark" else 5 if size >= 100_000 else 30
    runs = [warehouse.epoch(size, engine) for _ in range(times)]
    whole, refresh = (statistics.median(run[i] for run in runs) for i in (0, 1))
    numbers = [
        f"{refresh:.2f}",
        f"{whole:.2f}",
        *(f"{ms:.1f}" for ms in again),
        *(f"{ms / whole:.1f}×" for ms in again),
    ]
    return [warehouse.view, f"{rows:,}", f"{size:,}", engine, *numbers]


HEADINGS = [
    "view",
    "rows",
    "epoch",
    "engine",
    "refresh ms",
    "durable epoch ms",
    "Spark SQL ms",
    "DuckDB ms",
    "vs Spark",
    "vs DuckDB",
]


INTRODUCTION = """# Refresh time against data size

Two views over `sales` (and `customers`, a twentieth as many rows): (a) `GROUP BY item`, 5,000 groups, (b) a join of the two, grouped by region and segment. Each epoch inserts as many new sales as it deletes old ones, and is checked, refreshed and synced. *refresh* is the view alone, *durable epoch* everything. For comparison, the same view is recomputed from the same rows by Spark SQL (Parquet files, into a no-op sink) and by DuckDB (its own tables, in memory), in the same run on two cores; the ratios are theirs to the durable epoch. `make bench` generates this table.
"""


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=int, default=100_000)
    parser.add_argument("--scales", default="1,10,100")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args(argv)
    spark = start_spark()
    job = smallest_job(spark)
    scales = [int(scale) for scale in arguments.scales.split(",")]
    lines = [line for view in VIEWS for scale in scales for line in measure(spark, arguments.base * scale, view)]
    table = [f"| {' | '.join(row)} |" for row in (HEADINGS, ["---:"] * len(HEADINGS), *lines)]
    text = "\n".join([*table, "", f"The smallest Spark job of this run: {job:.1f} ms. Medians."])
    print(text)
    if arguments.out:
        arguments.out.write_text(f"{INTRODUCTION}\n{text}\n")


if __name__ == "__main__":
    main()
