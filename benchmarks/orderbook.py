"""The order book: six queries kept fresh while messages come, beside first-order maintenance and recomputation.

For books of 10,000 and 100,000 live orders, epochs of 1, 10 and 1,000 messages run durably, one view at a time:
with higher-order maintenance (Viewlet as it is), with first-order maintenance (recursion off), and, beside them,
Spark SQL and DuckDB compute the same view from the same orders. What takes longer than a time limit or more
memory than a memory limit is reported as such, and stopped.

    python -m benchmarks.orderbook [--quick] [--queries vwap,psp] [--limit 60] [--memory 6] [--out docs/orderbook.md]
"""

from __future__ import annotations

import argparse
import resource
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from workloads.orderbook import QUERIES, TABLES
from workloads.orderbook.generator import Book

import viewlet
from benchmarks.refresh import timed
from viewlet.compile.options import FIRST_ORDER
from viewlet.spark.session.session import start_spark

EPOCHS = (1, 10, 1_000)
THESIS = {
    "axf": (14.4, 52_344.3, 160_656.6),
    "bsp": (24.1, 54_920.8, 108_354.0),
    "bsv": (33.9, 201_341.4, 7_997_516.0),
    "mst": (7.0, 7.0, 10.3),
    "psp": (2_741.2, 2_743.1, 85_086.6),
    "vwap": (18.1, 18.4, 1_934.8),
}
"""Refreshes a second in figure 4.3 of the thesis: re-evaluation, first-order, higher-order."""
FOR_DUCKDB = {"bsv": ("x.volume *", "x.volume::DECIMAL(19, 0) *")}
"""DuckDB multiplies decimals of up to 18 digits in 64 bits, which BSV's products do not fit."""


class TooLong(Exception):
    """Something took longer than the time limit."""


class NotBuilt(Exception):
    """A view was not filled within a limit, which is named, so that there was nothing to refresh."""


@dataclass(frozen=True)
class Limits:
    """What a measurement may take."""

    seconds: int
    building: int
    """Seconds to fill a view before its first refresh."""
    gigabytes: int
    epochs: int
    """How often an epoch is measured, at most."""


@dataclass
class Measured:
    """One way to have a view fresh: milliseconds of a refresh by epoch size, and what kept it from having more."""

    ms: dict[int, float] = field(default_factory=dict)
    why: str = "–"
    least: float = 0
    """Milliseconds that a refresh takes at the least, where the time limit stopped it."""
    is_checked: bool = False
    """Whether the view was compared with Spark SQL after its last epoch."""

    def rate(self, size: int, per: int = 1) -> str:
        """Refreshes a second; `per` messages each: messages a second."""
        return figure(per * 1e3 / self.ms[size]) if size in self.ms else self.why

    def beside(self, other: Measured, size: int) -> str:
        """How many times as fast this way is as another."""
        if size not in self.ms or not (theirs := other.ms.get(size, other.least)):
            return "–"
        return f"{'' if size in other.ms else '> '}{figure(theirs / self.ms[size])}×"


def stopped(error: BaseException, limits: Limits) -> Measured:
    """What is said of a measurement that a limit ended."""
    if isinstance(error, TooLong):
        return Measured(why=f"> {limits.seconds} s", least=limits.seconds * 1e3)
    return Measured(why=f"> {limits.gigabytes} GB")


def figure(number: float) -> str:
    """A number with as many digits as mean something."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.1f}" if number >= 1 else f"{number:.2g}"


def create_higher_order(db: viewlet.Database, name: str, text: str) -> None:
    """Create a view as Viewlet does of itself."""
    db.create_view(name, text)


def create_first_order(db: viewlet.Database, name: str, text: str) -> None:
    """Create a view with recursion off: its deltas are computed from its inputs."""
    db._warehouse.rules = FIRST_ORDER
    db.create_view(name, text)


WAYS = {"higher-order": create_higher_order, "first-order": create_first_order}


@contextmanager
def within(seconds: float, stop: Callable[[], None]) -> Iterator[None]:
    """Have `stop` end the block where it takes longer; then whatever error that makes is `TooLong`."""
    late = threading.Event()

    def ring() -> None:
        late.set()
        stop()

    timer = threading.Timer(seconds, ring)
    timer.start()
    try:
        yield
    except (TooLong, Py4JError, PySparkException, duckdb.Error, viewlet.ViewletError) as error:
        if late.is_set():
            raise TooLong from error
        raise
    finally:
        timer.cancel()


def interrupt() -> None:
    """Raise `TooLong` in the main thread, whatever it is doing in Python."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)


