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
from viewlet.catalyst.session import start_spark

VIEWS = {
    "a": "SELECT item, count(*) AS n, sum(amount) AS total FROM sales GROUP BY item",
    "b": "SELECT c.region, c.segment, count(*) AS n, sum(s.amount) AS total"
    " FROM sales s JOIN customers c ON s.cust = c.cust GROUP BY c.region, c.segment",
}
SIZES = (10, 1_000, 100_000)


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

    def __init__(self, path: Path, spark: Any, rows: int) -> None:
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
        for name, text in VIEWS.items():
            self.db.create_view(name, text)

    def epoch(self, size: int, engine: str) -> tuple[float, dict[str, float]]:
        """One epoch: half of its rows new, half of them old ones that go; milliseconds in all, and by view."""
        new = sales(self.rng, self.next, size // 2, self.customers)
        old = self.base.slice(self.gone, size - size // 2)
        self.next += size // 2
        self.gone += size - size // 2
        self.db.engine = engine  # type: ignore[assignment]
        started = time.perf_counter()
        with self.db.epoch() as e:
            e.insert("sales", new)
            e.delete("sales", old)
        spent = (time.perf_counter() - started) * 1e3
        record = self.db.history()[-1]
        return spent, {name: view["ms"] for name, view in record["views"].items()}


def timed(work: Callable[[], Any], times: int) -> float:
    """The median of some runs, in milliseconds, after one that does not count."""
    work()
    spent = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        spent.append((time.perf_counter() - started) * 1e3)
    return statistics.median(spent)


def recompute(spark: Any, warehouse: Warehouse, directory: Path) -> dict[str, dict[str, float]]:
    """What it takes to compute each view from plain Parquet files of the current rows."""
    files = {}
    for name in ("sales", "customers"):
        files[name] = directory / f"{name}.parquet"
        pq.write_table(warehouse.db.table(name).arrow(), files[name])
        spark.read.parquet(str(files[name])).createOrReplaceTempView(name)
    con = duckdb.connect()
    con.execute("SET threads = 2")
    for name, file in files.items():
        con.execute(f"CREATE TABLE {name} AS SELECT * FROM '{file}'")
    result: dict[str, dict[str, float]] = {"spark": {}, "duckdb": {}}
    for view, text in VIEWS.items():
        result["spark"][view] = timed(
            lambda text=text: spark.sql(text).write.format("noop").mode("overwrite").save(), 3
        )  # type: ignore[misc]
        result["duckdb"][view] = timed(lambda text=text: con.execute(text).arrow(), 3)  # type: ignore[misc]
    return result


def smallest_job(spark: Any) -> float:
    """The smallest thing that Spark can be asked: a projection of one row."""
    frame = spark.createDataFrame([(1,)], "x int").selectExpr("x + 1 AS y")
    return timed(lambda: frame.collect(), 20)


def measure(spark: Any, rows: int) -> list[list[str]]:
    """The lines of the table for one data size."""
    lines = []
    with tempfile.TemporaryDirectory() as directory:
        warehouse = Warehouse(Path(directory) / "warehouse", spark, rows)
        again = recompute(spark, warehouse, Path(directory))
        for engine in ("inproc", "spark"):
            for size in SIZES:
                if size > rows:
                    continue
                times = 15 if engine == "inproc" and size < 100_000 else 3
                warehouse.epoch(size, engine)
                runs = [warehouse.epoch(size, engine) for _ in range(times)]
                whole = statistics.median(r[0] for r in runs)
                for view in VIEWS:
                    refresh = statistics.median(r[1][view] for r in runs)
                    lines.append(_line(rows, size, engine, view, refresh, whole, again))
                    print(" | ".join(lines[-1]), file=sys.stderr, flush=True)
        bad = warehouse.db.check()
        assert bad.num_rows == 0, f"the views are wrong: {bad.slice(0, 5).to_pylist()}"
        warehouse.db.close()
    return lines


def _line(
    rows: int, size: int, engine: str, view: str, refresh: float, whole: float, again: dict[str, dict[str, float]]
) -> list[str]:
    spark_ms, duck_ms = again["spark"][view], again["duckdb"][view]
    numbers = [
        f"{refresh:.2f}",
        f"{whole:.2f}",
        f"{spark_ms:.0f}",
        f"{duck_ms:.1f}",
        f"{spark_ms / whole:.0f}×",
        f"{duck_ms / whole:.1f}×",
    ]
    return [f"{rows:,}", f"{size:,}", engine, view, *numbers]


HEADINGS = [
    "rows",
    "epoch",
    "engine",
    "view",
    "refresh ms",
    "durable epoch ms",
    "Spark SQL ms",
    "DuckDB ms",
    "vs Spark",
    "vs DuckDB",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=int, default=100_000)
    parser.add_argument("--scales", default="1,10,100")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    spark = start_spark()
    job = smallest_job(spark)
    lines = [line for scale in arguments.scales.split(",") for line in measure(spark, arguments.base * int(scale))]
    table = [f"| {' | '.join(row)} |" for row in (HEADINGS, ["---:"] * len(HEADINGS), *lines)]
    text = "\n".join(
        [*table, "", f"The smallest Spark job of this run: {job:.1f} ms. Medians; an epoch refreshes both views."]
    )
    print(text)
    if arguments.out:
        arguments.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
