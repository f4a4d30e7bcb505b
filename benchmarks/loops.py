"""Loops over a graph that changes: from nothing, and epochs of a few edges, beside SciPy, DuckDB and Spark from scratch.

The graph is an R-MAT one (a = 0.30, b = 0.25, c = 0.25, d = 0.20) with weights from 1 to 99. Each loop is the only view of
its warehouse, and every epoch is durable. SciPy, DuckDB and Spark start from the current edges, which are in memory.

    python -m benchmarks.loops [--nodes 8192] [--edges 60000] [--loops distances,components] [--spark] [--out FILE]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import scipy.sparse as sparse
from scipy.sparse import csgraph

import viewlet
from benchmarks.measure import Times, grid, measured, run_on_duckdb, say, timed
from viewlet import loops
from viewlet.spark.session.session import start_spark

SHARES = (0.30, 0.25, 0.25, 0.20)
BATCHES = (1, 10, 100)
RUNS = 11
TOLERANCE = 1e-4


class Graph:
    """The edges of an R-MAT graph, each once, without loops."""

    def __init__(self, nodes: int, edges: int) -> None:
        self.bits = max(1, (nodes - 1).bit_length())
        self.rng = np.random.default_rng(7)
        src, dst = np.zeros(edges, dtype=np.int64), np.zeros(edges, dtype=np.int64)
        for _ in range(self.bits):
            quadrant = self.rng.choice(4, size=edges, p=SHARES)
            src, dst = 2 * src + quadrant // 2, 2 * dst + quadrant % 2
        pairs = np.unique(np.stack([src, dst], axis=1)[src != dst], axis=0)
        weights = self.rng.integers(1, 100, len(pairs))
        self.edges = pa.table({"src": pairs[:, 0], "dst": pairs[:, 1], "w": weights})

    def some(self, count: int) -> pa.Table:
        """Some of its edges."""
        return self.edges.take(self.rng.choice(len(self.edges), count, replace=False))

    def matrix(self) -> Any:
        """The weights as a sparse matrix."""
        src, dst, w = (self.edges[name].to_numpy() for name in ("src", "dst", "w"))
        return sparse.csr_matrix((w.astype(np.float64), (src, dst)), shape=(1 << self.bits, 1 << self.bits))


def ranks(matrix: Any) -> Any:
    """PageRank by power iteration, to the same tolerance."""
    links = (matrix > 0).astype(np.float64)
    out = np.maximum(np.asarray(links.sum(axis=1)).ravel(), 1)
    step = (sparse.diags(1 / out) @ links).T.tocsr()
    rank = np.ones(matrix.shape[0])
    while True:
        rank, before = 0.15 + 0.85 * (step @ rank), rank
        if np.abs(rank - before).max() < TOLERANCE:
            return rank


@dataclass(frozen=True)
class Loop:
    """A loop, and what others need for the same."""

    text: str
    scipy: Callable[[Any], Any]
    duckdb: str | None = None


DISTANCES = """WITH RECURSIVE d(v, cost) USING KEY (v) AS (
  SELECT 0::BIGINT, 0::BIGINT UNION
  SELECT e.dst, min(d.cost + e.w) FROM d JOIN edges e ON e.src = d.v LEFT JOIN recurring.d AS r ON r.v = e.dst
  WHERE r.cost IS NULL OR d.cost + e.w < r.cost GROUP BY e.dst) SELECT * FROM d"""
COMPONENTS = """WITH RECURSIVE n(a, b) AS (SELECT src, dst FROM edges UNION SELECT dst, src FROM edges),
c(v, label) USING KEY (v) AS (
  SELECT DISTINCT a, a FROM n UNION
  SELECT n.b, min(c.label) FROM c JOIN n ON n.a = c.v JOIN recurring.c AS r ON r.v = n.b WHERE c.label < r.label
  GROUP BY n.b) SELECT * FROM c"""
REACHED = """WITH RECURSIVE t(v) AS (
  SELECT 0::BIGINT UNION SELECT e.dst FROM t JOIN edges e ON e.src = t.v) SELECT * FROM t"""
LOOPS = {
    "reached": Loop(
        loops.reachable("edges", "SELECT 0"),
        lambda m: csgraph.breadth_first_order(m, 0, return_predecessors=False),
        REACHED,
    ),
    "distances": Loop(loops.shortest_paths("edges", "SELECT 0"), lambda m: csgraph.dijkstra(m, indices=0), DISTANCES),
    "components": Loop(
        loops.connected_components("edges"), lambda m: csgraph.connected_components(m, directed=False), COMPONENTS
    ),
    "ranks": Loop(loops.pagerank("edges", tolerance=TOLERANCE), ranks),
}


def from_scratch(graph: Graph, loop: Loop, spark: Any) -> list[str]:
    """What others take: SciPy with the matrix to be made, DuckDB, Spark's own recursion over the same text."""
    con = duckdb.connect()
    con.register("edges", graph.edges)
    with_scipy = measured(lambda: timed(lambda: loop.scipy(graph.matrix())), RUNS)
    text = loop.duckdb
    with_duckdb = measured(lambda: timed(lambda: run_on_duckdb(con, text)), 5) if text else []
    with_spark = (
        measured(lambda: timed(lambda: rounds_by_hand(spark, graph)), 1, 0) if spark and "d.cost" in loop.text else []
    )
    return [_median(with_scipy), _median(with_duckdb), _median(with_spark)]


