"""Epochs on the Spark engine as the data grow: times beside the smallest Spark job that has a shuffle and a Python stage,
and beside recomputing with Spark SQL; bytes that are shuffled and read; what the driver holds.

Each query of TPC-H is a view of its own; an epoch brings some orders with their lines and takes as many away: Arrow tables
that the driver has, or with `--frames` DataFrames that Spark reads from Parquet files. Bytes are those of the median epoch.

A long run can be made in parts: `q03 --scales 10 --keep FOLDER --add results.json`, then further ones. Warehouses that are
kept serve later runs, as long as there are changes that no epoch has made yet.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from workloads.tpch import columns, narrowed, queries
from workloads.tpch.data import chunks, generate, only, without

import viewlet
from benchmarks.cluster_epochs import WARM_UP, changes_of
from benchmarks.measure import grid, say, spread

QUERIES = ["q01", "q03", "q06", "q12", "q17", "q18"]
HEADINGS = ["query", "scale", "rows", "jobs/stages", "epoch, ms", "smallest job, ms", "ratio", "bytes shuffled"]
HEADINGS += ["bytes read", "driver, MB", "Spark SQL, ms", "faster"]
FILES = 4
KEYS = {"orders": "o_orderkey", "lineitem": "l_orderkey"}
PAGE = """# Epochs on Spark as the data grow

Each query of TPC-H is a view of its own; an epoch brings orders with their lines and takes as many away, on the Spark engine of two cores. Beside it, in the same run, the smallest Spark job that has a shuffle and a Python stage, and Spark SQL computing the query from Parquet files of the tables; medians, with the lowest and the highest quarter. The driver's memory is the most that its Python process has held of its own, and what its JVM holds after a collection. `python -m benchmarks.cluster --out docs/scaling-figures.md` makes this page.

