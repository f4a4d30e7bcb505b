"""Loops over a graph that changes: from scratch, round by round, and epochs of a few edges, beside others from scratch.

Graphs are R-MAT ones (a = 0.30, b = 0.25, c = 0.25, d = 0.20) with weights from 1 to 99. Each loop is the only view of its
warehouse, and every epoch is durable. SciPy, DuckDB and Spark start from the current edges, which are in memory.

    python -m benchmarks.loops small million web by_hand large points [--share 0.01] [--out docs/loops-figures.md] [--images docs/images]

Each part takes a few minutes, and takes its own place on the page. `--share` makes all graphs smaller, to try them.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import scipy.sparse as sparse
from scipy.sparse import csgraph

import viewlet
from benchmarks import loop_points, loops_by_hand
from benchmarks.loop_variants import Course, timed_rounds
from benchmarks.measure import Times, grid, measured, run_on_duckdb, say, timed
from viewlet import loops
from viewlet.columns.rows import Rows
from viewlet.spark.session.session import start_spark

SHARES = (0.30, 0.25, 0.25, 0.20)
WEB = (2.1, 2.7)
"""Exponents of the web's degrees, inward and outward (Broder et al., Graph structure in the web, 2000)."""
RUNS = 11
TOLERANCE = 0.01
"""One per cent of a vertex's first rank, as in the papers."""
_DEEP = 3


class Graph:
    """The edges of an R-MAT graph, each once, without loops."""

    note = ""
    """What a heading says of a graph of another kind."""

    def __init__(self, nodes: int, edges: int) -> None:
        self.bits = max(1, (nodes - 1).bit_length())
        self.rng = np.random.default_rng(7)
        src, dst = np.zeros(edges, dtype=np.int64), np.zeros(edges, dtype=np.int64)
        for _ in range(self.bits):
            quadrant = self.rng.choice(4, size=edges, p=SHARES)
            src, dst = 2 * src + quadrant // 2, 2 * dst + quadrant % 2
        self._take(src, dst)

    def _take(self, src: Any, dst: Any) -> None:
        pairs = np.unique((src << self.bits | dst)[src != dst])
        weights = self.rng.integers(1, 100, len(pairs))
        self.edges = pa.table({"src": pairs >> self.bits, "dst": pairs & ((1 << self.bits) - 1), "w": weights})

    @classmethod
    def web(cls, nodes: int, edges: int) -> Graph:
        """A graph whose degrees follow power laws as those of the web do: 2.1 for edges in, 2.7 for edges out."""
        graph = cls(2, 1)
        graph.note = ", degrees as those of the web"
        graph.bits = max(1, (nodes - 1).bit_length())
        inward, outward = (np.arange(1, nodes + 1) ** (-1 / (exponent - 1)) for exponent in WEB)
        dst = graph.rng.permutation(nodes)[graph.rng.choice(nodes, edges, p=inward / inward.sum())]
        src = graph.rng.choice(nodes, edges, p=outward / outward.sum())
        graph._take(src, dst)
        return graph

    def some(self, count: int) -> pa.Table:
        """Some of its edges."""
        return self.edges.take(self.rng.choice(len(self.edges), count, replace=False))

    def matrix(self) -> Any:
        """The weights as a sparse matrix."""
        src, dst, w = (self.edges[name].to_numpy() for name in ("src", "dst", "w"))
        return sparse.csr_matrix((w.astype(np.float64), (src, dst)), shape=(1 << self.bits, 1 << self.bits))


def ranks(matrix: Any, tolerance: float = TOLERANCE) -> Any:
    """PageRank by power iteration, to the same tolerance."""
    links = (matrix > 0).astype(np.float64)
    out = np.maximum(np.asarray(links.sum(axis=1)).ravel(), 1)
    step = (sparse.diags(1 / out) @ links).T.tocsr()
    rank = np.ones(matrix.shape[0])
    while True:
        rank, before = 0.15 + 0.85 * (step @ rank), rank
        if np.abs(rank - before).max() < tolerance:
            return rank