def rounds_by_hand(spark: Any, graph: Graph) -> int:
    """Shortest paths as one writes them with DataFrames: the whole step in every round, its plan cut off."""
    edges = spark.createDataFrame(graph.edges).cache()
    found = spark.sql("SELECT 0L AS v, 0L AS cost").localCheckpoint()
    while True:
        stepped = found.join(edges, found.v == edges.src).selectExpr("dst AS v", "cost + w AS cost")
        best = found.union(stepped).groupBy("v").agg({"cost": "min"}).toDF("v", "cost").localCheckpoint()
        if not best.exceptAll(found).limit(1).count():
            return int(best.count())
        found = best


def own(graph: Graph, loop: Loop, spark: Any) -> tuple[list[str], str]:
    """What the loop takes from nothing, and for epochs that take some edges out and put them back."""
    with tempfile.TemporaryDirectory() as folder, viewlet.connect(Path(folder), spark=spark, engine="inproc") as db:
        db.create_table("edges", "src BIGINT, dst BIGINT, w BIGINT", trusted=True, rows=graph.edges)
        db.create_view("v", loop.text)
        first = db.history("v")[-1]["views"]["v"]
        cells = [f"{first['ms']:,.0f}"]
        for count in BATCHES:
            times: Times = []
            for _ in range(RUNS):
                rows = graph.some(count)
                times += [timed(partial(change, "edges", rows)) for change in (db.delete, db.insert)]
            cells.append(_median(times))
        return cells, ", ".join(f"{n:,}" for n in first["rounds"].values())


def _median(times: Times) -> str:
    return f"{statistics.median(times):,.1f}" if times else "–"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Loops over a graph that changes.")
    parser.add_argument("--nodes", type=int, default=8_192)
    parser.add_argument("--edges", type=int, default=60_000)
    parser.add_argument("--loops", default=",".join(LOOPS))
    parser.add_argument("--spark", action="store_true", help="shortest paths by hand, with DataFrames")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(arguments)
    graph, spark = Graph(given.nodes, given.edges), start_spark()
    lines, rounds = [], []
    for name in given.loops.split(","):
        say(name)
        cells, sizes = own(graph, LOOPS[name], spark)
        lines.append([name, *cells, *from_scratch(graph, LOOPS[name], spark if given.spark else None)])
        rounds.append(f"{name}, rows changed by round: {sizes}")
    headings = ["ms", "from nothing", *(f"{n} edges" for n in BATCHES), "SciPy", "DuckDB", "DataFrames"]
    text = f"{len(graph.edges):,} edges, {given.nodes:,} nodes\n\n{grid(headings, lines)}\n\n" + "\n\n".join(rounds)
    print(text)
    if given.out is not None:
        given.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
