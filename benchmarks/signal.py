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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from benchmarks.measure import grid
from benchmarks.signal_groups import QUERIES, grouped, spark_session
from benchmarks.signal_long import long_signal
from benchmarks.signal_stored import epochs, states

INTRODUCTION = """# What signals cost, measured

`python -m benchmarks.signal --out docs/signals-figures.md` makes this page, each part its own section; [signals](signals.md) says what is measured. Two cores, nothing else running."""
Given = argparse.Namespace
Rows = Iterator[list[str]]


@dataclass(frozen=True)
class Part:
    """A section of the page: what it says before its table, the headings, and rows as they are measured."""

    title: str
    text: str
    headings: list[str]
    rows: Callable[[Given], Rows]
    key: int = 0
    """The first so many columns say which row it is: one that was measured before, under other keys, stays."""


def _grouped(given: Given) -> Rows:
    spark = spark_session() if given.spark else None
    parts = (grouped(given.readings, groups, given.times, spark, given.queries) for groups in given.groups)
    return chain.from_iterable(parts)


PARTS = {
    "long": Part(
        "One long signal",
        "From columns in memory to columns in memory, in milliseconds; *offline* is SciPy called once, *online* called "
        "window by window.",
        ["", "Viewlet", "offline", "online", "part of offline", "ahead of online"],
        lambda given: long_signal(given.samples, given.times),
    ),
    "grouped": Part(
        "Grouped queries",
        "Milliseconds, and in brackets how many times those of Viewlet they are; *Spark* is `applyInPandas` with SciPy.",
        ["grouped query", "groups", "readings", "Viewlet", "pandas", "DuckDB", "Spark"],
        _grouped,
        key=2,
    ),
    "epochs": Part(
        "Epochs",
        "Readings of 1,000 sensors in a warehouse, sampled, filtered and reduced to the RMS of windows, in milliseconds.",
        ["", "ms", "computing again takes"],
        lambda given: epochs(given.stored, 1_000, given.times),
    ),
    "state": Part(
        "State while the history grows",
        "The most that the same pipeline keeps beside its result, in MB, while the history of 50 sensors grows to ten "
        "times its length. Without a watermark any reading may be corrected, so all stay. With one, what stays is what "
        "a change after it can ask for: windows, the filter's last checkpoint before, and the readings since.",
        ["history", "readings", "state", "state with a watermark", "result"],
        lambda given: states(given.history),
    ),
}


def main() -> None:
    given = _arguments()
    for name in given.parts:
        part, rows = PARTS[name], list[list[str]]()
        for row in part.rows(given):
            rows.append(row)
            if given.out:  # what is there is written down, should a later row take too long
                write_section(given.out, part, rows)
        print(grid(part.headings, rows), end="\n\n")


def write_section(page: Path, part: Part, rows: list[list[str]]) -> None:
    """Put a part's rows into the page, in the place of those that were there."""
    sections = _sections(page.read_text(encoding="utf-8")) if page.exists() else {}
    if part.key:
        rows = _with_others(part, rows, sections.get(part.title, ""))
    sections[part.title] = f"{part.text}\n\n{grid(part.headings, rows)}"
    texts = [f"## {one.title}\n{sections[one.title]}" for one in PARTS.values() if one.title in sections]
    page.write_text("\n\n".join([INTRODUCTION, *texts]) + "\n", encoding="utf-8")


def _sections(text: str) -> dict[str, str]:
    """What stands under each heading."""
    parts = [section.partition("\n") for section in text.split("\n## ")[1:]]
    return {title.strip(): body.strip() for title, _, body in parts}


def _with_others(part: Part, rows: list[list[str]], body: str) -> list[list[str]]:
    """These rows, and those that are there under other keys, in the order of the queries and of their groups."""
    lines = [line.strip("| ").split(" | ") for line in body.splitlines() if line.startswith("| ")][2:]
    known = {tuple(line[: part.key]): line for line in [*lines, *rows] if len(line) == len(part.headings)}
    order = {name: at for at, name in enumerate(QUERIES)}
    return sorted(known.values(), key=lambda line: (order[line[0]], int(line[1].replace(",", ""))))


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
