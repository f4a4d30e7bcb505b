"""A¹⁶ in row blocks on Spark: an epoch of one changed row, beside evaluating it again on Spark, in one run.

The matrix is a table whose rows are arrays. All its powers are in blocks, which tasks read and write; the table of the
program shows the sum of each row.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np

import viewlet
from benchmarks.matrix_tables import vectors
from benchmarks.measure import measured, say, timed
from viewlet import matrix
from viewlet.matrix import Wide

RANDOM = np.random.default_rng(1)


def sums_of_power(A: Any) -> dict[str, Any]:
    return {"sums": np.sum(np.linalg.matrix_power(A, 16), axis=1, keepdims=True)}


EXECUTOR = 512
"""Megabytes of each of two executors, of which Spark takes 300 for itself."""


def session() -> Any:
    """Two executors, each a process of its own with one core."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    made = SparkSession.builder.master(f"local-cluster[2,1,{EXECUTOR}]")
    return made.config("spark.executor.memory", f"{EXECUTOR}m").config("spark.ui.enabled", "false").getOrCreate()


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
    sizes = [f"{A.nbytes / 1e6:,.0f} MB", f"{EXECUTOR} MB"]
    return [
        f"A¹⁶, n = {size:,}",
        *sizes,
        f"{scratch:,.0f}",
        f"{refresh:,.0f}",
        f"{scratch / refresh:,.1f}",
        f"{error:.0e}",
    ]


def on_spark(size: int, resident: int | None, times: int) -> Iterator[list[str]]:
    """One line."""
    with tempfile.TemporaryDirectory() as folder, viewlet.connect(folder, spark=session(), engine="spark") as db:
        yield run(db, size, resident, times)
