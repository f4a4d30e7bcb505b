"""The order book with DOUBLE columns, and with views that are made before there are rows, beside DECIMAL ones made after.

    python -m benchmarks.orderbook_doubles [--live 100000] [--queries axf,bsp] [--out docs/orderbook.md]

The section of the page is put in the place of the one that is there.
"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
from collections.abc import Iterator
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

EPOCHS = (1, 10, 100)
TIMES = 15
DECIMAL = "DECIMAL(8, 0)"
WAYS = [(kind, order) for kind in ("DECIMAL", "DOUBLE") for order in ("after the rows", "on empty tables")]
PART = "## DOUBLE columns, and views made on empty tables"


def typed(rows: pa.Table, kind: str) -> pa.Table:
    """The rows with prices and volumes of a type."""
    if kind == "DECIMAL":
        return rows
    fields = [(f.name, pa.float64() if pa.types.is_decimal(f.type) else f.type) for f in rows.schema]
    return rows.cast(pa.schema(fields))


def changes(book: Book, size: int, query: str, kind: str) -> Iterator[tuple[str, Changes]]:
    """What the next messages change, all of them about tables that the query reads."""
    for table, new in book.messages(size, 0.5 if "asks" in QUERIES[query] else 1.0).items():
        yield table, replace(new, insert=typed(new.insert, kind), upsert=typed(new.upsert, kind))


def fill(db: viewlet.Database, book: Book, kind: str) -> None:
    with db.epoch() as epoch:
        for table, rows in zip(("bids", "asks"), book.initial(), strict=True):
            epoch.insert(table, typed(rows, kind))


def refresh(db: viewlet.Database, given: list[tuple[str, Changes]]) -> None:
    with db.epoch() as epoch:
        for table, new in given:
            new.apply(epoch, table)


def maintain(spark: Any, live: int, query: str, kind: str, order: str) -> dict[int, float]:
    """The median milliseconds of a durable epoch, by its size."""
    with tempfile.TemporaryDirectory() as directory:
        db, book = viewlet.connect(Path(directory) / "warehouse", spark=spark, engine="inproc"), Book(live)
        for statement in TABLES:
            db.sql(statement.replace(DECIMAL, DECIMAL if kind == "DECIMAL" else "DOUBLE"))
        if order == "after the rows":
            fill(db, book, kind)
        db.create_view(query, QUERIES[query])
        if order != "after the rows":
            fill(db, book, kind)
        found = {}
        for size in EPOCHS:
            batches = [list(changes(book, size, query, kind)) for _ in range(TIMES + 2)]
            spent = [timed(partial(refresh, db, given)) for given in batches]
            found[size] = statistics.median(spent[2:])
        say(f"{query}, {kind}, {order}: {found}")
        db.close()
    return found


def section(live: int, results: dict[str, dict[tuple[str, str], dict[int, float]]]) -> str:
    rows = []
    for query, found in results.items():
        for size in EPOCHS:
            ms = [found[way][size] for way in WAYS]
            rows.append([query.upper(), str(size), *(f"{m:.1f}" for m in ms), *(f"{m / ms[0]:.2f}" for m in ms[1:])])
    heads = [f"{kind}, {order}" for kind, order in WAYS]
    table = grid(["query", "messages an epoch", *heads, *(f"{head} ÷ {heads[0]}" for head in heads[1:])], rows)
    return (
        f"{PART}\n\n{live:,} live orders; milliseconds of a durable epoch, medians of {TIMES}, with prices and volumes of "
        "either type, and the view made after the rows came or before. Sums over products of doubles are sums of their "
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
    results = {q: {way: maintain(spark, given.live, q, *way) for way in WAYS} for q in queries}
    text = section(given.live, results)
    print(text)
    if given.out:
        put(given.out, text)


if __name__ == "__main__":
    main()