@dataclass(frozen=True)
class Loop:
    """A loop, and the same for others; what others have no form for is left out."""

    text: str
    scipy: Callable[[Any], Any] | None
    duckdb: str | None = None
    by_hand: Callable[[Any, pa.Table], int] | None = None
    spark: str | None = None
    is_along_edges: bool = True


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
NEAR = f"""WITH RECURSIVE t(v, n) AS (
  SELECT CAST(0 AS BIGINT), 0 UNION ALL SELECT e.dst, t.n + 1 FROM t JOIN edges e ON e.src = t.v WHERE t.n < {_DEEP})
SELECT v, count(*) AS walks FROM t GROUP BY v"""
LOOPS = {
    "reached": Loop(
        loops.reachable("edges", "SELECT 0"),
        lambda m: csgraph.breadth_first_order(m, 0, return_predecessors=False),
        REACHED,
    ),
    "distances": Loop(
        loops.shortest_paths("edges", "SELECT 0"),
        lambda m: csgraph.dijkstra(m, indices=0),
        DISTANCES,
        loops_by_hand.distances,
    ),
    "components": Loop(
        loops.connected_components("edges"), lambda m: csgraph.connected_components(m, directed=False), COMPONENTS
    ),
    "ranks": Loop(
        loops.pagerank("edges", tolerance=TOLERANCE), ranks, by_hand=partial(loops_by_hand.ranks, tolerance=TOLERANCE)
    ),
    "walks": Loop(NEAR, None, NEAR.replace("CAST(0 AS BIGINT)", "0::BIGINT"), spark=NEAR, is_along_edges=False),
}  # fmt: skip


def from_scratch(graph: Graph, loop: Loop, part: Part, spark: Any) -> list[Times]:
    """What others take: SciPy with the matrix to be made, DuckDB, DataFrames by hand, Spark's own recursion."""
    con = duckdb.connect()
    con.register("edges", graph.edges)
    in_scipy, in_duckdb, by_hand, in_spark = loop.scipy, loop.duckdb, loop.by_hand, loop.spark
    found: list[Times] = [
        measured(lambda: timed(lambda: in_scipy(graph.matrix())), RUNS) if in_scipy else [],
        measured(lambda: timed(lambda: run_on_duckdb(con, in_duckdb)), 5) if in_duckdb and part.has_duckdb else [],
    ]
    if part.has_spark:
        spark.createDataFrame(graph.edges).cache().createOrReplaceTempView("edges")
        found.append(measured(lambda: timed(lambda: by_hand(spark, graph.edges)), 1, 0) if by_hand else [])
        found.append(measured(lambda: timed(lambda: spark.sql(in_spark).collect()), 3) if in_spark else [])
    return [*found, *([[]] * (4 - len(found)))]


@contextmanager
def warehouse(graph: Graph, text: str | None, spark: Any) -> Iterator[viewlet.Database]:
    """A warehouse whose only view, if any, is a loop."""
    with tempfile.TemporaryDirectory() as folder, viewlet.connect(Path(folder), spark=spark, engine="inproc") as db:
        db.create_table("edges", "src BIGINT, dst BIGINT, w BIGINT", trusted=True, rows=graph.edges)
        if text is not None:
            db.create_view("v", text)
        yield db


def made(db: viewlet.Database, anew: str | None = None) -> float:
    """What it took to fill the view, in milliseconds; or what it takes to make it once more."""
    if anew is not None:
        db.drop("v")
        db.create_view("v", anew)
    return float(db.history("v")[-1]["views"]["v"]["ms"])


@dataclass(frozen=True)
class Epochs:
    """What epochs take that take some edges out, and put them back, by how many; and running the loop again."""

    out: dict[int, Times]
    back: dict[int, Times]
    again: float | None
    again_without: dict[int, float]
    """The same on the edges that are left, where these are many fewer."""

    def cells(self, batches: Sequence[int]) -> list[str]:
        medians = [_median([*self.out.get(count, []), *self.back.get(count, [])]) for count in batches]
        return [*medians, "–" if self.again is None else f"{self.again:,.1f}"]

    def worst(self, table: Epochs) -> str:
        """The longest epoch, of taking its rows into the table alone and running the loop again on what is there then."""
        if self.again is None:
            return "–"
        median = statistics.median
        shares = {
            count: max(
                median(times) / (median(table.out[count]) + self.again_without.get(count, self.again)),
                median(self.back[count]) / (median(table.back[count]) + self.again),
            )
            for count, times in self.out.items()
        }
        count = max(shares, key=shares.__getitem__)
        return f"{shares[count]:.2f} × ({count:,})"


