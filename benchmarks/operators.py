"""Operators that are no sums, at ten million rows: what an epoch of 1,000 rows costs, beside recomputing them.

`events` has so many rows, of 1,000 groups and of a tenth as many people as there are rows. An epoch takes 500 old events
out, among them the greatest of some groups, and puts 500 new ones in, which come last by time. Each query is the only
view of its warehouse; Spark SQL and DuckDB recompute it from the same rows, in the same run.

    python -m benchmarks.operators [--rows 10000000] [--queries top,window] [--out docs/operators.md]
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import viewlet
from benchmarks.measure import Times, grid, measured, run_on_duckdb, run_on_spark, say, spread, timed
from viewlet.formatting import duration, size
from viewlet.spark.session.session import start_spark
from viewlet.views.view import sql_view

GROUPS, EPOCH, RUNS = 1_000, 1_000, 9
GOAL = 20
QUERIES = {
    "min and max": "SELECT grp, min(value) AS low, max(value) AS high FROM events GROUP BY grp",
    "count distinct": "SELECT grp, count(DISTINCT person) AS people FROM events GROUP BY grp",
    "several distinct": "SELECT grp, count(DISTINCT person) AS people, count(DISTINCT value) AS kept, sum(value) AS s"
    " FROM events GROUP BY grp",
    "window, limited": "SELECT id, grp, lag(value) OVER w AS previous,"
    " sum(value) OVER (PARTITION BY grp ORDER BY moment, id ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) AS moving"
    " FROM events WINDOW w AS (PARTITION BY grp ORDER BY moment, id)",
    "window, top 3 of each": "SELECT id, grp, value FROM (SELECT id, grp, value,"
    " row_number() OVER (PARTITION BY grp ORDER BY value DESC, id) AS n FROM events) WHERE n <= 3",
    "top 100": "SELECT id, value FROM events ORDER BY value DESC, id LIMIT 100",
    "collect_list": "SELECT person, array_agg(value) AS kept FROM events GROUP BY person",
    "full outer join": "SELECT e.id, e.value, p.person, p.name FROM events e FULL JOIN people p ON e.person = p.person",
    "sessions": "SELECT person, session_window.start AS start, count(*) AS n, sum(value) AS s FROM events"
    " GROUP BY person, session_window(moment, '6 hours')",
    "median": "SELECT grp, median(value) AS m FROM events GROUP BY grp",
    "in parts": "SELECT grp, count(*) AS n, sum(value) AS s, max(value) AS high, max_by(id, moment) AS latest"
    " FROM events GROUP BY grp",
    "mode": "SELECT grp, mode(value) AS m FROM events GROUP BY grp",
}
"""The last is here to show what reads whole groups."""
IN_DUCKDB = {
    "sessions": "SELECT person, min(moment) AS start, count(*) AS n, sum(value) AS s FROM (SELECT *, sum(opens)"
    " OVER (PARTITION BY person ORDER BY moment, id) AS session FROM (SELECT *, coalesce(moment > lag(moment)"
    " OVER (PARTITION BY person ORDER BY moment, id) + INTERVAL 6 HOURS, true)::INT AS opens FROM events))"
    " GROUP BY person, session",
}
"""What DuckDB has other words for."""
TABLES = {
    "events": "id BIGINT, grp INT, moment TIMESTAMP, person BIGINT, value INT, PRIMARY KEY (id)",
    "people": "person BIGINT, name STRING, PRIMARY KEY (person)",
}


class Events:
    """The rows that there are at first, and the epochs to come."""

    def __init__(self, rows: int) -> None:
        self.rows, self.people = rows, rows // 10
        self.base = self._made(0, rows)
        self.start_again()

    def start_again(self) -> None:
        """From the rows that are there at first, for another warehouse."""
        self.rng, self.next = np.random.default_rng(2), self.rows
        values = self.base["value"].to_numpy()
        greatest = np.argpartition(values, len(values) - 50_000)[-50_000:]
        others = self.rng.permutation(len(values))[:100_000]
        self._leaving = np.setdiff1d(others, greatest), self.rng.permutation(greatest)
        self.gone = 0

    def _made(self, start: int, count: int) -> pa.Table:
        rng = np.random.default_rng(start)
        return pa.table(
            {
                "id": np.arange(start, start + count),
                "grp": rng.integers(0, GROUPS, count).astype(np.int32),
                "moment": pa.array(np.arange(start, start + count) // 3 * 1_000_000, pa.timestamp("us", "UTC")),
                "person": rng.integers(0, self.people, count),
                "value": rng.integers(0, 1_000_000, count).astype(np.int32),
            }
        )

    def persons(self) -> pa.Table:
        """Half of the people, and some that have no events."""
        at = np.arange(0, self.people + 1_000, 2)
        return pa.table({"person": at, "name": pa.array([f"person {i}" for i in at])})

    def epoch(self, db: viewlet.Database) -> float:
        """One durable epoch; its milliseconds."""
        half, quarter = EPOCH // 2, EPOCH // 4
        at = np.concatenate([kind[self.gone : self.gone + quarter] for kind in self._leaving])
        old, new = self.base.take(pa.array(at)), self._made(self.next, half)
        self.gone += quarter
        self.next += half

        def run() -> None:
            with db.epoch() as e:
                e.delete("events", old)
                e.insert("events", new)

        return timed(run)


def maintain(spark: Any, path: Path, events: Events, name: str) -> dict[str, Any]:
    """A query as the only view of a warehouse: filled, changed, checked."""
    events.start_again()
    db = viewlet.connect(path, spark=spark, engine="inproc")
    for table, columns in TABLES.items():
        if table in QUERIES[name]:
            db.sql(f"CREATE TABLE {table} ({columns}) TRUSTED")
            db.insert(table, events.base if table == "events" else events.persons())
    filled = timed(lambda: db.create_view("v", QUERIES[name]))
    say(f"{name}: filled in {duration(filled)}")
    epochs = measured(partial(events.epoch, db), RUNS, 2)
    state = sum(
        db._warehouse.store.snapshot().contents(m.name).bytes
        for m in sql_view(db._warehouse.catalog, "v").program.maps
        if m.stored
    )
    say(f"{name}: {EPOCH:,} rows in {duration(statistics.median(epochs))}; {size(state)}")
    differ = db.check("v").num_rows
    db.close()
    say(f"{name}: {differ} rows differ from Spark SQL")
    return {"fill": filled, "epochs": epochs, "state": state, "wrong": differ}


def recompute(spark: Any, events: Events, names: list[str]) -> dict[str, dict[str, Times]]:
    """What Spark SQL and DuckDB take to compute the queries from the rows that are there at first."""
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as con:
        con.execute("SET threads = 2")
        for table, rows in (("events", events.base), ("people", events.persons())):
            file = Path(folder) / f"{table}.parquet"
            pq.write_table(rows, file, row_group_size=500_000)
            spark.read.parquet(str(file)).createOrReplaceTempView(table)
            con.execute(f"CREATE TABLE {table} AS SELECT * FROM '{file}'")
        found = {}
        for name in names:
            runs: dict[str, Callable[[], None]] = {
                "spark": partial(run_on_spark, spark, QUERIES[name]),
                "duckdb": partial(run_on_duckdb, con, IN_DUCKDB.get(name, QUERIES[name])),
            }
            found[name] = {kind: measured(partial(timed, work), 3) for kind, work in runs.items()}
            say(f"{name}: " + ", ".join(f"{k} {duration(statistics.median(v))}" for k, v in found[name].items()))
    return found


INTRODUCTION = """# Operators that are not sums

