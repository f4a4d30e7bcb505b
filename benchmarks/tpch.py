"""TPC-H: what an epoch of new and cancelled orders costs each of the 22 queries, beside recomputing them.

An epoch puts in n orders and takes out n others, with their lines (about four each), as Arrow tables in chunks. Each
query is created as the only view of a warehouse with all eight tables, whose keys are checked, measured, read after
each epoch and dropped; then all 22 stand together. Spark SQL and DuckDB recompute the same queries from the same rows,
in the same run.

    python -m benchmarks.tpch [--scale 1] [--folder build/tpch] [--queries 1,3,18] [--quick] [--out docs]
    python -m benchmarks.tpch --scale 10 --queries 1,3,18

A long run can be made in parts: `--parts none`, then `--parts alone --queries 1,2,3 --add` and further ones, and `--parts
together --add`; each adds to what the folder has of the parts before.

A scale above 1 measures growth: the queries at scale 1 and at that scale, each in a warehouse of its own with just
the tables and columns that it names. Every run leaves its figures in the folder; the page shows the last of each kind.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from workloads.tpch import TABLES, columns, narrowed, queries, reads, schema
from workloads.tpch.data import Stream, chunks, generate, only, sample_orders, without

import viewlet
from benchmarks.measure import Times, grid, measured, run_on_duckdb, run_on_spark, say, spread, timed
from viewlet.formatting import duration, size
from viewlet.spark.session.session import start_spark

KEYS = {"orders": "o_orderkey", "lineitem": "l_orderkey"}
RUNS = {1: 30, 20: 10, 200: 20, 5_000: 9}
"""Measured epochs by their size, after two that do not count."""
CHUNKS = 53
"""In how many pieces an epoch's rows come, as a filter leaves them."""
GOALS = {200: "150× Spark SQL, 6× DuckDB", 5_000: "2.5× DuckDB (worst 1×)"}
WITHOUT_VIEW = "at 200+200, 3 ms with keys checked and 2 ms TRUSTED"


class Orders:
    """A sample of the generated orders, half of them live at first: what epochs put in and take out."""

    def __init__(self, made: Path, count: int) -> None:
        keys = sample_orders(made, count)
        self.sample = [only(chunks(made, table), column, keys) for table, column in KEYS.items()]
        self.start_again()

    def start_again(self) -> None:
        """From the rows that are there at first, for another warehouse."""
        self.stream = Stream(*self.sample, share=0.5)
        self.late = self.stream.waiting

    def at_first(self, made: Path, table: str, names: list[str] | None = None) -> Iterator[pa.Table]:
        """A generated table without the orders that come later, in pieces."""
        for chunk in chunks(made, table, names):
            yield without(chunk, KEYS[table], self.late) if table in KEYS else chunk

    def epoch(self, db: viewlet.Database, read: list[str], count: int) -> float:
        """One durable epoch of the tables that are there, after which some views are read; its milliseconds."""
        change = self.stream.epoch(count)
        tables = db._warehouse.catalog.tables
        parts = [
            (table, *(in_chunks(rows.select(tables[table].names)) for rows in (rows_in, rows_out)))
            for table, rows_in, rows_out in (
                ("orders", change.orders_in, change.orders_out),
                ("lineitem", change.lines_in, change.lines_out),
            )
            if table in tables
        ]

        def run() -> None:
            with db.epoch() as e:
                for table, rows_in, rows_out in parts:
                    e.insert(table, rows_in)
                    e.delete(table, rows_out)
            for view in read:
                db.table(view).arrow()

        return timed(run)


def in_chunks(rows: pa.Table) -> pa.Table:
    """The same rows in many pieces."""
    length = max(1, math.ceil(len(rows) / CHUNKS))
    return pa.concat_tables([rows.slice(start, length) for start in range(0, max(1, len(rows)), length)])


