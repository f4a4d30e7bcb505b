"""Loading a table: what it takes to put TPC-H's `lineitem` into a warehouse, beside Spark writing it as Parquet.

Each way runs in a process of its own, which reports its time, its CPU time and its peak memory: from an Arrow table
that the caller holds, from a Parquet file, and from a DataFrame; into a TRUSTED table and into one whose keys are checked.

    python -m benchmarks.load [--scale 1] [--folder build/tpch] [--sources "Arrow table"] [--out docs/load.md]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from workloads.tpch import schema
from workloads.tpch.data import chunks, generate

import viewlet
from benchmarks.measure import grid, say
from viewlet.formatting import duration, size

SOURCES = ("Arrow table", "Parquet file", "DataFrame")
KINDS = ("TRUSTED", "keys checked")
SPARK = "Spark writes Parquet"
WARM_UP = 100_000
"""Rows with which Spark is warmed up."""
GOALS = {"TRUSTED": 1.5, "keys checked": 2.0}
"""At most so many times what Spark takes."""


INTRODUCTION = """# Loading

What it takes to put TPC-H's `lineitem` at scale {scale:g} into a warehouse, durably, beside Spark reading it from a Parquet file and writing it as Parquet; each way in a process of its own, on the same cores, after a first 100,000 rows where Spark takes part. A TRUSTED table checks no keys; the other one keeps an index of its rows. A DataFrame is taken in by tasks of Spark, and nothing of it passes through the driver. `make bench-load` makes this page.

"""


def measured(work: Callable[[], Any]) -> dict[str, float]:
    """The seconds, the CPU seconds and the growth of the peak memory of some work in this process."""
    held, cpu, wall = _peak(), time.process_time(), time.perf_counter()
    work()
    return {
        "seconds": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "memory": _peak() - held,
    }


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def load(made: Path, kind: str, source: str) -> dict[str, float]:
    """Load `lineitem` in one way, into a new warehouse."""
    with tempfile.TemporaryDirectory(dir=made.parent) as folder:
        db = viewlet.connect(Path(folder) / "w", engine="spark" if source == "DataFrame" else "auto")
        statement = schema()["lineitem"] + (" TRUSTED" if kind == "TRUSTED" else "")
        db.sql(statement)
        rows = _rows(db, made, source)
        if source == "DataFrame":  # Spark is warmed up, as it is for its own writing
            db.sql(statement.replace("lineitem", "warm", 1))
            db.load("warm", rows.limit(WARM_UP))
        spent = measured(partial(db.load, "lineitem", rows))
        assert db.status()["tables"]["lineitem"]["rows"] == db.history()[-1]["tables"]["lineitem"]["inserted"]
        db.close()
    return spent


def _rows(db: viewlet.Database, made: Path, source: str) -> Any:
    file = made / "lineitem.parquet"
    if source == "Arrow table":
        return pa.concat_tables(chunks(made, "lineitem"))
    return file if source == "Parquet file" else db.spark.read.parquet(str(file))


def write_with_spark(made: Path) -> dict[str, float]:
    """Let Spark read the file and write it anew, once to warm up."""
    from viewlet.spark.session.session import start_spark

    spark = start_spark()
    with tempfile.TemporaryDirectory(dir=made.parent) as folder:
        rows = spark.read.parquet(str(made / "lineitem.parquet"))
        rows.limit(WARM_UP).write.parquet(f"{folder}/warm")
        spent = measured(partial(rows.write.parquet, f"{folder}/written"))
    spark.stop()
    return spent


def in_process(made: Path, *way: str) -> dict[str, float]:
    """What one way takes, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.load", "--made", str(made), "--way", *way]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    say(f"{', '.join(way)}: {duration(found['seconds'] * 1e3)}, {size(found['memory'])}")
    return found


def page(scale: float, found: dict[tuple[str, ...], dict[str, float]]) -> str:
    """The figures for people."""
    spark = found[(SPARK,)]
    rows = [[SPARK, "", duration(spark["seconds"] * 1e3), "1.0", "", ""]]
    for kind in KINDS:
        for source in SOURCES:
            if (kind, source) not in found:
                continue
            one = found[kind, source]
            ratio = f"{one['seconds'] / spark['seconds']:.1f} (goal {GOALS[kind]})"
            rows.append(
                [source, kind, duration(one["seconds"] * 1e3), ratio, duration(one["cpu"] * 1e3), size(one["memory"])]
            )
    headings = ["from", "table", "time", "times Spark's", "CPU of the process", "memory above the caller's data"]
    return INTRODUCTION.format(scale=scale) + grid(headings, rows) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--folder", type=Path, default=Path("build/tpch"))
    parser.add_argument("--sources", default=",".join(SOURCES), help="where rows come from, with commas")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--made", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--way", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.way:
        found = write_with_spark(given.made) if given.way == [SPARK] else load(given.made, *given.way)
        print(json.dumps(found))
        return
    made = generate(given.scale, given.folder)
    ways = [(SPARK,), *((kind, source) for kind in KINDS for source in given.sources.split(","))]
    text = page(given.scale, {way: in_process(made, *way) for way in ways})
    print(text)
    if given.out:
        given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
