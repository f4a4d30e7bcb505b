"""Epochs on the Spark engine as the data grow: times beside the smallest Spark job that has a shuffle and a Python stage,
and beside recomputing with Spark SQL; bytes that are shuffled and read; what the driver's process holds.

Each query of TPC-H is a view of its own; an epoch brings some orders with their lines and takes as many away. Bytes are
those of the median epoch.
"""

from __future__ import annotations

import argparse
import json
import pickle
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from workloads.tpch import columns, narrowed, queries
from workloads.tpch.data import Stream, tables

import viewlet
from benchmarks.cluster_epochs import CHANGES, WARM_UP
from benchmarks.measure import grid, say, spread

QUERIES = ["q01", "q03", "q06", "q12", "q17", "q18"]
HEADINGS = ["query", "scale", "rows", "jobs/stages", "epoch, ms", "smallest job, ms", "ratio", "bytes shuffled"]
HEADINGS += ["bytes read", "driver, MB", "Spark SQL, ms", "faster"]
PAGE = """# Epochs on Spark as the data grow

Each query of TPC-H is a view of its own; an epoch brings {orders} orders with their lines and takes as many away, on the Spark engine of two cores. Beside it, in the same run, the smallest Spark job that has a shuffle and a Python stage, and Spark SQL computing the query from the tables; medians, with the lowest and the highest quarter. The driver's memory is the most that its Python process has held. `python -m benchmarks.cluster --out docs/scaling-figures.md` makes this page.

{table}
"""


def prepare(folder: Path, name: str, data: dict[str, pa.Table], orders: int, times: int) -> None:
    """A warehouse with a query as a view, over the tables that it reads, and what epochs are going to change."""
    stream, statements = Stream(data["orders"], data["lineitem"]), narrowed(name)
    first, lines = stream.initial
    rows = {**data, "orders": first, "lineitem": lines}
    with viewlet.connect(folder / "w", engine="inproc") as db:
        for table, statement in statements.items():
            db.sql(statement)
            db.insert(table, rows[table].select(columns(statement)))
        db.create_view(name, queries()[name])
    (folder / CHANGES).write_bytes(pickle.dumps([stream.epoch(orders) for _ in range(times + WARM_UP)]))


def compare(data: dict[str, pa.Table], name: str, scale: float, given: argparse.Namespace) -> list[str]:
    """A line for a query: what an epoch took, what Spark ran, how that compares."""
    with tempfile.TemporaryDirectory(dir=given.scratch) as path:
        prepare(Path(path), name, data, given.orders, given.times)
        say(f"{name} is filled")
        more = [f"--{option}" for option in ("recompute", "check") if getattr(given, option)]
        command = [sys.executable, "-m", "benchmarks.cluster_epochs", str(Path(path) / "w"), name, *more]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    line = figures(name, scale, json.loads(done.stdout.splitlines()[-1]))
    say(" ".join(line))
    return line


def figures(name: str, scale: float, found: dict[str, Any]) -> list[str]:
    jobs, epoch = found["jobs"], statistics.median(found["epochs"])
    shape = f"{jobs[-1]['jobs']}/{jobs[-1]['stages']}"
    moved = [f"{statistics.median(job[what] for job in jobs):,.0f}" for what in ("shuffled_bytes", "read_bytes")]
    ratio = epoch / statistics.median(found["smallest"])
    again = found["recompute"]
    faster = [spread(again), f"{statistics.median(again) / epoch:.1f}"] if again else ["", ""]
    sizes = [name, f"{scale:g}", f"{found['rows']:,}", shape]
    times = [spread(found["epochs"]), spread(found["smallest"]), f"{ratio:.2f}"]
    return [*sizes, *times, *moved, f"{found['driver'] >> 20}", *faster]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("queries", nargs="*", default=QUERIES)
    parser.add_argument("--scales", type=float, nargs="+", default=[0.1, 1])
    parser.add_argument(
        "--orders", type=int, default=100, help="orders that come, and that go; each with about four lines"
    )
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--folder", type=Path, default=Path("data"))
    parser.add_argument("--scratch", type=Path, help="where the warehouses are made")
    parser.add_argument("--recompute", action="store_true", help="measure Spark SQL computing the query, too")
    parser.add_argument("--check", action="store_true", help="compare each view with Spark SQL in the end")
    parser.add_argument("--out", type=Path, help="the page, e.g. docs/scaling-figures.md")
    given = parser.parse_args(argv)
    lines = []
    for scale in given.scales:
        data = tables(scale, given.folder)
        lines += [compare(data, name, scale, given) for name in given.queries]
    text = PAGE.format(orders=given.orders, table=grid(HEADINGS, lines))
    print(text)
    if given.out:
        given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