def epochs(db: viewlet.Database, graph: Graph, batches: Sequence[int]) -> Epochs:
    """What epochs take that take some edges out, and put them back; and running the loop again."""
    first, has_view = graph.some(1), bool(db.views)
    for change in (db.delete, db.insert):  # the first epoch makes the graph in memory
        change("edges", first)
    out: dict[int, Times] = {}
    back: dict[int, Times] = {}
    without: dict[int, float] = {}
    for count in (n for n in batches if 2 * n <= len(graph.edges)):
        out[count], back[count] = [], []
        for _ in range(RUNS if count <= 1000 else 3):
            rows = graph.some(count)
            out[count].append(timed(partial(db.delete, "edges", rows)))
            back[count].append(timed(partial(db.insert, "edges", rows)))
        if has_view and 20 * count > len(graph.edges):
            rows = graph.some(count)
            db.delete("edges", rows)
            without[count] = min(timed(lambda: db.rebuild("v")) for _ in range(3))  # at first, the table is netted, too
            db.insert("edges", rows)
    again = statistics.median([timed(lambda: db.rebuild("v")) for _ in range(3)]) if has_view else None
    return Epochs(out, back, again, without)


def resident() -> float:
    """The memory of this process, in GB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e9


def in_rounds(db: viewlet.Database) -> dict[str, Course]:
    """The rounds of a loop, each timed, with and without deltas and invariant views."""
    relation = db.table("v")
    found = relation.definition
    inputs = {bag: Rows.of(db.table(bag).arrow()) for bag in found.reads}  # type: ignore[union-attr]
    return timed_rounds(found, inputs, TOLERANCE)


def errors(name: str, courses: dict[str, Course], graph: Graph) -> str:
    """How far the values of each way are from those that many more rounds give, of what these are."""
    exact, parts = ranks(graph.matrix(), 1e-12), []
    for way, course in courses.items():
        if course.values is not None and way != "without invariant views":
            keys, values = (array.to_numpy() for array in course.values.columns.values())
            off = 100 * np.abs(values - exact[keys]) / exact[keys]
            parts.append(f"{off.mean():.2f} % {way} ({off.max():.1f} % at most)")
    return f"On average, `{name}` are off by {' and '.join(parts)}."


def plot(name: str, courses: dict[str, Course], folder: Path) -> str:
    """Time and |ΔX| by round (OptIQ, figure 9; REX, figure 6); where the picture is."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6))
    for way, course in courses.items():
        left.plot(range(1, len(course.times) + 1), course.times, label=way)
        right.plot(range(1, len(course.sizes) + 1), course.sizes, label=way)
    left.set(title=f"{name}: time of each round", xlabel="round", ylabel="ms", yscale="log")
    right.set(title=f"{name}: |ΔX| by round", xlabel="round", ylabel="vertices", yscale="symlog")
    left.legend()
    figure.tight_layout()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"loops-{name}.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path.name


@dataclass(frozen=True)
class Part:
    """Some loops over a graph of one size, and what they are compared with: all that runs in a few minutes."""

    nodes: int
    edges: int
    loops: Sequence[str]
    batches: Sequence[int]
    has_spark: bool = False
    """Whether DataFrames by hand and Spark's own recursion run, too: they take seconds for each round."""
    has_duckdb: bool = True
    has_rounds: bool = True
    """Whether rounds are timed one by one, without deltas and without invariant views, too."""
    is_web: bool = False
    """Whether degrees follow the power laws of the web, as in the papers' own graphs, rather than R-MAT."""
    again: int = 2
    """How often the view is made once more."""


@dataclass
class Report:
    """The tables of one size."""

    scratch: list[list[str]]
    changes: list[list[str]]
    rounds: list[list[str]]
    pictures: list[str]
    errors: list[str] = field(default_factory=list)