class Warehouse:
    """A warehouse with the generated rows in it, and no view yet."""

    def __init__(self, path: Path, spark: Any, made: Path, orders: Orders, statements: dict[str, str]) -> None:
        self.orders = orders
        self.db = viewlet.connect(path, spark=spark)
        for table, statement in statements.items():
            self.db.sql(statement)
            for chunk in orders.at_first(made, table, columns(statement)):
                self.db.insert(table, chunk)
            say(f"loaded {table}, {self.db.status()['tables'][table]['rows']:,} rows")

    def epochs(self, sizes: Iterable[int], read: list[str]) -> dict[int, Times]:
        """Epochs of some sizes, after each of which some views are read."""
        return {n: measured(partial(self.orders.epoch, self.db, read, n), RUNS[n], 2) for n in sizes}

    def create(self, name: str) -> float:
        """Create a query's view, and Q15's other view; what it took, in milliseconds."""
        wanted = ["q15_revenue", "q15"] if name == "q15" else [name]
        return sum(timed(partial(self.db.create_view, view, queries()[view])) for view in wanted)

    def drop(self) -> None:
        for view in reversed(self.db._warehouse.catalog.views):
            self.db.drop(view)

    def state(self) -> int:
        """The bytes of everything that is kept for the views."""
        kept = self.db._warehouse.catalog.bags()
        snapshot = self.db._warehouse.store.snapshot()
        return sum(snapshot.contents(name).bytes for name in kept if snapshot.has(name))

    def alone(self, name: str, sizes: Iterable[int]) -> dict[str, Any]:
        """One query as the only view."""
        filled = self.create(name)
        epochs, state = self.epochs(sizes, [name]), self.state()
        self.drop()
        say(f"{name}: filled in {duration(filled)}; {_medians(epochs)}; {size(state)}")
        return {"fill": filled, "epochs": epochs, "state": state}

    def together(self, names: list[str], sizes: Iterable[int]) -> dict[str, Any]:
        """All queries as views of one warehouse, checked in the end."""
        filled = sum(self.create(name) for name in names)
        epochs, state = self.epochs(sizes, names), self.state()
        say(f"all together: filled in {duration(filled)}; {_medians(epochs)}; {size(state)}")
        engines = sorted({record["engine"] for record in self.db.status()["epochs"]})
        wrong = [view for view in self.db._warehouse.catalog.views if self._is_wrong(view)]
        return {"fill": filled, "epochs": epochs, "state": state, "engines": engines, "wrong": wrong}

    def _is_wrong(self, view: str) -> bool:
        differences = self.db.check(view)
        say(f"{view}: {differences.num_rows} rows differ from Spark SQL {differences.slice(0, 3).to_pylist()}")
        return differences.num_rows > 0


def _medians(epochs: dict[int, Times]) -> str:
    return ", ".join(f"{n:,}+{n:,} in {duration(statistics.median(times))}" for n, times in epochs.items())


def recompute(spark: Any, made: Path, orders: Orders, names: list[str]) -> dict[str, dict[str, Times]]:
    """What Spark SQL and DuckDB take to compute the queries from the rows that are there at first."""
    texts = queries()
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as con:
        con.execute("SET threads = 2")
        for table in TABLES:
            file = _written(Path(folder) / f"{table}.parquet", orders.at_first(made, table))
            spark.read.parquet(str(file)).createOrReplaceTempView(table)
            con.execute(f"CREATE TABLE {table} AS SELECT * FROM '{file}'")
        spark.sql(texts["q15_revenue"]).createOrReplaceTempView("q15_revenue")
        con.execute(f"CREATE VIEW q15_revenue AS {texts['q15_revenue']}")
        found = {}
        for name in names:
            found[name] = {
                "spark": measured(partial(timed, partial(run_on_spark, spark, texts[name])), 3),
                "duckdb": measured(partial(timed, partial(run_on_duckdb, con, texts[name])), 5),
            }
            say(f"{name} recomputed: " + ", ".join(f"{k} {duration(_median(v))}" for k, v in found[name].items()))
        for view in ("q15_revenue", *TABLES):
            spark.catalog.dropTempView(view)
    return found


def _written(file: Path, rows: Iterator[pa.Table]) -> Path:
    first = next(rows)
    with pq.ParquetWriter(file, first.schema, store_decimal_as_integer=True) as writer:
        for chunk in (first, *rows):
            writer.write_table(chunk, row_group_size=500_000)
    return file


PARTS = ("none", "alone", "together")
"""Epochs without a view; each query alone, beside its recomputations; all queries together."""


def compare(
    spark: Any, made: Path, names: list[str], sizes: list[int], path: Path, parts: Collection[str]
) -> dict[str, Any]:
    """The main measurement, or some parts of it."""
    orders = Orders(made, 12 * max(sizes))
    found: dict[str, Any] = {}
    again = recompute(spark, made, orders, names) if "alone" in parts else {}
    if "none" in parts:
        found |= without_view(spark, made, orders, sizes, path / "trusted")
        orders.start_again()
    warehouse = Warehouse(path / "checked", spark, made, orders, schema())
    if "none" in parts:
        found["none"] = warehouse.epochs(sizes, [])
        say(f"no view: {_medians(found['none'])}")
    found["tables"] = warehouse.db.status()["tables"]
    found["queries"] = {name: {**warehouse.alone(name, sizes), **again[name]} for name in names if name in again}
    if "together" in parts:
        found["together"] = warehouse.together(names, sizes)
    warehouse.db.close()
    return found