def raise_too_long(*_: object) -> None:
    raise TooLong


@contextmanager
def at_most(gigabytes: int) -> Iterator[None]:
    """Let this process take only so much more memory than it has; what needs more gets a MemoryError."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (gigabytes << 30), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def open_book(path: Path, spark: Any, live: int) -> tuple[viewlet.Database, Book]:
    """A warehouse with the book's orders, and the book, whose messages are still to come."""
    book, db = Book(live), viewlet.connect(path, spark=spark, engine="inproc")
    for statement in TABLES:
        db.sql(statement)
    with db.epoch() as e:
        for table, rows in zip(("bids", "asks"), book.initial(), strict=True):
            e.insert(table, rows)
    return db, book


def refresh(db: viewlet.Database, book: Book, size: int, bids: float, limits: Limits) -> float:
    """The milliseconds of one durable epoch."""
    changes = book.messages(size, bids)
    with within(limits.seconds, interrupt):
        started = time.perf_counter()
        with db.epoch() as e:
            for table, new in changes.items():
                new.apply(e, table)
        return (time.perf_counter() - started) * 1e3


def maintain(spark: Any, live: int, query: str, way: str, limits: Limits) -> Measured:
    """Keep a view fresh and measure it; compare it with Spark SQL at the end, where that ends in time."""
    measured = Measured()
    with tempfile.TemporaryDirectory() as directory:
        db, book = open_book(Path(directory) / "warehouse", spark, live)
        try:
            with at_most(limits.gigabytes):
                create(db, query, way, limits)
                for size in EPOCHS:
                    measured.ms[size] = median_refresh(db, book, size, query, limits)
        except NotBuilt as error:
            measured.why = str(error)
        except (TooLong, MemoryError) as error:
            end = stopped(error, limits)
            measured.why, measured.least = end.why, end.least
        measured.is_checked = bool(measured.ms) and check(db, query, limits)
        db.close()
    return measured


def create(db: viewlet.Database, query: str, way: str, limits: Limits) -> None:
    """Create a view in one of the ways."""
    try:
        with within(limits.building, interrupt):
            WAYS[way](db, query, QUERIES[query])
    except TooLong as error:
        raise NotBuilt(f"not built in {limits.building} s") from error
    except MemoryError as error:
        raise NotBuilt(f"not built in {limits.gigabytes} GB") from error


def median_refresh(db: viewlet.Database, book: Book, size: int, query: str, limits: Limits) -> float:
    """The median of some epochs after one that does not count: as many as a share of the time limit allows."""
    bids = 0.5 if "asks" in QUERIES[query] else 1.0  # so that every message is about what the view reads
    refresh(db, book, size, bids, limits)
    until = time.perf_counter() + limits.seconds / 4
    spent = [refresh(db, book, size, bids, limits)]
    while len(spent) < limits.epochs and time.perf_counter() < until:
        spent.append(refresh(db, book, size, bids, limits))
    return statistics.median(spent)


def check(db: viewlet.Database, query: str, limits: Limits) -> bool:
    """Stop here if the view is wrong; whether Spark SQL could tell in time."""
    try:
        with within(limits.seconds, db._warehouse.session.sparkContext.cancelAllJobs):
            bad = db.check(query)
    except TooLong:
        say(f"{query}: not checked, Spark SQL takes longer than {limits.seconds} s")
        return False
    assert bad.num_rows == 0, f"{query} is wrong: {bad.slice(0, 5).to_pylist()}"
    return True


