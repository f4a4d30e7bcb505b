"""Making views: what creating each of the 22 TPC-H views takes, beside Spark SQL running the query.

One warehouse holds the eight tables, with their keys checked, as users declare them. Each query is made a view, in
process or on Spark (`--engine spark`), and dropped again; Spark SQL runs the same query on the same rows and writes the result as Parquet. Then they
stand together, for the size of what they keep.

    python -m benchmarks.create [--scale 1] [--folder build/tpch] [--queries 1,9,21] [--quick] [--out docs/create.md]

A long run can be made in parts: `--parts times --queries 1,2,3 --add results.json`, then further ones, and `--parts
state` for what they keep together; each writes the page of all that is there so far.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any

from workloads.tpch import TABLES, queries, schema
from workloads.tpch.data import chunks, generate

import viewlet
from benchmarks.measure import Times, grid, measured, say, timed
from viewlet.engine.choose import EngineName
from viewlet.formatting import duration, size
from viewlet.spark.session.session import start_spark

RUNS = 1
LARGE = 1 << 20
"""Bytes of a map that has a line of its own."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of a map or a result."""

    name: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Made:
    """One query: milliseconds to create its view and of Spark SQL, memory at most, and what is kept."""

    name: str
    create: Times
    spark: Times
    memory: int
    kept: tuple[Kept, ...]

    @property
    def ratio(self) -> float:
        return statistics.median(self.create) / statistics.median(self.spark)

    @property
    def bytes(self) -> int:
        return sum(kept.bytes for kept in self.kept)


@dataclass(frozen=True, slots=True)
class State:
    """What some views keep together, and the bytes of the tables."""

    views: int
    kept: tuple[Kept, ...]
    tables: int

    @property
    def bytes(self) -> int:
        return sum(kept.bytes for kept in self.kept)


@dataclass(frozen=True, slots=True)
class Results:
    """What was measured: queries one by one, and all together."""

    times: list[Made]
    state: State | None

    def with_earlier(self, file: Path) -> Results:
        """These with those of earlier runs, which a file holds; it holds all of them then."""
        earlier = Results.read(file) if file.exists() else Results([], None)
        by_name = {made.name: made for made in (*earlier.times, *self.times)}
        found = Results([by_name[name] for name in sorted(by_name)], self.state or earlier.state)
        file.write_text(json.dumps(asdict(found)), encoding="utf-8")
        return found

    @staticmethod
    def read(file: Path) -> Results:
        document = json.loads(file.read_text(encoding="utf-8"))
        times = [Made(**{**made, "kept": _kept(made["kept"])}) for made in document["times"]]
        state = document["state"]
        return Results(times, state and State(state["views"], _kept(state["kept"]), state["tables"]))


def _kept(document: list[dict[str, Any]]) -> tuple[Kept, ...]:
    return tuple(Kept(**kept) for kept in document)


def views_of(query: str) -> list[str]:
    """The views of a query: Q15 has two."""
    return ["q15_revenue", "q15"] if query == "q15" else [query]


class Warehouse:
    """The generated tables, and no view yet."""

    def __init__(self, path: Path, spark: Any, made: Path, engine: EngineName = "inproc") -> None:
        with viewlet.connect(path, engine="inproc") as db:
            for table, statement in schema().items():
                if table not in db.tables:
                    db.sql(statement)
                    db.load(table, chunks(made, table))
                    say(f"loaded {table}")
        self.db = viewlet.connect(path, spark=spark, engine=engine)

    def create(self, query: str) -> None:
        for view in views_of(query):
            self.db.create_view(view, queries()[view])

    def drop(self) -> None:
        for view in reversed(self.db._warehouse.catalog.views):
            self.db.drop(view)

    def created_anew(self, query: str) -> float:
        self.drop()
        return timed(partial(self.create, query))

    def kept(self) -> tuple[Kept, ...]:
        """What is kept for the views that are there."""
        snapshot = self.db._warehouse.store.snapshot()
        bags = [name for name in self.db._warehouse.catalog.bags() if snapshot.has(name)]
        return tuple(Kept(name, snapshot.contents(name).rows, snapshot.contents(name).bytes) for name in bags)

    def tables(self) -> int:
        return sum(table["bytes"] for table in self.db.status()["tables"].values())


@contextmanager
def memory_peak() -> Iterator[list[int]]:
    """The most memory of its own that this process has meanwhile, beyond what it had before, in bytes."""
    before, peak, done = _own_memory(), [0], Event()

    def look() -> None:
        while not done.wait(0.02):
            peak[0] = max(peak[0], _own_memory() - before)

    watcher = Thread(target=look, daemon=True)
    watcher.start()
    yield peak
    done.set()
    watcher.join()