def without_view(spark: Any, made: Path, orders: Orders, sizes: list[int], path: Path) -> dict[str, Any]:
    """Epochs of TRUSTED tables that no view reads, and the smallest job of Spark."""
    job = measured(partial(timed, partial(run_on_spark, spark, "SELECT 1")), 20, 3)
    changing = {t: s for t, s in schema().items() if t in KEYS}
    warehouse = Warehouse(path, spark, made, orders, trusted(changing))
    believed = warehouse.epochs(sizes, [])
    warehouse.db.close()
    say(f"no view, TRUSTED: {_medians(believed)}; the smallest job of Spark: {duration(_median(job))}")
    return {"job": job, "trusted": believed}


def trusted(statements: dict[str, str]) -> dict[str, str]:
    """Tables whose changes are believed: no index of their rows is kept only to check them."""
    return {table: f"{statement} TRUSTED" for table, statement in statements.items()}


def grow(
    spark: Any, folder: Path, scales: list[float], names: list[str], sizes: list[int], path: Path
) -> dict[str, Any]:
    """Some queries at several scales, each in its own warehouse of just what it reads."""
    found: dict[str, dict[str, Any]] = {name: {} for name in names}
    for at in scales:
        made = generate(at, folder)
        orders = Orders(made, 12 * max(sizes))
        for name in names:
            orders.start_again()
            with tempfile.TemporaryDirectory(dir=path) as where:
                say(f"{name} at scale {at:g}")
                warehouse = Warehouse(Path(where), spark, made, orders, trusted(narrowed(name)))
                found[name][f"{at:g}"] = warehouse.alone(name, sizes)
                warehouse.db.close()
    return {"queries": found}


def _median(times: Times) -> float:
    return statistics.median(times)


# The page: what the runs left, as tables and a plot.

INTRODUCTION = """# TPC-H

The queries as published, over tables with primary keys, as users declare them: that a deleted row exists and that a key is free is checked (a line below shows the cost for TRUSTED tables, which check neither). An epoch of n+n inserts n new orders and deletes n others, with their lines, given as Arrow tables of 53 chunks, and is durable when its time ends. Each query was the only view of the warehouse when it was measured; the epochs' times include everything: the upkeep of the tables, and reading the view after the epoch. Spark SQL (Parquet files, into a no-op sink) and DuckDB (its own tables, in memory) recompute the same queries from the same rows in the same run, both with two threads. In the end all views together were compared with Spark SQL, row by row. Medians, quartiles in brackets; `python -m benchmarks.tpch` generates this page.
"""


def page(results: dict[str, Any]) -> str:
    """The page for the figures that there are."""
    parts = [INTRODUCTION]
    if main := results.get("compare"):
        parts += [f"## Scale {main['scale']:g}", "![times by query](tpch.svg)"]
        parts += [_facts(main["together"]), _summary(main), _by_query(main), _untouched(main), _state(main)]
    if growth := results.get("growth"):
        parts.append(_growth(growth))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _facts(together: dict[str, Any]) -> str:
    """Whether the views were right, and what the epochs ran on."""
    wrong = f"Wrong: {', '.join(together['wrong'])}." if together["wrong"] else "All views were right."
    return f"{wrong} The epochs, loading included, ran on: {', '.join(together['engines'])}."


def _touched(main: dict[str, Any]) -> dict[str, Any]:
    return {name: q for name, q in main["queries"].items() if set(KEYS) & set(reads(name))}


def _plus(n: str) -> str:
    return f"{int(n):,}+{int(n):,}"


def _ratios(main: dict[str, Any], n: str, other: str) -> dict[str, float]:
    return {name: _median(q[other]) / _median(q["epochs"][n]) for name, q in _touched(main).items()}


def _summary(main: dict[str, Any]) -> str:
    rows = []
    for n in main["none"]:
        spark, duck = (_ratios(main, n, other) for other in ("spark", "duckdb"))
        worst = [min(ratios, key=ratios.__getitem__) for ratios in (spark, duck)]
        numbers = ((_median([*r.values()]), r[w], w) for r, w in zip((spark, duck), worst, strict=True))
        cells = [cell for middle, least, name in numbers for cell in (f"{middle:.1f}×", f"{least:.1f}× ({name})")]
        rows.append([_plus(n), *cells, GOALS.get(int(n), "")])
    headings = ["epoch", "Spark SQL, median query", "worst", "DuckDB, median query", "worst", "goal"]
    return "How many times longer recomputing takes than an epoch, over the queries that read what changes:\n\n" + grid(
        headings, rows
    )


