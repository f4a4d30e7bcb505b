"""Many views on one table: what a small epoch costs when a hundred of them read it.

`orders` has so many rows, `customers` a tenth as many. Ten kinds of query, each with other constants, make a hundred
views. An epoch of 1 row inserts an order; one of 100 deletes 50 and inserts 50. All of it is durable.

    python -m benchmarks.views [--rows 100000] [--views 100] [--out docs/views.md]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

import viewlet
from benchmarks.measure import Times, grid, measured, say, spread, timed
from viewlet.formatting import duration
from viewlet.spark.session.session import start_spark

KINDS = {
    "filter": "SELECT id, cust, total FROM orders WHERE total > {n}00",
    "group-by": "SELECT region, sum(total) AS s, count(*) AS n FROM orders WHERE qty > {n} GROUP BY region",
    "double": "SELECT cust, avg(weight) AS a, sum(weight) AS s FROM orders WHERE qty < 1{n} GROUP BY cust",
    "join": "SELECT o.id, o.total, c.segment FROM orders o JOIN customers c ON o.cust = c.cust WHERE o.qty = {n}",
    "join and sum": "SELECT c.segment, sum(o.total) AS s FROM orders o JOIN customers c ON o.cust = c.cust"
    " WHERE o.total > {n}00 GROUP BY c.segment",
    "extremes": "SELECT cust, min(total) AS low, max(total) AS high FROM orders WHERE qty <> {n} GROUP BY cust",
    "distinct": "SELECT region, count(DISTINCT cust) AS c FROM orders WHERE total < 1{n}00 GROUP BY region",
    "window": "SELECT id, cust, sum(qty) OVER (PARTITION BY cust ORDER BY id ROWS {n} PRECEDING) AS s FROM orders",
    "ranking": "SELECT id, cust FROM (SELECT id, cust, row_number() OVER (PARTITION BY cust ORDER BY total DESC, id) AS r"
    " FROM orders) WHERE r <= {n} + 1",
    "top": "SELECT id, total FROM orders WHERE qty > {n} ORDER BY total DESC, id LIMIT 10",
}
RUNS = 31
SIZES = (1, 100)


def made(rng: np.random.Generator, start: int, count: int, customers: int) -> pa.Table:
    """New orders."""
    columns = {
        "id": np.arange(start, start + count),
        "cust": rng.integers(0, customers, count),
        "region": rng.integers(0, 20, count).astype(np.int32),
        "qty": rng.integers(0, 20, count).astype(np.int32),
        "total": rng.integers(0, 2_000, count),
        "weight": rng.normal(10, 3, count),
    }
    return pa.table(columns)


class Orders:
    """A warehouse, and the epochs to come."""

    def __init__(self, db: viewlet.Database, rows: int) -> None:
        self.db, self.rng, self.customers = db, np.random.default_rng(1), max(rows // 10, 1)
        self.there = made(self.rng, 0, rows, self.customers)
        self.next, self.gone = rows, 0
        columns = "id BIGINT, cust BIGINT, region INT, qty INT, total BIGINT, weight DOUBLE, PRIMARY KEY (id)"
        db.sql(f"CREATE TABLE orders ({columns})")
        db.sql("CREATE TABLE customers (cust BIGINT, segment STRING, PRIMARY KEY (cust))")
        segments = pa.array([f"segment {i % 7}" for i in range(self.customers)])
        db.insert("customers", pa.table({"cust": np.arange(self.customers), "segment": segments}))
        db.insert("orders", self.there)

    def define(self, count: int) -> None:
        for at in range(count):
            kind = list(KINDS)[at % len(KINDS)]
            self.db.create_view(f"v{at}", KINDS[kind].format(n=at // len(KINDS)))

    def epoch(self, size: int) -> float:
        """One durable epoch; its milliseconds."""
        out = size // 2
        old, new = self.there.slice(self.gone, out), made(self.rng, self.next, size - out, self.customers)
        self.gone, self.next = self.gone + out, self.next + size - out

        def run() -> None:
            with self.db.epoch() as e:
                e.insert("orders", new)
                if out:
                    e.delete("orders", old)

        return timed(run)


INTRODUCTION = """# Many views on one table

{views} views of ten kinds over {rows:,} orders and {customers:,} customers, in one warehouse. An epoch of 1 row inserts an order; one of 100 deletes 50 and inserts 50. It is durable when its time ends, and every view was equal to Spark SQL in the end. Medians of {runs} epochs, quartiles in brackets. `python -m benchmarks.views` generates this page.
"""


def page(orders: Orders, views: int, found: dict[int, Times]) -> str:
    rows = [
        [f"{size:,}", spread(times), f"{statistics.median(times) / views:.2f}", f"{min(times) / views:.2f}"]
        for size, times in found.items()
    ]
    table = grid(["rows in an epoch", "epoch ms", "ms a view", "ms a view, at best"], rows)
    given = {"views": views, "rows": orders.there.num_rows, "customers": orders.customers, "runs": RUNS}
    texts = "\n".join(f"- {name}: `{text}`" for name, text in KINDS.items())
    return f"{INTRODUCTION.format(**given)}\n{table}\n\n{texts}\n"


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--views", type=int, default=100)
    parser.add_argument("--out", type=Path, help="the page, e.g. docs/views.md")
    given = parser.parse_args(argv)
    spark = start_spark(master="local[2]")
    with tempfile.TemporaryDirectory() as folder, viewlet.connect(f"{folder}/w", spark=spark, engine="inproc") as db:
        orders = Orders(db, given.rows)
        spent = timed(partial(orders.define, given.views))
        say(f"{given.views} views in {duration(spent)}")
        found = {size: measured(partial(orders.epoch, size), RUNS, 5) for size in SIZES}
        wrong = db.check().num_rows
    text = page(orders, given.views, found)
    print(text)
    if given.out:
        given.out.write_text(text, encoding="utf-8")
    if wrong:
        sys.exit(f"{wrong} rows differ from Spark SQL")


if __name__ == "__main__":
    main()
