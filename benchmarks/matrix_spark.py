"""A¹⁶ in row blocks on Spark: an epoch of one changed row, beside evaluating it again on Spark, in one run.

    python -m benchmarks.matrix_spark --size 6000 --out figures.md

The matrix is a table whose rows are arrays. All its powers are in blocks, which tasks read and write; the table of the
program shows the sum of each row.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

import viewlet
from benchmarks.matrix_tables import vectors
from benchmarks.measure import grid, measured, say, timed
from viewlet import matrix
from viewlet.matrix import Wide

RANDOM = np.random.default_rng(1)


def sums_of_power(A: Any) -> dict[str, Any]:
    return {"sums": np.sum(np.linalg.matrix_power(A, 16), axis=1, keepdims=True)}


def session() -> Any:
    from pyspark.sql import SparkSession

    return SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()


def changed(A: np.ndarray) -> int:
    """Another row; which one."""
    row, other = RANDOM.integers(len(A), size=2).tolist()
    A[row] = 0.5 * (A[row] + A[other])
    return int(row)


def run(db: viewlet.Database, size: int, resident: int | None, times: int) -> list[str]:
    A = RANDOM.normal(size=(size, size)) / np.sqrt(size)
    db.create_table("a", "i INT, entries ARRAY<DOUBLE>", primary_key="i", rows=vectors(np.arange(size), A))
    program = matrix.program(sums_of_power, A=(size, size))
    say("creating")
    db.create_matrix("power", program, A=Wide("a", "entries", row="i"), resident=resident)
    assert db._warehouse.memory["power"].matrices.large.keys() >= {"A"}

    def epoch() -> float:
        row = changed(A)
        return timed(lambda: db.upsert("a", vectors(np.array([row]), A[[row]])))

    say("epochs")
    refresh = statistics.median(measured(epoch, times))
    say("evaluating again")
    scratch = timed(lambda: db.rebuild("power"))
    say("comparing")
    wanted = reduce(lambda vector, _: A @ vector, range(16), np.ones(size))
    found = np.array([value for _, value in sorted(db.table("power").rows())])
    error = np.linalg.norm(found - wanted) / np.linalg.norm(wanted)
    return [f"A¹⁶, n = {size:,}", f"{scratch:,.0f}", f"{refresh:,.0f}", f"{scratch / refresh:,.1f}", f"{error:.0e}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--size", type=int, default=3000)
    parser.add_argument("--resident", type=int)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, viewlet.connect(folder, spark=session(), engine="spark") as db:
        line = run(db, arguments.size, arguments.resident, arguments.times)
    text = grid(["program", "evaluated on Spark, ms", "epoch, ms", "times faster", "from NumPy"], [line]) + "\n"
    print(text)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