def _by_query(main: dict[str, Any]) -> str:
    sizes, touched = list(main["none"]), _touched(main)
    headings = ["view", *(f"{_plus(n)} ms" for n in sizes), "Spark SQL ms", "DuckDB ms"]
    headings += [f"{other} ÷ {_plus(n)}" for other in ("Spark SQL", "DuckDB") for n in sizes]
    none = {"none": main["none"], "none, TRUSTED": main["trusted"]}
    rows = [[name, *(spread(times[n]) for n in sizes), *[""] * (2 + 2 * len(sizes))] for name, times in none.items()]
    for name, q in touched.items():
        ratios = [f"{_ratios(main, n, other)[name]:.1f}×" for other in ("spark", "duckdb") for n in sizes]
        rows.append([name, *(spread(q["epochs"][n]) for n in sizes), spread(q["spark"]), spread(q["duckdb"]), *ratios])
    text = f"The goal without a view is, {WITHOUT_VIEW}; the smallest job of Spark, `SELECT 1`, took {spread(main['job'])} ms."
    return f"{text}\n\n{grid(headings, [*rows, _all_together(main, sizes)])}"


def _all_together(main: dict[str, Any], sizes: list[str]) -> list[str]:
    """The epochs of all views, beside the sum of all recomputations."""
    epochs = main["together"]["epochs"]
    sums = [sum(_median(q[other]) for q in main["queries"].values()) for other in ("spark", "duckdb")]
    ratios = [f"{total / _median(epochs[n]):.1f}×" for total in sums for n in sizes]
    name = f"all {len(main['queries'])} together"
    return [name, *(spread(epochs[n]) for n in sizes), *(f"{total:.1f}" for total in sums), *ratios]


def _untouched(main: dict[str, Any]) -> str:
    rest = {name: q for name, q in main["queries"].items() if name not in _touched(main)}
    if not rest:
        return ""
    headings = ["view", *(f"{_plus(n)} ms" for n in main["none"]), "Spark SQL ms", "DuckDB ms"]
    rows = [
        [name, *(spread(times) for times in q["epochs"].values()), spread(q["spark"]), spread(q["duckdb"])]
        for name, q in rest.items()
    ]
    text = "These read neither orders nor lines: an epoch costs what it costs without a view."
    return f"{text}\n\n{grid(headings, rows)}"


def _state(main: dict[str, Any]) -> str:
    rows = []
    for name, q in main["queries"].items():
        base = sum(main["tables"][table]["bytes"] for table in reads(name))
        rows.append([name, size(q["state"]), size(base), f"{q['state'] / base:.2f}", duration(q["fill"])])
    tables = main["tables"].values()
    base, index = (sum(table[kind] for table in tables) for kind in ("bytes", "index_bytes"))
    state = main["together"]["state"]
    rows.append(["all", size(state), size(base), f"{state / base:.2f}", duration(main["together"]["fill"])])
    text = (
        f"What is kept for a view (its rows and its maps), beside the tables that it reads, and how long filling it took."
        f" The tables' own indexes are another {size(index)}."
    )
    return f"{text}\n\n{grid(['view', 'state', 'tables', 'state ÷ tables', 'filled in'], rows)}"


def _growth(growth: dict[str, Any]) -> str:
    rows = []
    for name, by_scale in growth["queries"].items():
        base, large = by_scale
        for n in by_scale[base]["epochs"]:
            small, big = (by_scale[at]["epochs"][n] for at in (base, large))
            rows.append([name, _plus(n), spread(small), spread(big), f"{_median(big) / _median(small):.2f}"])
    text = (
        f"## Scale {large} beside scale {base}\n\nEach query in a warehouse of its own, with the tables and columns that it"
        " names and the primary keys, TRUSTED. The goal: at most 1.3 times the smaller scale's epoch."
    )
    return f"{text}\n\n{grid(['view', 'epoch', f'scale {base} ms', f'scale {large} ms', 'ratio'], rows)}"


BLUES = ("#9ecae1", "#4292c6", "#084594")
LEFT, TOP, HEIGHT, STEP, KEY = 70, 40, 360, 44, 170