{rows:,} events of {groups:,} groups and {people:,} people. An epoch deletes 500 events, half of them among the 50,000 greatest by value, and inserts 500 new ones, the latest by time; it is durable when its time ends. Each query was the only view of its warehouse, over TRUSTED tables, and in the end equal to Spark SQL, row by row, unless a line says otherwise. Spark SQL (Parquet files, into a no-op sink) and DuckDB (its own tables, in memory) recompute it from the same rows in the same run, both with two threads. Medians, quartiles in brackets; the goal is {goal} times Spark SQL. A median reads whole groups, and is here for comparison. `python -m benchmarks.operators` generates this page.
"""


def page(events: Events, found: dict[str, dict[str, Any]]) -> str:
    """The figures as a table, and the queries."""
    headings = [
        "view",
        "epoch ms",
        "Spark SQL ms",
        "DuckDB ms",
        "Spark SQL ÷ epoch",
        "DuckDB ÷ epoch",
        "state",
        "filled in",
    ]
    rows = []
    for name, figures in found.items():
        epoch, spark, duck = (statistics.median(figures[kind]) for kind in ("epochs", "spark", "duckdb"))
        wrong = f", {figures['wrong']} rows differ" if figures["wrong"] else ""
        times = [spread(figures[kind]) for kind in ("epochs", "spark", "duckdb")]
        ratios = [f"{spark / epoch:.1f}×", f"{duck / epoch:.1f}×"]
        rows.append([f"{name}{wrong}", *times, *ratios, size(figures["state"]), duration(figures["fill"])])
    texts = "\n".join(f"- {name}: `{QUERIES[name]}`" for name in found)
    introduction = INTRODUCTION.format(rows=events.rows, groups=GROUPS, people=events.people, goal=GOAL)
    return f"{introduction}\n{grid(headings, rows)}\n\n{texts}\n"


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--queries", default="", help="parts of their names, with commas; all if not given")
    parser.add_argument("--out", type=Path, help="the page, e.g. docs/operators.md")
    given = parser.parse_args(argv)
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", "--driver-memory 6g pyspark-shell")
    names = [n for n in QUERIES if any(part in n for part in given.queries.split(","))]
    spark, events = start_spark(master="local[2]"), Events(given.rows)
    again, found = recompute(spark, events, names), {}
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = {**maintain(spark, Path(folder) / "warehouse", events, name), **again[name]}
    text = page(events, found)
    print(text)
    if given.out:
        given.out.write_text(text, encoding="utf-8")
    if any(figures["wrong"] for figures in found.values()):
        sys.exit("a view differs from Spark SQL")


if __name__ == "__main__":
    main()