{table}
"""


def prepare(folder: Path, name: str, made: Path, sizes: list[int], count: int) -> None:
    """A warehouse with a query as a view, over the tables that it reads, and what epochs are going to change.

    The orders that epochs bring are not in the tables; those that they take away are others, which are.
    """
    keys = pq.read_table(made / "orders.parquet", columns=["o_orderkey"])["o_orderkey"].to_numpy()
    epochs = [size for size in sizes for _ in range(count)]
    chosen = np.random.default_rng(1).choice(keys, 2 * sum(epochs), replace=False)
    coming, going = chosen[: sum(epochs)], chosen[sum(epochs) :]
    statements = narrowed(name)
    with viewlet.connect(folder / "w", engine="inproc") as db:
        for table, statement in statements.items():
            db.sql(statement)
            db.load(table, _without(chunks(made, table, columns(statement)), table, pa.array(np.sort(coming))))
        db.create_view(name, queries()[name])
    rows = {
        t: only(chunks(made, t, columns(statements[t])), KEYS[t], pa.array(chosen)) for t in KEYS if t in statements
    }
    _write_changes(folder, rows, epochs, coming, going)


def _without(pieces: Iterator[pa.Table], table: str, keys: pa.Array) -> Iterator[pa.Table]:
    return (without(rows, KEYS[table], keys) for rows in pieces) if table in KEYS else pieces


def _write_changes(folder: Path, rows: dict[str, pa.Table], epochs: list[int], coming: Any, going: Any) -> None:
    """A folder for each epoch, by the number of orders that come, with one for each change of a table."""
    ends = np.cumsum(epochs)
    for at, (size, end) in enumerate(zip(epochs, ends, strict=True)):
        keys = [pa.array(some[end - size : end]) for some in (coming, going)]
        own = changes_of(folder / "w", size) / f"{at:03}"
        own.mkdir(parents=True, exist_ok=True)
        for action, some in zip(("insert", "delete"), keys, strict=True):
            for table in rows:
                _write_files(only([rows[table]], KEYS[table], some), own / f"{action}-{table}")


def _write_files(rows: pa.Table, folder: Path) -> None:
    """Rows in several files, as what comes from elsewhere is, so that several tasks read them."""
    folder.mkdir()
    ends = [len(rows) * i // FILES for i in range(FILES + 1)]
    for i, (start, end) in enumerate(pairwise(ends)):
        pq.write_table(rows.slice(start, end - start), folder / f"{i}.parquet")


def compare(name: str, scale: float, given: argparse.Namespace) -> list[dict[str, Any]]:
    """What epochs of a query took, one size after the other."""
    made = generate(scale, given.folder)
    with tempfile.TemporaryDirectory(dir=given.scratch) as path:
        folder = Path(path) if given.keep is None else given.keep / f"{name}-{scale:g}"
        if any(len(list(changes_of(folder / "w", size).glob("*"))) < given.times + WARM_UP for size in given.orders):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            prepare(folder, name, made, given.orders, (given.times + WARM_UP) * given.runs)
            say(f"{name} is filled")
        return [
            {"name": name, "scale": scale, **_epochs(folder / "w", name, size, made, given)} for size in given.orders
        ]


def _epochs(warehouse: Path, name: str, size: int, made: Path, given: argparse.Namespace) -> dict[str, Any]:
    """What a process of its own measures."""
    more = [f"--{option}" for option in ("frames", "check") if getattr(given, option)]
    more += ["--recompute", str(made), "--again", str(given.again or given.times)] if given.recompute else []
    more += ["--placement", given.placement] if given.placement else []
    command = [sys.executable, "-m", "benchmarks.cluster_epochs", str(warehouse), name, str(size), str(given.times)]
    done = subprocess.run([*command, *more], stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def figures(found: dict[str, Any]) -> list[str]:
    """A line for a query: what an epoch took, what Spark ran, how that compares."""
    jobs, epoch = found["jobs"], statistics.median(found["epochs"])
    shape = f"{jobs[-1]['jobs']}/{jobs[-1]['stages']}"
    moved = [f"{statistics.median(job[what] for job in jobs):,.0f}" for what in ("shuffled_bytes", "read_bytes")]
    ratio = epoch / statistics.median(found["smallest"])
    again = found["recompute"]
    faster = [spread(again), f"{statistics.median(again) / epoch:.1f}"] if again else ["", ""]
    sizes = [found["name"], f"{found['scale']:g}", f"{found['rows']:,}", shape]
    times = [spread(found["epochs"]), spread(found["smallest"]), f"{ratio:.2f}"]
    return [*sizes, *times, *moved, f"{found['driver'] / (1 << 20):.0f}", *faster]


def with_earlier(file: Path | None, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """These with those of earlier runs, which a file holds; it holds all of them then."""
    if file is None:
        return found
    earlier = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    by_name = {(one["name"], one["scale"], one["orders"]): one for one in (*earlier, *found)}
    file.write_text(json.dumps([by_name[key] for key in sorted(by_name)]), encoding="utf-8")
    return [by_name[key] for key in sorted(by_name)]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("queries", nargs="*", default=QUERIES)
    parser.add_argument("--scales", type=float, nargs="+", default=[0.1, 1])
    orders = "orders that come, and that go, each with about four lines; several sizes of epochs"
    parser.add_argument("--orders", type=int, nargs="+", default=[100], help=orders)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--runs", type=int, default=1, help="how many such runs a warehouse that is kept is made for")
    parser.add_argument("--folder", type=Path, default=Path("data"))
    parser.add_argument("--scratch", type=Path, help="where the warehouses are made")
    parser.add_argument("--keep", type=Path, help="where they are made and kept instead")
    parser.add_argument("--frames", action="store_true", help="epochs are DataFrames of Parquet files")
    parser.add_argument("--recompute", action="store_true", help="measure Spark SQL computing the query, too")
    parser.add_argument("--again", type=int, help="how often, if not as often as there are epochs")
    parser.add_argument("--placement", help="JSON: maps of the view with the columns that they are partitioned by")
    parser.add_argument("--check", action="store_true", help="compare each view with Spark SQL in the end")
    parser.add_argument("--add", type=Path, help="a file with the results of earlier runs, which gets these, too")
    parser.add_argument("--out", type=Path, help="the page, e.g. docs/scaling-figures.md")
    given = parser.parse_args(argv)
    found: list[dict[str, Any]] = []
    for scale in given.scales:
        for name in given.queries:
            found += compare(name, scale, given)
            say(" ".join(figures(found[-1])))
    text = PAGE.format(table=grid(HEADINGS, map(figures, with_earlier(given.add, found))))
    print(text)
    if given.out:
        given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