def recompute_with_spark(spark: Any, directory: Path, query: str, limits: Limits) -> Measured:
    """Spark SQL over Parquet files, into a no-op sink."""
    for name in ("bids", "asks"):
        spark.read.parquet(str(directory / f"{name}.parquet")).createOrReplaceTempView(name)
    text, stop = QUERIES[query], spark.sparkContext.cancelAllJobs
    return recompute(lambda: spark.sql(text).write.format("noop").mode("overwrite").save(), stop, limits)


def recompute_with_duckdb(directory: Path, query: str, limits: Limits) -> Measured:
    """DuckDB over its own tables, in memory, on two threads."""
    with duckdb.connect() as con:
        con.execute(f"SET threads = 2; SET memory_limit = '{limits.gigabytes}GB'; SET max_temp_directory_size = '0GB'")
        for name in ("bids", "asks"):
            con.execute(f"CREATE TABLE {name} AS SELECT * FROM '{directory / name}.parquet'")
        text = QUERIES[query].replace(*FOR_DUCKDB.get(query, ("", "")))
        return recompute(lambda: con.execute(text).fetchall(), con.interrupt, limits)


def recompute(work: Callable[[], Any], stop: Callable[[], None], limits: Limits) -> Measured:
    """The median of three runs after one that does not count; just that one, where it takes long itself."""
    started = time.perf_counter()
    try:
        with within(limits.seconds, stop):
            work()
    except (TooLong, duckdb.OutOfMemoryException) as error:
        return stopped(error, limits)
    first = (time.perf_counter() - started) * 1e3
    ms = first if first > limits.seconds * 1e3 / 10 else timed(work, 3)
    return Measured(dict.fromkeys(EPOCHS, ms))


def measure(spark: Any, live: int, query: str, limits: Limits) -> dict[str, Measured]:
    """All ways to have one view fresh over one book."""
    found = {}
    for way in WAYS:
        found[way] = maintain(spark, live, query, way, limits)
    with tempfile.TemporaryDirectory() as directory:
        for name, rows in zip(("bids", "asks"), Book(live).initial(), strict=True):
            pq.write_table(rows, Path(directory) / f"{name}.parquet")
        found["Spark SQL"] = recompute_with_spark(spark, Path(directory), query, limits)
        found["DuckDB"] = recompute_with_duckdb(Path(directory), query, limits)
    one = EPOCHS[0]
    say(f"{query}, {live:,} orders: " + ", ".join(f"{way} {m.rate(one)}" for way, m in found.items()) + " refreshes/s")
    return found


HEADINGS = [
    "query",
    "messages an epoch",
    "durable epoch ms",
    *("higher-order refreshes/s", "messages/s"),
    *("first-order refreshes/s", "messages/s"),
    *("Spark SQL refreshes/s", "DuckDB refreshes/s"),
    *("higher-order vs first-order", "vs Spark SQL", "vs DuckDB"),
]


def lines(query: str, found: dict[str, Measured]) -> list[list[str]]:
    """One line of the table for each size of epoch."""
    ours, first, spark, duck = found.values()
    return [
        [
            query.upper(),
            f"{size:,}",
            f"{ours.ms[size]:.2f}" if size in ours.ms else ours.why,
            *(ours.rate(size), ours.rate(size, size)),
            *(first.rate(size), first.rate(size, size)),
            *(spark.rate(size), duck.rate(size)),
            *(ours.beside(other, size) for other in (first, spark, duck)),
        ]
        for size in EPOCHS
    ]


def compared(results: dict[int, dict[str, dict[str, Measured]]]) -> list[list[str]]:
    """The thesis' ratios beside ours, for epochs of one message."""
    one = EPOCHS[0]
    heads = ["query", "thesis: re-evaluation", "first-order", "higher-order", "higher-order : re-evaluation"]
    heads += [f"{live:,} orders, vs {other}" for live in results for other in ("Spark SQL", "DuckDB")]
    rows = [heads]
    for query in next(iter(results.values())):
        again, first, higher = THESIS[query]
        ours = [
            found[query]["higher-order"].beside(found[query][other], one)
            for found in results.values()
            for other in ("Spark SQL", "DuckDB")
        ]
        rows.append([query.upper(), *map(figure, (again, first, higher)), f"{figure(higher / again)}×", *ours])
    return rows


