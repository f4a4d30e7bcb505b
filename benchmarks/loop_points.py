"""K-means over points that keep coming: uniform in four squares, as in MRQL's evaluation, beside scikit-learn from scratch."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.cluster import KMeans  # type: ignore[import-untyped]

import viewlet
from benchmarks.loop_variants import Course
from benchmarks.measure import Times, grid, measured, say, timed
from viewlet import loops
from viewlet.progress import Progress

CENTERS = np.array([[2.5, 3.0], [3.5, 7.5], [6.5, 2.5], [7.5, 6.5]])
BATCHES = (10, 100, 1000)
_RUNS = 5


class Points:
    """Points, each in one of the squares [2, 4] or [6, 8] by [2, 4] or [6, 8]."""

    def __init__(self, count: int) -> None:
        self.rng, self.count = np.random.default_rng(11), 0
        self.all = self.more(count)

    def more(self, count: int) -> pa.Table:
        corners = self.rng.choice([2.0, 6.0], size=(count, 2))
        x, y = (corners + self.rng.uniform(0, 2, size=(count, 2))).T
        ids = np.arange(self.count, self.count + count)
        self.count += count
        return pa.table({"id": ids, "x": x, "y": y})


def from_scratch(points: pa.Table) -> Any:
    return KMeans(4, init=CENTERS, n_init=1, algorithm="lloyd", tol=0).fit(
        np.stack([points["x"].to_numpy(), points["y"].to_numpy()], axis=1)
    )


def measure(count: int, spark: Any) -> tuple[str, dict[str, Course]]:
    """The part of the page about points, and the rounds of the first run."""
    points = Points(count)
    say(f"{count:,} points")
    course, marks = Course(), [0.0]
    first = " UNION ALL ".join(f"SELECT {i}L, {x}D, {y}D" for i, (x, y) in enumerate(CENTERS))
    with tempfile.TemporaryDirectory() as folder, viewlet.connect(Path(folder), spark=spark, engine="inproc") as db:
        db.create_table("points", "id BIGINT, x DOUBLE, y DOUBLE", trusted=True, rows=points.all)

        def note(_: Progress) -> None:
            marks.append(time.perf_counter())

        db.create_view("v", loops.k_means("points", first, ["x", "y"]), progress=note)
        done = db.history("v")[-1]["views"]["v"]
        course.sizes, course.times = list(done["rounds"].values()), list(np.diff(marks[1:]) * 1e3)
        cells = [f"{done['ms']:,.0f}", *(_epochs(db, points, n) for n in BATCHES)]
        again = _median([timed(lambda: db.rebuild("v")) for _ in range(3)])
        everything = db.table("points").arrow()
    scratch = _median(measured(lambda: timed(lambda: from_scratch(everything)), _RUNS))
    heads = ["ms", "from scratch", *(f"{n:,} points" for n in BATCHES), "running again", "scikit-learn from scratch"]
    text = f"## {count:,} points\n\nDurable epochs, median of points in and out again:\n\n"
    return text + grid(heads, [["k-means", *cells, again, scratch]]), {"with deltas": course}


def _epochs(db: viewlet.Database, points: Points, count: int) -> str:
    times: Times = []
    for _ in range(_RUNS):
        rows = points.more(count)
        times += [timed(lambda: db.insert("points", rows)), timed(lambda: db.delete("points", rows))]  # noqa: B023
    return _median(times)


def _median(times: Times) -> str:
    return f"{statistics.median(times):,.1f}"