def plot(main: dict[str, Any]) -> str:
    """A point for each query and way, on a logarithmic scale."""
    touched = _touched(main)
    ways = [
        *(
            (f"epoch of {_plus(n)}", colour, _medians_of(touched, n))
            for n, colour in zip(main["none"], BLUES, strict=False)
        ),
        ("Spark SQL", "#e6550d", [_median(q["spark"]) for q in touched.values()]),
        ("DuckDB", "#31a354", [_median(q["duckdb"]) for q in touched.values()]),
    ]
    values = [ms for _, _, points in ways for ms in points]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    width = LEFT + max(STEP * len(touched), KEY * len(ways))

    def y(ms: float) -> float:
        return TOP + HEIGHT * (high - math.log10(ms)) / (high - low)

    shapes = ['<rect width="100%" height="100%" fill="#fff"/>']
    for power in range(low, high + 1):
        at = y(10**power)
        shapes.append(f'<line x1="{LEFT}" x2="{width}" y1="{at:.1f}" y2="{at:.1f}" stroke="#ddd"/>')
        shapes.append(_label(LEFT - 8, at + 4, f"{10**power:g} ms", "end"))
    shapes += [_label(_x(i), TOP + HEIGHT + 20, name, "middle") for i, name in enumerate(touched)]
    for i, (label, colour, points) in enumerate(ways):
        shapes += [_dot(LEFT + 10 + KEY * i, 16, colour), _label(LEFT + 20 + KEY * i, 20, label, "start")]
        shapes += [_dot(_x(at), y(ms), colour) for at, ms in enumerate(points)]
    box = f'width="{width}" height="{TOP + HEIGHT + 30}" font-family="sans-serif" font-size="12" fill="#333"'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {box}>', *shapes, "</svg>", ""])


def _medians_of(touched: dict[str, Any], n: str) -> Times:
    return [_median(q["epochs"][n]) for q in touched.values()]


def _x(i: int) -> int:
    return LEFT + STEP // 2 + STEP * i


def _dot(x: float, y: float, colour: str) -> str:
    return f'<circle cx="{x}" cy="{y:.1f}" r="5" fill="{colour}"/>'


def _label(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--folder", type=Path, default=Path("build") / "tpch", help="for data, warehouses and figures")
    parser.add_argument("--queries", default="", help="their numbers, with commas; all if not given")
    parser.add_argument(
        "--quick", action="store_true", help="a hundredth of the scale and small epochs, to see that it runs"
    )
    parser.add_argument("--parts", default=",".join(PARTS), help="what to measure at scale 1")
    parser.add_argument("--add", action="store_true", help="to the figures of earlier parts, which stay")
    parser.add_argument("--out", type=Path, help="where tpch.md and tpch.svg go: docs, or with --quick nowhere")
    given = parser.parse_args(argv)
    given.base = 0.01 if given.quick else 1
    given.scale *= given.base
    given.out = given.out or (None if given.quick else Path("docs"))
    return given


def run(given: argparse.Namespace, names: list[str], sizes: list[int]) -> dict[str, Any]:
    """Measure; the figures of this run and of the last one of the other kind."""
    spark = start_spark(master="local[2]")
    kind = "growth" if given.scale > given.base else "compare"
    with tempfile.TemporaryDirectory(dir=given.folder) as path:
        if kind == "growth":
            found = grow(spark, given.folder, [given.base, given.scale], names, sizes, Path(path))
        else:
            parts = given.parts.split(",")
            found = compare(spark, generate(given.scale, given.folder), names, sizes, Path(path) / "warehouse", parts)
    kept = given.folder / ("quick.json" if given.quick else "figures.json")
    figures = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    if given.add and (earlier := figures.get(kind)):
        found = {**earlier, **found, "queries": dict(sorted((earlier["queries"] | found["queries"]).items()))}
    kept.write_text(json.dumps(figures | {kind: {"scale": given.scale, **found}}), encoding="utf-8")
    return json.loads(kept.read_text(encoding="utf-8"))


def main(argv: list[str] | None = None) -> None:
    given = arguments(argv)
    given.folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", "--driver-memory 4g pyspark-shell")
    wanted = {int(number) for number in given.queries.split(",") if number} or set(range(1, 23))
    results = run(given, [f"q{number:02d}" for number in sorted(wanted)], [1, 20] if given.quick else [1, 200, 5_000])
    if missing := {"none", "together"}.difference(results.get("compare", {"none": {}, "together": {}})):
        say(f"not measured yet: {', '.join(sorted(missing))}")
        return
    print(page(results))
    if given.out:
        given.out.mkdir(exist_ok=True)
        (given.out / "tpch.md").write_text(page(results), encoding="utf-8")
        if "compare" in results:
            (given.out / "tpch.svg").write_text(plot(results["compare"]), encoding="utf-8")
    if results.get("compare", {}).get("together", {}).get("wrong"):
        sys.exit("a view differs from Spark SQL")


if __name__ == "__main__":
    main()