def measure(graph: Graph, part: Part, spark: Any, images: Path | None) -> Report:
    report, changed = Report([], [], [], []), {}
    for name in part.loops:
        loop = LOOPS[name]
        say(f"{name}, {len(graph.edges):,} edges")
        with warehouse(graph, loop.text, spark) as db:
            own = statistics.median([made(db), *(made(db, loop.text) for _ in range(part.again))])
            if part.batches:
                held = resident()
                changed[name] = epochs(db, graph, part.batches), f"{resident() - held:,.2f}"
            courses = in_rounds(db) if part.has_rounds and loop.is_along_edges else {}
        if courses:
            report.rounds.append(_rounds_line(name, courses))
            report.errors += [errors(name, courses, graph)] if name == "ranks" else []
            report.pictures += [plot(name, courses, images)] if images and name in ("ranks", "distances") else []
        report.scratch.append(_scratch_line(name, own, from_scratch(graph, loop, part, spark)))
    if part.batches:
        with warehouse(graph, None, spark) as db:
            table = epochs(db, graph, part.batches)
        lines = [*((name, *found) for name, found in changed.items()), ("the table alone", table, "–")]
        report.changes = [[name, *found.cells(part.batches), found.worst(table), held] for name, found, held in lines]
    return report


def _scratch_line(name: str, own: float, others: Sequence[Times]) -> list[str]:
    in_scipy = f"{own / statistics.median(others[0]):.1f} ×" if others[0] else "–"
    return [name, f"{own:,.0f}", _median(others[0]), in_scipy, *map(_median, others[1:])]


def _rounds_line(name: str, courses: dict[str, Course]) -> list[str]:
    own, plain, _ = courses.values()
    tail = f"{plain.tail() / own.tail():.0f} ×" if own.tail() else "–"
    edges = f"{own.edges / 1e6:,.2f} of {plain.edges / 1e6:,.2f}"
    return [name, *(f"{c.total:,.0f}" for c in courses.values()), f"{plain.total / own.total:.1f} ×", tail, edges]


def _median(times: Times) -> str:
    return f"{statistics.median(times):,.1f}" if times else "–"


def text_of(nodes: int, graph: Graph, report: Report, batches: Sequence[int], images: Path | None) -> str:
    """One size as a part of the page."""
    scratch = [
        "ms",
        "Viewlet, durable",
        "SciPy",
        "times SciPy",
        "DuckDB",
        "DataFrames by hand",
        "Spark's own recursion",
    ]
    changes = [
        "ms",
        *(f"{n:,} {'edge' if n == 1 else 'edges'}" for n in batches),
        "running again",
        "at worst",
        "GB held",
    ]
    rounds = [
        "ms, all rounds",
        "with deltas",
        "without deltas",
        "without invariant views",
        "deltas save",
        "in the tail",
        "millions of edges read, of all in all rounds",
    ]
    parts = [
        f"## {nodes:,} vertices, {len(graph.edges):,} edges{graph.note}",
        f"From scratch:\n\n{grid(scratch, report.scratch)}",
        *([f"Durable epochs, median of edges out and in again:\n\n{grid(changes, report.changes)}"] if batches else []),
        *([f"The rounds alone, from scratch:\n\n{grid(rounds, report.rounds)}"] if report.rounds else []),
        *report.errors,
        *(f"![time and changes by round](images/{name})" for name in report.pictures if images),
    ]
    return "\n\n".join(parts)


