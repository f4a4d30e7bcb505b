"""Signal pipelines beside NumPy, SciPy, pandas, Spark and DuckDB, on the same machine, in one run.

    python -m benchmarks.signal --parts long --samples 10000000
    python -m benchmarks.signal --parts grouped --readings 20000000 --groups 10 10000 --spark
    python -m benchmarks.signal --parts epochs state --stored 10000000 --history 1000000

`long`: one long signal; `grouped`: the thesis' grouped queries; `epochs`: in a warehouse, new and late readings beside
computing again; `state`: what is kept while the history grows ten times. With --out, each part writes its own section
of the page, and leaves the others as they are.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from benchmarks.sections import Page, Section
from benchmarks.signal_groups import QUERIES, grouped, spark_session
from benchmarks.signal_long import long_signal
from benchmarks.signal_stored import epochs, states

INTRODUCTION = """# What signals cost, measured

`python -m benchmarks.signal --out docs/signals-figures.md` makes this page, each part its own section; [signals](signals.md) says what is measured. Two cores, nothing else running."""
Given = argparse.Namespace
Rows = Iterator[list[str]]


def _grouped(given: Given) -> Rows:
    spark = spark_session() if given.spark else None
    parts = (grouped(given.readings, groups, given.times, spark, given.queries) for groups in given.groups)
    return chain.from_iterable(parts)


PARTS = {
    "long": Section(
        "One long signal",
        "From columns in memory to columns in memory, in milliseconds; *offline* is SciPy called once, *online* called "
        "window by window.",
        ["", "Viewlet", "offline", "online", "part of offline", "ahead of online"],
        lambda given: long_signal(given.samples, given.times),
    ),
    "grouped": Section(
        "Grouped queries",
        "Milliseconds, and in brackets how many times those of Viewlet they are; *Spark* is `applyInPandas` with SciPy.",
        ["grouped query", "groups", "readings", "Viewlet", "pandas", "DuckDB", "Spark"],
        _grouped,
        key=2,
        order=lambda row: (list(QUERIES).index(row[0]), int(row[1].replace(",", ""))),
    ),
    "epochs": Section(
        "Epochs",
        "Readings of 1,000 sensors in a warehouse, sampled, filtered and reduced to the RMS of windows, in milliseconds.",
        ["", "ms", "computing again takes"],
        lambda given: epochs(given.stored, 1_000, given.times),
    ),
    "state": Section(
        "State while the history grows",
        "The most that the same pipeline keeps beside its result, in MB, while the history of 50 sensors grows to ten "
        "times its length. Without a watermark any reading may be corrected, so all stay. With one, what stays is what "
        "a change after it can ask for: windows, the filter's last checkpoint before, and the readings since.",
        ["history", "readings", "state", "state with a watermark", "result"],
        lambda given: states(given.history),
    ),
}

PAGE = Page(INTRODUCTION, PARTS)


def main() -> None:
    given = _arguments()
    PAGE.run(given.parts, given, given.out)


def _arguments() -> Given:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="what to measure")
    parser.add_argument("--samples", type=int, default=200_000, help="of the long signal")
    parser.add_argument("--readings", type=int, default=200_000, help="of a grouped query, in all groups together")
    parser.add_argument("--groups", type=int, nargs="+", default=[10, 1_000], help="in how many groups these are")
    parser.add_argument("--queries", nargs="+", default=[""], help="how the names of those to measure begin")
    parser.add_argument("--stored", type=int, default=200_000, help="readings in the warehouse, in 1,000 groups")
    parser.add_argument(
        "--history", type=int, default=20_000, help="readings at first, which grow to ten times as many"
    )
    parser.add_argument("--times", type=int, default=5, help="how often each is measured")
    parser.add_argument("--spark", action="store_true", help="measure Spark with applyInPandas as well")
    parser.add_argument("--out", type=Path, help="the page, e.g. docs/signals-figures.md")
    return parser.parse_args()


if __name__ == "__main__":
    main()