def table(rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], ["---:"] * len(rows[0]), *rows[1:]))


INTRODUCTION = """# The order book

Six queries over the bids and asks of an order book, as they stand in the thesis (M. Nikolic, *Efficient Incremental Data Analysis*, EPFL 2016, appendix A.1.2), in Spark SQL. The book is synthetic ([workloads/orderbook](../workloads/orderbook/generator.py)): orders are placed, executed in part or whole, or cancelled, and the book keeps about its size. A message is one such event, on a table that the query reads; an epoch of some messages is checked, refreshed and synced, and *durable epoch* is all of it, the median of up to {epochs} epochs. One view at a time, in process.

*Higher-order* is standard Viewlet; *first-order* is Viewlet with recursion off. For comparison, the same view is recomputed from the same orders, in the same run on two cores: by Spark SQL (Parquet files, into a no-op sink) and by DuckDB (its own tables, in memory). Whatever was not done within {seconds} s, or within {gigabytes} GB, was stopped; so was filling a view after {building} s. `python -m benchmarks.orderbook` generates this page.
"""
COMPARISON = """## Compared with the thesis

Figure 4.3 of the thesis gives refreshes a second for single-tuple updates, by C++ programs that DBToaster generated, in memory, over a trace of one day; its re-evaluation is such a program too. The ratios of higher-order maintenance to re-evaluation can be compared, the rates cannot. Ours are for epochs of one message, durable.
"""


def page(results: dict[int, dict[str, dict[str, Measured]]], limits: Limits) -> str:
    parts = [INTRODUCTION.format(**vars(limits))]
    for live, queries in results.items():
        rows = [line for query, found in queries.items() for line in lines(query, found)]
        parts.append(f"## {live:,} live orders\n\n{table([HEADINGS, *rows])}\n\n{checks(queries)}\n")
    return "\n".join([*parts, COMPARISON, table(compared(results)), ""])


def checks(queries: dict[str, dict[str, Measured]]) -> str:
    """Which of the maintained views were compared with Spark SQL, and which were not."""
    kept = [(f"{query.upper()} ({way})", found[way]) for query, found in queries.items() for way in WAYS]
    done = [name for name, measured in kept if measured.is_checked]
    left = [name for name, measured in kept if measured.ms and not measured.is_checked]
    text = f"Equal to Spark SQL after their last epoch: {', '.join(done) or 'none'}."
    return text + (f" Not compared, as Spark SQL took too long: {', '.join(left)}." if left else "")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a book of 2,000 orders, and less time for everything")
    parser.add_argument("--books", default="10000,100000", help="live orders")
    parser.add_argument("--queries", default=",".join(QUERIES))
    parser.add_argument("--limit", type=int, default=60, help="seconds that anything may take")
    parser.add_argument("--memory", type=int, default=6, help="gigabytes that anything may take")
    parser.add_argument("--out", type=Path, help="docs/orderbook.md, unless it is quick")
    arguments = parser.parse_args(argv)
    seconds, epochs = (10, 5) if arguments.quick else (arguments.limit, 30)
    limits = Limits(seconds, 5 * seconds, arguments.memory, epochs)
    books = [2_000] if arguments.quick else [int(live) for live in arguments.books.split(",")]
    signal.signal(signal.SIGALRM, raise_too_long)
    spark = start_spark()
    queries = arguments.queries.split(",")
    results = {live: {query: measure(spark, live, query, limits) for query in queries} for live in books}
    text = page(results, limits)
    print(text)
    out = arguments.out or (None if arguments.quick else Path("docs") / "orderbook.md")
    if out:
        out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
