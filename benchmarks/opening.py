"""Opening: how soon a fresh process has applied an epoch to a warehouse with all 22 TPC-H views.

The warehouse holds the eight tables, with their keys checked, and the views. Processes open it one after the other:
each puts a new order in, with its lines, takes it out again, and so on, and closes. The files are in the file system's
cache, as after a restart of a program; what a process keeps in memory is not there yet.

    python -m benchmarks.opening [--scale 1] [--folder build/tpch] [--warehouse FOLDER] [--times 5] [--out docs/opening.md]

`--profile` shows where the first epoch spends its time.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from workloads.tpch.data import chunks, generate, only, sample_orders

import viewlet
from benchmarks.create import Warehouse
from benchmarks.measure import grid, say, timed
from viewlet.formatting import duration, size
from viewlet.spark.session.session import start_spark

EPOCHS = 6
GOAL = 1_000
"""Milliseconds within which the warehouse is open and the first epoch applied."""
KEYS = {"orders": "o_orderkey", "lineitem": "l_orderkey"}
Spent = dict[str, Any]


def new_order(made: Path) -> dict[str, pa.Table]:
    """An order with its lines, like one that is there, under a key that is not."""
    keys = sample_orders(made, 1)
    return {table: _with_other_key(only(chunks(made, table), key, keys), key) for table, key in KEYS.items()}


def _with_other_key(rows: pa.Table, key: str) -> pa.Table:
    """Only the first 8 of each 32 keys are generated."""
    other = pc.bit_wise_or(rows[key], pa.scalar(16, rows[key].type))
    return rows.set_column(rows.column_names.index(key), rows.schema.field(key), other)


def make_warehouse(made: Path, path: Path) -> dict[str, int]:
    """The tables and all views, if they are not there yet; the bytes of both."""
    warehouse = Warehouse(path, start_spark(master="local[*]"), made)
    for query in (f"q{number:02d}" for number in range(1, 23)):
        if query not in warehouse.db.views:
            warehouse.create(query)
            say(f"made {query}")
    found = {"tables": warehouse.tables(), "kept": sum(kept.bytes for kept in warehouse.kept())}
    warehouse.db.close()
    return found


def open_and_apply(path: Path, rows: dict[str, pa.Table], *, profile: bool) -> Spent:
    """What this process takes to open a warehouse, and for each of some epochs, in milliseconds."""
    started = time.perf_counter()
    db = viewlet.connect(path)
    opened = (time.perf_counter() - started) * 1e3
    apply = partial(_apply, db, rows)
    epochs = [timed(partial(_profiled, apply) if profile else partial(apply, inserted=True))]
    epochs += [timed(partial(apply, inserted=i % 2 == 0)) for i in range(1, EPOCHS)]
    db.close()
    return {"open": opened, "epochs": epochs}


def _apply(db: viewlet.Database, rows: dict[str, pa.Table], *, inserted: bool) -> None:
    with db.epoch() as epoch:
        for table, some in rows.items():
            (epoch.insert if inserted else epoch.delete)(table, some)


def _profiled(apply: Any) -> None:
    with cProfile.Profile() as profile:
        apply(inserted=True)
    pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(40)
    pstats.Stats(profile, stream=sys.stderr).sort_stats("cumtime").print_stats(70)


def in_process(path: Path, order: Path, *, profile: bool) -> Spent:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.opening", "--warehouse", str(path), "--order", str(order)]
    command += ["--profile"] if profile else []
    found: Spent = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    say(f"opened in {duration(found['open'])}; epochs in {', '.join(map(duration, found['epochs']))}")
    return found


# The page.

INTRODUCTION = """# Opening a warehouse

How soon a fresh process has applied an epoch to a warehouse with all 22 TPC-H views at scale {scale:g}: tables of {tables}, whose keys are checked, and {kept} of views and maps. An epoch is one order with its lines, put in or taken out. Medians of {times} processes, with the least and the most in brackets; the files are in the file system's cache. `make bench-opening` makes this page.
"""


def page(scale: float, sizes: dict[str, int], found: list[Spent]) -> str:
    epochs = [[spent["epochs"][i] for spent in found] for i in range(EPOCHS)]
    both = [spent["open"] + spent["epochs"][0] for spent in found]
    parts = {
        "open the warehouse": [spent["open"] for spent in found],
        **{f"epoch {i + 1}, the order {'out' if i % 2 else 'in'}": times for i, times in enumerate(epochs)},
    }
    text = INTRODUCTION.format(scale=scale, times=len(found), **{name: size(count) for name, count in sizes.items()})
    summary = f"Opening it and applying the first epoch takes {duration(statistics.median(both))} (the goal is {duration(GOAL)})."
    rows = [
        [part, f"{statistics.median(times):.0f} ({min(times):.0f}–{max(times):.0f})"] for part, times in parts.items()
    ]
    return f"{text}\n{summary}\n\n{grid(['part', 'ms'], rows)}\n"


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--folder", type=Path, default=Path("build") / "tpch", help="for data and the warehouse")
    parser.add_argument("--warehouse", type=Path, help="one that stays, made if it is not there")
    parser.add_argument("--times", type=int, default=5, help="how many processes open it")
    parser.add_argument("--profile", action="store_true", help="show where the first epoch spends its time")
    parser.add_argument("--out", type=Path, help="where the page goes")
    parser.add_argument("--order", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def measure(given: argparse.Namespace, folder: Path) -> str:
    made = generate(given.scale, given.folder)
    path = given.warehouse or folder / "warehouse"
    sizes = make_warehouse(made, path)
    order = folder / "order"
    order.mkdir()
    for table, rows in new_order(made).items():
        pq.write_table(rows, order / f"{table}.parquet")
    return page(given.scale, sizes, [in_process(path, order, profile=given.profile) for _ in range(given.times)])


def main(argv: list[str] | None = None) -> None:
    given = arguments(argv)
    if given.order:
        rows = {table: pq.ParquetFile(given.order / f"{table}.parquet").read() for table in KEYS}
        print(json.dumps(open_and_apply(given.warehouse, rows, profile=given.profile)))
        return
    given.folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", "--driver-memory 4g pyspark-shell")
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        text = measure(given, Path(folder))
    print(text)
    if given.out:
        given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
