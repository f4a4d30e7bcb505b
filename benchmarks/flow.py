"""Flows: the crawl queue, a keyed counter, and the scheduling of the data cube.

    python -m benchmarks.flow --pages 2000 --increments 10 --out figures.md
    python -m benchmarks.flow --only counter --bytewax path/to/python    # one that has Bytewax

The crawl queue (figure 8 of the paper) is kept in three ways: *landmark* computes everything again from all pages,
*reshuffled* moves all state through each run, *incremental* reads the state of the groups that an increment touches.
Beside them stand PySpark with cached DataFrames, as one writes it by hand, and `applyInPandasWithState`, keyed by site.
The results are compared at the end. Figure 9 is the same with increments of a quarter of the size. The data cube of
figure 10 has increments of 5,000 rows and of 1,000 queries, which go first at a ratio of four to one.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
from examples.flows.crawl import crawl, crawl_queue
from examples.flows.cube import DAYS, HOURS, data_cube

import viewlet
from benchmarks.flow_spark import CrawlOnSpark, count_with_state, crawl_with_state
from benchmarks.measure import grid, say, timed
from viewlet import flow

Pages = list[tuple[str, str]]
Queue = dict[str, float]


def keep(made: flow.Flow, increments: list[Pages]) -> tuple[list[float], Queue]:
    """The milliseconds of each increment, and the queue at the end."""
    with tempfile.TemporaryDirectory() as folder, viewlet.connect(folder) as db:
        db.create_flow(made)
        tables = [pa.table(dict(zip(("url", "text"), zip(*pages, strict=True), strict=True))) for pages in increments]
        times = [timed(partial(db.run_flow, "crawl", {"pages": rows})) for rows in tables]
        return times, dict(db.table("crawl_queue").rows())


def keep_often(made: Callable[[], flow.Flow], increments: list[Pages]) -> tuple[list[float], Queue]:
    """The same, as the median of some warehouses: the time of a single increment is noise."""
    found = [keep(made(), increments) for _ in range(_REPEATED)]
    return [median(times) for times in zip(*(times for times, _ in found), strict=True)], found[0][1]


def landmark(increments: list[Pages]) -> tuple[list[float], Queue]:
    """Everything again for each increment; the scores are those of one crawl of all pages."""
    times: list[float] = []
    queue: Queue = {}
    for number in range(1, len(increments) + 1):
        (took,), queue = keep(crawl_queue(), [[page for pages in increments[:number] for page in pages]])
        times.append(took)
    return times, queue


def crawl_figures(increments: list[Pages], *, spark: bool) -> str:
    """The time of each increment in each way."""
    ways: dict[str, Callable[[], tuple[list[float], Queue]]] = {
        "landmark": lambda: landmark(increments),
        "reshuffled": lambda: keep(crawl_queue("full outer"), increments),
        "incremental": lambda: keep_often(crawl_queue, increments),
    }
    if spark:
        ways["PySpark, cached"] = lambda: CrawlOnSpark().keep(increments)
        ways["applyInPandasWithState"] = lambda: crawl_with_state(increments)
    found = {}
    for name, way in ways.items():
        say(f"crawl queue: {name}")
        found[name] = way()
    queues = [queue for name, (_, queue) in found.items() if name != "landmark"]
    assert all(_same(queue, queues[0]) for queue in queues), "the ways differ"
    last = len(increments)
    rows = [
        [name, *(f"{times[at - 1]:,.0f}" for at in (1, 2, last // 2, last)), f"{times[-1] / times[1]:.2f}"]
        for name, (times, _) in found.items()
    ]
    times = {name: found[name][0] for name in found}
    faster = times["landmark"][-1] / times["incremental"][-1]
    table = grid(["ms of increment", "1", "2", str(last // 2), str(last), f"{last} / 2"], rows)
    return f"{table}\n\nAt the last increment, incremental is {faster:.1f} times faster than landmark."


def quarter_figures(increments: list[Pages]) -> str:
    """The time of all increments, and of the same pages in increments of a quarter of the size."""
    quarters = [pages[at::4] for pages in increments for at in range(4)]
    rows = []
    groupings: dict[str, flow.Grouping] = {"reshuffled": "full outer", "incremental": "right outer"}
    for name, grouping in groupings.items():
        say(f"crawl queue by quarters: {name}")
        whole, small = (sum(keep(crawl_queue(grouping), parts)[0]) for parts in (increments, quarters))
        rows.append([name, f"{whole:,.0f}", f"{small:,.0f}", f"{small / whole:.1f}"])
    count = len(increments)
    return grid(["ms of all increments", f"{count}", f"{4 * count}, of a quarter", "ratio"], rows)


def _same(one: Queue, other: Queue) -> bool:
    return one.keys() == other.keys() and all(abs(one[url] - other[url]) < 1e-9 for url in one)


def counter(*, vectorized: bool) -> flow.Flow:
    made = flow.Flow("counter")
    made.source("events", schema="key STRING")
    state = flow.State("key STRING, n BIGINT", route_by="key", primary_key="key")
    function = count_all if vectorized else count
    made.stage(inputs={"events": "key"}, state=state, vectorized=vectorized, name="count")(function)
    return made


def count(key: str, inputs: dict[str, list[Any]], state: list[Any]) -> list[tuple[str, Any]]:
    return [("state", (key, len(inputs["events"]) + sum(row["n"] for row in state)))]


def count_all(keys: pa.Table, inputs: dict[str, pa.Table], state: pa.Table) -> dict[str, pa.Table]:
    counts = np.bincount(inputs["events"]["_group"].to_numpy(), minlength=len(keys))
    counts[state["_group"].to_numpy()] += state["n"].to_numpy()
    return {"state": pa.table({"key": keys["key"], "n": counts})}


_REPEATED = 3
_FEW = 3_000
BYTEWAX = """
import random, sys, time
import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource, run_main
events, keys, batch = map(int, sys.argv[1:])
rng = random.Random(1)
rows = [(f"k{rng.randrange(keys)}", 1) for _ in range(events)]
out = []
flow = Dataflow("counter")
stream = op.input("in", flow, TestingSource(rows, batch_size=batch))
counts = op.stateful_map("count", stream, lambda state, value: ((state or 0) + value,) * 2)
op.output("out", counts, TestingSink(out))
started = time.perf_counter()
run_main(flow)
print(len(rows) / (time.perf_counter() - started))
"""


def counter_figures(events: int, keys: int, increments: int, bytewax: str | None, *, spark: bool) -> str:
    """Events a second, durably counted by key."""
    rng = random.Random(1)
    names = [f"k{rng.randrange(keys)}" for _ in range(events)]
    size = events // increments
    rows = []
    for vectorized in (True, False):
        say(f"counter: {'all groups at once' if vectorized else 'a call for each group'}")
        with tempfile.TemporaryDirectory() as folder, viewlet.connect(folder) as db:
            db.create_flow(counter(vectorized=vectorized))
            db.run_flow("counter", {"events": pa.table({"key": ["first"]})})
            parts = [pa.table({"key": names[at * size : (at + 1) * size]}) for at in range(increments)]
            took = sum(timed(partial(db.run_flow, "counter", {"events": part})) for part in parts)
            assert sum(n for _, n in db.table("counter_count").rows()) == size * increments + 1
        rows.append(["all groups at once" if vectorized else "a call for each group", f"{events / took * 1e3:,.0f}"])
    for batch in (1, 1_000) if bytewax else ():
        say(f"counter: Bytewax, {batch} at a time")
        command = [str(bytewax), "-c", BYTEWAX, str(events), str(keys), str(batch)]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        rows.append([f"Bytewax, in memory, its source giving {batch:,} at a time", f"{float(told):,.0f}"])
    if spark:
        say("counter: applyInPandasWithState")
        few = names[:_FEW]  # it takes a minute for these
        took = count_with_state(few, increments)
        rows.append([f"Spark's applyInPandasWithState, {len(few):,} events", f"{len(few) / took * 1e3:,.0f}"])
    return grid(["a counter for each key", "events a second"], rows)


def cube_figures(increments: int, runs: int) -> str:
    """How many increments of each kind get done in a second, over so many runs, while more of both wait."""
    either = flow.any_input()
    cases = {
        "priority and backpressure": data_cube(),
        "priority": data_cube(backpressure=False),
        "neither": data_cube(backpressure=False, runnable=either),
    }
    rows = []
    for name, made in cases.items():
        say(f"data cube: {name}")
        rng = random.Random(2)
        with tempfile.TemporaryDirectory() as folder, viewlet.connect(folder) as db:
            db.create_flow(made)
            for number in range(increments):
                db.run_flow("cubes", {"rows": _rows(rng), "queries": _queries(rng, number)}, runs=0)
            took = timed(lambda: db.run_flow("cubes", runs=runs)) / 1e3
            trace = [run for run in db.flow_trace("cubes") if run["stage"] != "sources"]
            counts = {
                "computed": sum(run["stage"] == "cube_update" for run in trace),
                "applied": sum("updates" in run["read"] for run in trace),
                "answered": sum(run["stage"] == "result" for run in trace),
            }
        rows.append([name, *(f"{count / took:.2f}" for count in counts.values())])
    headings = ["increments a second", "updates computed", "updates applied", "queries answered"]
    return grid(headings, rows)


def _rows(rng: random.Random, count: int = 5_000) -> list[tuple[int, int, int]]:
    return [(rng.randrange(DAYS), rng.randrange(HOURS), rng.randrange(100)) for _ in range(count)]


def _queries(rng: random.Random, number: int, count: int = 1_000) -> list[tuple[int, str, list[int], list[int]]]:
    cuboids = ("", "day", "hour", "day,hour")
    return [
        (number * count + at, rng.choice(cuboids), rng.sample(range(DAYS), 2), rng.sample(range(HOURS), 3))
        for at in range(count)
    ]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=500, help="pages of an increment")
    parser.add_argument("--sites", type=int, default=2_000)
    parser.add_argument("--increments", type=int, default=10)
    parser.add_argument("--events", type=int, default=300_000)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=40, help="runs of the data cube")
    parser.add_argument("--only", choices=["crawl", "quarters", "counter", "cube"], help="one of the measurements")
    parser.add_argument("--spark", action="store_true", help="with PySpark beside the crawl queue and the counter")
    parser.add_argument("--bytewax", metavar="PYTHON", help="a Python that has Bytewax")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(argv)
    rng = random.Random(7)
    increments = [crawl(rng, given.pages, given.sites, 10) for _ in range(given.increments)]
    measurements: dict[str, Callable[[], str]] = {
        "crawl": lambda: crawl_figures(increments, spark=given.spark),
        "quarters": lambda: quarter_figures(increments),
        "counter": lambda: counter_figures(given.events, given.keys, 3, given.bytewax, spark=given.spark),
        "cube": lambda: cube_figures(given.runs, given.runs),
    }
    parts = [measure() for name, measure in measurements.items() if given.only in (None, name)]
    text = "\n\n".join(parts) + "\n"
    print(text)
    if given.out:
        given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