HEAD = """# Loops: figures

`make bench-loops` writes this page, one part at a time; all figures of a part are from one run, on two cores. Graphs are R-MAT with the parameters of the papers; `reached` are the reachable vertices, `distances` shortest paths, `components` connected components, `ranks` PageRank to one per cent, `walks` the paths of at most three edges, by UNION ALL. [loops.md](loops.md) describes how they are maintained. The tail is the rounds that change less than a tenth of the largest one.

The time that Viewlet takes from scratch includes reading the table, building the graph in memory, and writing the result durably; SciPy builds its matrix from arrays in memory.

An epoch takes its rows into the table, whether views are refreshed or run again. So an epoch is compared with one of the table alone and running the loop again on the edges that are then there; the column `at worst`, where a table has it, is the longest of all sizes, out or back in (the size is in brackets), by that measure. Running again is the best of three there. The first one after a deletion takes longer, since the table has to be netted: with 300,000 edges taken out of a million, `components` took 432 ms, then 104 (the epoch 213 ms); so what a user would wait for without the loop's upkeep is twice the epoch.

The rounds alone are those after the first rows, with the graph in memory and sorted by both ends of its edges. Without deltas, a round goes through all edges and all vertices, some milliseconds for a million edges. The last column bounds what deltas can save: the edges that leave changed vertices, and for `ranks` those of the sums that are made anew in the end, of all edges in all rounds. With deltas, a rank that changes by less than the tolerance is not passed on until its changes add up to more; without, rounds end when no rank changes by more. A round of `ranks` in which more than one in eight edges starts at what changed is evaluated in full.

On R-MAT graphs with these parameters degrees hardly differ, so ranks settle everywhere at once: PageRank to one per cent takes eight rounds, and most vertices change in the first four of them. Whether the one per cent is taken of the first rank or of each vertex's own makes no difference to that. Of the 8.0 million edges that eight rounds over a million go through, 5.0 million lead from what changed or into sums that are made anew, and have to be read anyway: if reading edges were all that a round costs, deltas could save 1.6 times, and 4 times is out of reach. Where degrees follow the power laws of the web, as in the graphs of the papers, a few vertices take many rounds after most have settled, and the bound is higher. Deltas pay most in epochs, which resume from the last result."""


_ALONG = [name for name, loop in LOOPS.items() if loop.is_along_edges]
PARTS = {
    "small": Part(5_000, 50_000, list(LOOPS), [1, 10, 100, 1_000, 10_000], has_spark=True),
    "million": Part(100_000, 1_000_000, _ALONG, [1, 10, 100, 1_000, 10_000, 30_000, 100_000, 300_000, 450_000]),
    "web": Part(70_000, 1_000_000, ["ranks"], [1, 100, 10_000], is_web=True),
    "by_hand": Part(
        100_000, 1_000_000, ["distances", "ranks"], [], has_spark=True, has_duckdb=False, has_rounds=False, again=0
    ),
    "large": Part(
        1_000_000,
        10_000_000,
        ["distances", "components", "ranks"],
        [1, 100, 10_000],
        has_duckdb=False,
        has_rounds=False,
        again=0,
    ),
}
POINTS = 20_000


def run_part(name: str, share: float, spark: Any, images: Path | None) -> str:
    """One part of the page."""
    if name == "points":
        text, courses = loop_points.measure(int(POINTS * share), spark)
        picture = f"\n\n![time and changes by round](images/{plot(name, courses, images)})" if images else ""
        return text + picture
    part = PARTS[name]
    nodes = int(part.nodes * share)
    graph = (Graph.web if part.is_web else Graph)(nodes, int(part.edges * share))
    drawn = images if name == "million" else None
    report = measure(graph, part, spark, drawn)
    return text_of(nodes, graph, report, part.batches, drawn)


def put(page: Path, name: str, text: str) -> None:
    """Let a part take its place on the page, and leave the others as they are."""
    known = page.read_text(encoding="utf-8") if page.exists() else ""
    parts = dict(re.findall(r"<!-- (\w+) -->\n(.*?)\n(?=<!-- |\Z)", known, re.DOTALL))
    parts[name] = text
    ordered = [f"<!-- {n} -->\n{parts[n].rstrip()}\n" for n in (*PARTS, "points") if n in parts]
    page.write_text("\n".join([f"{HEAD}\n", *ordered]), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Loops over a graph that changes.")
    parser.add_argument("parts", nargs="+", choices=[*PARTS, "points"])
    parser.add_argument("--share", type=float, default=1.0, help="how large graphs are, of what they should be")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--images", type=Path)
    given = parser.parse_args(arguments)
    spark = start_spark()
    for name in given.parts:
        text = run_part(name, given.share, spark, given.images)
        print(text, flush=True)
        if given.out is not None:
            put(given.out, name, text)


if __name__ == "__main__":
    main()
