"""What the benchmarks share: timing, recomputing, and tables of figures."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

import duckdb

Times = list[float]
PATIENCE = 60
"""Seconds after which no further run of one kind starts, once there are three."""
STARTED = time.perf_counter()


def say(text: str) -> None:
    print(f"{time.perf_counter() - STARTED:7.1f} s  {text}", file=sys.stderr, flush=True)


def measured(work: Callable[[], float], times: int, warm_up: int = 1) -> Times:
    """The milliseconds that some runs report, after the first ones; fewer where they take long."""
    for _ in range(warm_up):
        work()
    spent: Times = []
    started = time.perf_counter()
    while len(spent) < times and (len(spent) < 3 or time.perf_counter() - started < PATIENCE):
        spent.append(work())
    return spent


def timed(work: Callable[[], Any]) -> float:
    """What some work takes, in milliseconds."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1e3


def run_on_spark(spark: Any, text: str) -> None:
    spark.sql(text).write.format("noop").mode("overwrite").save()


def run_on_duckdb(con: duckdb.DuckDBPyConnection, text: str) -> None:
    con.sql(text).to_arrow_table()


def grid(headings: list[str], rows: Iterable[list[str]]) -> str:
    """A table in Markdown, its figures to the right."""
    lines = [headings, ["---", *["---:"] * (len(headings) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def spread(times: Times) -> str:
    """The median, and the quartiles in brackets."""
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive") if len(times) > 1 else times * 3
    return f"{middle:.1f} ({low:.1f}–{high:.1f})"
