"""The order book with DOUBLE columns, and with views that are made before there are rows, beside DECIMAL ones made after.

    python -m benchmarks.orderbook_doubles [--live 100000] [--queries axf,bsp] [--out docs/orderbook.md]

The section of the page is put in the place of the one that is there.
"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from workloads.orderbook import QUERIES, TABLES
from workloads.orderbook.generator import Book, Changes

import viewlet
from benchmarks.measure import grid, say, timed
from viewlet.spark.session.session import start_spark

Way = tuple[str, str]
EPOCHS = (1, 10, 100)
WARM_UP, TIMES = 8, 25
DECIMAL = "DECIMAL(8, 0)"
WAYS = [(kind, order) for kind in ("DECIMAL", "DOUBLE") for order in ("after the rows", "on empty tables")]
PART = "## DOUBLE columns, and views made on empty tables"


def typed(rows: pa.Table, kind: str) -> pa.Table:
    """The rows with prices and volumes of a type."""
    if kind == "DECIMAL":
        return rows
    fields = [(f.name, pa.float64() if pa.types.is_decimal(f.type) else f.type) for f in rows.schema]
    return rows.cast(pa.schema(fields))


def in_type(new: Changes, kind: str) -> Changes:
    return replace(new, insert=typed(new.insert, kind), upsert=typed(new.upsert, kind))


def opened(folder: Path, spark: Any, query: str, way: Way, book: Book) -> viewlet.Database:
    """A warehouse with the query as its view, made before or after the first rows."""
    kind, order = way
    db = viewlet.connect(folder, spark=spark, engine="inproc")
    for statement in TABLES:
        db.sql(statement.replace(DECIMAL, DECIMAL if kind == "DECIMAL" else "DOUBLE"))
    steps = [partial(fill, db, book, kind), partial(db.create_view, query, QUERIES[query])]
    for step in steps if order == "after the rows" else reversed(steps):
        step()
    return db


def fill(db: viewlet.Database, book: Book, kind: str) -> None:
    with db.epoch() as epoch:
        for table, rows in zip(("bids", "asks"), book.initial(), strict=True):
            epoch.insert(table, typed(rows, kind))


def refresh(db: viewlet.Database, given: Mapping[str, Changes]) -> None:
    with db.epoch() as epoch:
        for table, new in given.items():
            new.apply(epoch, table)


def maintain(spark: Any, live: int, query: str) -> dict[int, dict[Way, float]]:
    """The median milliseconds of a durable epoch, by its size: each way takes its turn with the same messages.

    Epochs before the first that counts let programs follow the data.
    """
    book = Book(live)
    with tempfile.TemporaryDirectory() as directory:
        ways = {way: opened(Path(directory) / " ".join(way), spark, query, way, book) for way in WAYS}
        for size in EPOCHS * WARM_UP:
            turn(ways, book, size, query)
        found = {size: [turn(ways, book, size, query) for _ in range(TIMES)] for size in EPOCHS}
        for db in ways.values():
            db.close()
    medians = {size: {way: statistics.median(t[way] for t in turns) for way in WAYS} for size, turns in found.items()}
    say(f"{query}: {medians}")
    return medians


def turn(ways: Mapping[Way, viewlet.Database], book: Book, size: int, query: str) -> dict[Way, float]:
    """What the next messages take in each way, all of them about tables that the query reads."""
    messages = book.messages(size, 0.5 if "asks" in QUERIES[query] else 1.0)
    given = {kind: {table: in_type(new, kind) for table, new in messages.items()} for kind in ("DECIMAL", "DOUBLE")}
    return {way: timed(partial(refresh, db, given[way[0]])) for way, db in ways.items()}


def section(live: int, results: dict[str, dict[int, dict[Way, float]]]) -> str:
    rows = []
    for query, found in results.items():
        for size in EPOCHS:
            ms = [found[size][way] for way in WAYS]
            rows.append([query.upper(), str(size), *(f"{m:.1f}" for m in ms), *(f"{m / ms[0]:.2f}" for m in ms[1:])])
    heads = [f"{kind}, {order}" for kind, order in WAYS]
    table = grid(["query", "messages an epoch", *heads, *(f"{head} ÷ {heads[0]}" for head in heads[1:])], rows)
    return (
        f"{PART}\n\n{live:,} live orders; milliseconds of a durable epoch, medians of {TIMES}, with prices and volumes of "
        "either type, and the view made after the rows came or before; the four take turns with the same messages. Sums over products of doubles are sums of their "
        "factors, as those of decimals are, and a difference of doubles beside a constant is a range. "
        f"`python -m benchmarks.orderbook_doubles` makes this part.\n\n{table}\n"
    )


def put(page: Path, text: str) -> None:
    """A section in the place of the one with its heading, or at the end."""
    old = page.read_text(encoding="utf-8")
    there = re.compile(re.escape(PART) + r".*?(?=\n## |\Z)", re.DOTALL)
    page.write_text(there.sub(lambda _: text.rstrip("\n"), old) if PART in old else f"{old}\n{text}", encoding="utf-8")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--live", type=int, default=100_000, help="live orders")
    parser.add_argument("--queries", default=",".join(QUERIES))
    parser.add_argument("--out", type=Path, help="a page to put the section in")
    given = parser.parse_args(argv)
    spark = start_spark()
    queries = given.queries.split(",")
    results = {query: maintain(spark, given.live, query) for query in queries}
    text = section(given.live, results)
    print(text)
    if given.out:
        put(given.out, text)


if __name__ == "__main__":
    main()
