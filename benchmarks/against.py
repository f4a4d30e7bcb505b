"""Epochs of TPC-H now and at an earlier commit, in turns: did a change make refreshing slower?

    python -m benchmarks.against COMMIT [--queries q01,q03] [--scale 0.1] [--orders 200] [--turns 3]

Each query is the only view of a warehouse with the tables that it reads. Both versions load the same rows and apply the
same durable epochs in process: orders come and others go, with their lines. In each turn, both run once, each in a
process of its own; the medians are of the epochs of all turns. The earlier version runs in the same environment and must
have the public surface that is used here, and the same requirements.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from workloads.tpch import columns, narrowed, queries
from workloads.tpch.data import Change, Stream, chunks, generate, only, sample_orders, without

import viewlet
from benchmarks.measure import Times, grid, measured, say, spread, timed

KEYS = {"orders": "o_orderkey", "lineitem": "l_orderkey"}
QUERIES = "q01,q03,q05,q06,q09,q12,q17,q18,q21"
SAMPLE = 20
"""How many epochs' worth of orders come and go."""


def measure(name: str, made: Path, size: int, times: int) -> Times:
    """What epochs of a query's view take with the version that this process imports."""
    statements = narrowed(name)
    keys = sample_orders(made, SAMPLE * size)
    stream = Stream(*(only(chunks(made, table), column, keys) for table, column in KEYS.items()), share=0.5)
    with tempfile.TemporaryDirectory() as folder, viewlet.connect(Path(folder) / "w", engine="inproc") as db:
        late = stream.waiting
        for table, statement in statements.items():
            db.sql(statement)
            for rows in chunks(made, table, columns(statement)):
                db.insert(table, without(rows, KEYS[table], late) if table in KEYS else rows)
        db.create_view(name, queries()[name])
        return measured(lambda: epoch(db, statements, stream.epoch(size)), times, 3)


def epoch(db: viewlet.Database, statements: dict[str, str], change: Change) -> float:
    """One durable epoch, in milliseconds."""
    rows = {"orders": (change.orders_in, change.orders_out), "lineitem": (change.lines_in, change.lines_out)}
    parts = [(t, *(some.select(columns(statements[t])) for some in rows[t])) for t in rows if t in statements]

    def run() -> None:
        with db.epoch() as opened:
            for table, come, gone in parts:
                opened.insert(table, come)
                opened.delete(table, gone)

    return timed(run)


def run(source: Path, name: str, made: Path, given: argparse.Namespace) -> Times:
    """What a process with the package of a folder measures."""
    command = [sys.executable, "-m", "benchmarks.against", "--measure", name, "--folder", str(made)]
    command += ["--orders", str(given.orders), "--times", str(given.times)]
    path = os.pathsep.join([str(source), str(Path.cwd())])
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, text=True, check=True
    )
    found: Times = json.loads(done.stdout.splitlines()[-1])
    return found


def checkout(commit: str, folder: Path) -> Path:
    """The package as a commit has it."""
    archive = subprocess.run(["git", "archive", commit, "src"], stdout=subprocess.PIPE, check=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder / "src"


def compare(then: Path, name: str, made: Path, given: argparse.Namespace) -> list[str]:
    """A line for a query."""
    spent: dict[Path, Times] = {then: [], Path("src").resolve(): []}
    for _ in range(given.turns):
        for source, times in spent.items():
            times += run(source, name, made, given)
    before, now = spent.values()
    line = [name, spread(before), spread(now), f"{statistics.median(now) / statistics.median(before):.2f}"]
    say(" ".join(line))
    return line


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", nargs="?", help="the earlier version")
    parser.add_argument("--queries", default=QUERIES)
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--orders", type=int, default=200, help="how many come in an epoch, and how many go")
    parser.add_argument("--times", type=int, default=15, help="epochs of a turn")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path("data"), help="where generated tables are")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    if given.measure:
        sys.stdout.write(json.dumps(measure(given.measure, given.folder, given.orders, given.times)) + "\n")
        return
    made = generate(given.scale, given.folder)
    with tempfile.TemporaryDirectory() as folder:
        find = partial(compare, checkout(given.commit, Path(folder)), made=made, given=given)
        lines: list[Any] = [find(name) for name in given.queries.split(",")]
    print(grid(["view", f"{given.commit}, ms", "now, ms", "now : then"], lines))


if __name__ == "__main__":
    main()