def _own_memory() -> int:
    """The process's memory, without the files that it maps."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon"))


def run_and_write(spark: Any, text: str, folder: Path) -> None:
    spark.sql(text).write.mode("overwrite").parquet(str(folder))


def time_spark(spark: Any, made: Path, names: list[str], folder: Path) -> dict[str, Times]:
    """What Spark SQL takes for each query."""
    for table in TABLES:
        spark.read.parquet(str(made / f"{table}.parquet")).createOrReplaceTempView(table)
    spark.sql(queries()["q15_revenue"]).createOrReplaceTempView("q15_revenue")
    found = {}
    for name in names:
        found[name] = measured(partial(timed, partial(run_and_write, spark, queries()[name], folder)), RUNS)
        say(f"{name} on Spark: {duration(statistics.median(found[name]))}")
    for view in ("q15_revenue", *TABLES):
        spark.catalog.dropTempView(view)
    return found


def time_views(warehouse: Warehouse, names: list[str], by_spark: dict[str, Times]) -> list[Made]:
    """What creating the view of each query takes, beside Spark SQL."""
    found = []
    for name in names:
        with memory_peak() as peak:
            create = measured(partial(warehouse.created_anew, name), RUNS, 0)
        found.append(Made(name, create, by_spark[name], peak[0], warehouse.kept()))
        say(f"{name}: {duration(statistics.median(create))}, {found[-1].ratio:.1f} times Spark SQL")
    warehouse.drop()
    return found


def keep_all(warehouse: Warehouse, names: list[str]) -> State:
    """What all views keep together."""
    for name in names:
        warehouse.create(name)
        say(f"made {name}")
    return State(len(names), warehouse.kept(), warehouse.tables())


def run(
    spark: Any, made: Path, names: list[str], path: Path, loaded: Path | None, parts: list[str], engine: EngineName
) -> Results:
    by_spark = time_spark(spark, made, names, path / "result") if "times" in parts else {}
    warehouse = Warehouse(loaded or path / "warehouse", spark, made, engine)
    times = time_views(warehouse, names, by_spark) if "times" in parts else []
    state = keep_all(warehouse, names) if "state" in parts else None
    warehouse.drop()
    warehouse.db.close()
    return Results(times, state)


# The page.

INTRODUCTION = """# Making views

What it takes to create each of the 22 TPC-H views at scale {scale:g}, {where}, over tables that check their keys, beside Spark SQL, which runs the same query on Parquet files and writes its result as Parquet; both on the same cores, in one run. Creating a view includes Spark's analysis of its definition. Medians of {runs} (Spark SQL: after one that does not count). Memory is what the process had at most beyond what it had before, without the files that it maps. `make bench-create` makes this page.
"""


def page(found: Results, scale: float, engine: EngineName) -> str:
    runs = f"{RUNS} runs" if RUNS > 1 else "one run"
    parts = [
        INTRODUCTION.format(scale=scale, runs=runs, where="in process" if engine == "inproc" else "on Spark").strip()
    ]
    parts += times_part(found.times) if found.times else []
    parts += state_part(found.state) if found.state else []
    return "\n\n".join(parts) + "\n"


def times_part(found: list[Made]) -> list[str]:
    worst = max(found, key=lambda made: made.ratio)
    middle = statistics.median(made.ratio for made in found)
    total, spark = (sum(statistics.median(times) for times in kind) for kind in zip(*map(_both, found), strict=True))
    summary = (
        f"Creating a view takes {middle:.1f} times what Spark SQL takes for its query (median; the goal is 2), at most"
        f" {worst.ratio:.1f} times ({worst.name}; the goal is 4). All {len(found)}, one after the other, take"
        f" {duration(total)}, Spark SQL {duration(spark)}."
    )
    rows = [
        [m.name, _seconds(m.create), _seconds(m.spark), f"{m.ratio:.1f}×", size(m.memory), size(m.bytes)] for m in found
    ]
    return [summary, grid(["view", "created in", "Spark SQL", "ratio", "memory", "kept"], rows)]


def _both(made: Made) -> tuple[Times, Times]:
    return made.create, made.spark


def state_part(state: State) -> list[str]:
    summary = (
        f"All {state.views} views together keep {size(state.bytes)}, {state.bytes / state.tables:.1f} times the tables"
        f" ({size(state.tables)}; the goal is 4 times). The maps of more than 1 MB:"
    )
    large = sorted((k for k in state.kept if k.bytes >= LARGE), key=lambda k: -k.bytes)
    maps = [[k.name, f"{k.rows:,}", size(k.bytes), f"{k.bytes / max(k.rows, 1):.0f} B"] for k in large]
    return ["## What is kept", summary, grid(["map", "rows", "bytes", "a row"], maps)]


def _seconds(times: Times) -> str:
    return f"{statistics.median(times) / 1e3:.2f} s"


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--folder", type=Path, default=Path("build") / "tpch", help="for data and warehouses")
    parser.add_argument("--queries", default="", help="their numbers, with commas; all if not given")
    parser.add_argument("--parts", default="times,state", help="what to measure")
    parser.add_argument("--warehouse", type=Path, help="one that holds the tables, made if it is not there; it stays")
    parser.add_argument("--engine", choices=["inproc", "spark"], default="inproc", help="what fills the views")
    parser.add_argument("--quick", action="store_true", help="a hundredth of the scale, to see that it runs")
    parser.add_argument("--add", type=Path, help="a file of results, of which these become a part")
    parser.add_argument("--out", type=Path, help="where the page goes")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    given = arguments(argv)
    given.folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", "--driver-memory 4g pyspark-shell")
    wanted = {int(number) for number in given.queries.split(",") if number} or set(range(1, 23))
    scale = given.scale / 100 if given.quick else given.scale
    spark = start_spark(master="local[*]")
    with tempfile.TemporaryDirectory(dir=given.folder) as path:
        names = [f"q{number:02d}" for number in sorted(wanted)]
        made = generate(scale, given.folder)
        found = run(spark, made, names, Path(path), given.warehouse, given.parts.split(","), given.engine)
    if given.add:
        found = found.with_earlier(given.add)
    text = page(found, scale, given.engine)
    print(text)
    if given.out:
        given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
