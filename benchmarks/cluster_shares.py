"""From which share of changed rows on rebuilding a view is as good as bringing it up to date.

For each query of TPC-H, epochs of growing size, each applied twice to the same warehouse: once the view follows by deltas,
once it is rebuilt. What they take is that of refreshing the view, after the change has been taken in.

    python -m benchmarks.cluster_shares q03 q17 --scale 1 [--engine inproc] [--orders 1000 10000 …]
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow.parquet as pq
from workloads.tpch.data import generate

import viewlet
from benchmarks.cluster import prepare
from benchmarks.cluster_epochs import apply, changes_of, taken
from benchmarks.measure import grid, say
from viewlet.engine.choose import EngineName
from viewlet.spark.session.session import start_spark
from viewlet.views.refresh import RefreshEstimate

HEADINGS = [
    "query",
    "engine",
    "changed rows",
    "rows read",
    "share",
    "by deltas, ms",
    "rebuilt, ms",
    "by deltas : rebuilt",
]
WARM_UP = 100


def refreshed(
    warehouse: Path, spark: Any, orders: list[int], engine: EngineName, *, rebuild: bool
) -> list[dict[str, Any]]:
    """What the records of epochs of some sizes say, if the view is rebuilt in each, or in none."""
    records = []
    with (
        patch.object(RefreshEstimate, "recompute", rebuild),
        viewlet.connect(warehouse, spark=spark, engine=engine) as db,
    ):
        for size in (WARM_UP, *orders):
            read = pq.read_table if engine == "inproc" else (lambda file: spark.read.parquet(str(file)))
            apply(db, next(taken(changes_of(warehouse, size), read)))
            records.append(db.history()[-1])
            say(f"{size:,} orders: {records[-1]['ms']:,.0f} ms")
    return records[1:]


def compare(name: str, made: Path, folder: Path, given: argparse.Namespace, spark: Any) -> list[list[str]]:
    """A line for each size of an epoch."""
    prepare(folder / "deltas", name, made, [WARM_UP, *given.orders], 1)
    shutil.copytree(folder / "deltas", folder / "rebuilt")
    found = [
        refreshed(folder / how / "w", spark, given.orders, given.engine, rebuild=how == "rebuilt")
        for how in ("deltas", "rebuilt")
    ]
    return [_line(name, given.engine, *records) for records in zip(*found, strict=True)]


def _line(name: str, engine: str, deltas: dict[str, Any], rebuilt: dict[str, Any]) -> list[str]:
    """How an epoch that is handled by deltas compares with the same one that rebuilds the view."""
    changed = sum(table["inserted"] + table["deleted"] for table in deltas["tables"].values())
    read = deltas["views"][name]["weighed"]["recompute"]
    times = [f"{deltas['ms']:,.0f}", f"{rebuilt['ms']:,.0f}", f"{deltas['ms'] / rebuilt['ms']:.2f}"]
    return [name, engine, f"{changed:,}", f"{read:,}", f"{changed / read:.1%}", *times]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("queries", nargs="+")
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--engine", choices=["spark", "inproc"], default="spark")
    orders = "orders that come, and that go, in each epoch"
    parser.add_argument("--orders", type=int, nargs="+", default=[1_000, 10_000, 50_000, 150_000, 250_000], help=orders)
    parser.add_argument("--folder", type=Path, default=Path("data"))
    parser.add_argument("--scratch", type=Path, help="where the warehouses are made")
    given = parser.parse_args(argv)
    made = generate(given.scale, given.folder)
    lines: list[list[str]] = []
    spark = start_spark() if given.engine == "spark" else None
    for name in given.queries:
        with tempfile.TemporaryDirectory(dir=given.scratch) as path:
            lines += compare(name, made, Path(path), given, spark)
    print(grid(HEADINGS, lines))


if __name__ == "__main__":
    main()
