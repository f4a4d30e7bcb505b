"""The order book: its six views stay equal to Spark SQL while messages come in, and the book is what it says."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from workloads.orderbook import QUERIES, TABLES
from workloads.orderbook.generator import Book, Changes

import viewlet
from tests.marks import quickly, rounds

PRICED = ("price", "volume")
MANY = Decimal(99_999_999)
"""The most that eight digits hold."""
NUMBERS: dict[str, list[Any]] = {
    "DECIMAL(8, 0)": [Decimal(250_000), MANY, -MANY, Decimal(-300), Decimal(0), None],
    "DOUBLE": [
        *(250_000.0, 0.1, -7.25, 0.0, -0.0, 1e300, -1e300, 5e-324, 1e-200, 1e200, None),
        *(math.inf, -math.inf, math.nan),
    ],
}
"""The values that prices and volumes may have, by the type of their columns."""
ODD: list[tuple[str, Any]] = [
    ("price", None),
    ("volume", None),
    ("broker_id", None),
    ("t", None),
    ("t", 7),
    *((column, "number") for column in ("price", "volume", "price", "volume", "price", "volume")),
]


def with_odd_values(rows: pa.Table, rng: np.random.Generator, kind: str) -> pa.Table:
    """The rows, about a fourth of them with a NULL, an extreme, or a value that others have too."""
    schema = pa.schema(
        [(f.name, pa.float64() if kind == "DOUBLE" and f.name in PRICED else f.type) for f in rows.schema]
    )
    listed = rows.cast(schema).to_pylist()
    for row in listed:
        if rng.random() < 0.25:
            column, value = ODD[rng.integers(len(ODD))]
            row[column] = NUMBERS[kind][rng.integers(len(NUMBERS[kind]))] if value == "number" else value
    return pa.Table.from_pylist(listed, schema=schema)


class OddBook:
    """A warehouse with views over a small book in which some values are odd; checked after every step."""

    def __init__(self, path: Path, spark: Any, seed: int, kind: str = "DECIMAL(8, 0)") -> None:
        self.rng, self.kind = np.random.default_rng(seed), kind
        self.book = Book(60, seed)
        self.db = viewlet.connect(path / "w", spark=spark, engine="inproc")
        for statement in TABLES:
            self.db.sql(statement.replace("DECIMAL(8, 0)", kind))

    def create_views(self, names: Iterable[str] = QUERIES) -> None:
        for name in names:
            self.db.create_view(name, QUERIES[name])
        self.check()

    def fill(self) -> None:
        with self.db.epoch() as e:
            for table, rows in zip(("bids", "asks"), self.book.initial(), strict=True):
                e.insert(table, with_odd_values(rows, self.rng, self.kind))
        self.check()

    def receive(self, count: int) -> None:
        with self.db.epoch() as e:
            for table, new in self.book.messages(count).items():
                insert, upsert = (with_odd_values(rows, self.rng, self.kind) for rows in (new.insert, new.upsert))
                Changes(insert, upsert, new.delete).apply(e, table)
        self.check()

    def empty(self, table: str) -> None:
        self.db.delete(table, self.db.table(table).arrow())
        self.check()

    def check(self) -> None:
        if self.db._warehouse.catalog.views:
            assert self.db.check().to_pylist() == []

    def answered(self) -> set[str]:
        """The views that say something at present."""
        return {
            name
            for name in self.db._warehouse.catalog.views
            if any(row[-1] is not None for row in self.db.table(name).rows())
        }


@pytest.mark.spark
@pytest.mark.parametrize("kind", quickly(1, reversed(NUMBERS)))
def test_views_follow_the_messages(tmp_path: Path, spark: Any, kind: str) -> None:
    odd = OddBook(tmp_path, spark, seed=1, kind=kind)
    odd.fill()
    odd.create_views()
    answered = odd.answered()
    for count in (1, 3, 8, 15, 40)[:: rounds(2, 1)]:
        odd.receive(count)
        answered |= odd.answered()
    assert answered == set(QUERIES)
    odd.empty("asks")
    odd.empty("bids")
    assert odd.answered() == set()
    odd.fill()


@pytest.mark.spark
@pytest.mark.parametrize("kind", quickly(1, NUMBERS))
@pytest.mark.parametrize("views", [["axf"], pytest.param(list(QUERIES), marks=pytest.mark.slow)], ids=["axf", "all"])
def test_views_follow_the_messages_on_spark(tmp_path: Path, spark: Any, views: list[str], kind: str) -> None:
    odd = OddBook(tmp_path, spark, seed=2, kind=kind)
    odd.fill()
    odd.create_views(views)
    odd.db.engine = "spark"
    odd.receive(20)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("kind", list(NUMBERS))
@pytest.mark.parametrize("seed", [3, 4, 5])
def test_views_follow_a_book_from_its_opening(tmp_path: Path, spark: Any, seed: int, kind: str) -> None:
    odd = OddBook(tmp_path, spark, seed, kind)
    odd.create_views()
    odd.fill()
    for _ in range(10):
        odd.receive(int(odd.rng.integers(1, 40)))


def test_the_same_seed_gives_the_same_book() -> None:
    one, two, other = Book(200, 5), Book(200, 5), Book(200, 6)
    assert one.initial() == two.initial()
    assert [one.messages(50) for _ in range(5)] == [two.messages(50) for _ in range(5)]
    assert other.initial() != one.initial()


def test_the_book_stays_near_its_size() -> None:
    book = Book(1_000, 7)
    assert [side.num_rows for side in book.initial()] == [500, 500]
    for _ in range(100):
        book.messages(100)
    assert all(400 < side.num_rows < 600 for side in book.initial())


def test_messages_are_the_difference_between_books() -> None:
    book = Book(300, 8)
    before = dict(zip(("bids", "asks"), map(by_id, book.initial()), strict=True))
    for count in (1, 10, 200):
        for table, new in book.messages(count).items():
            held = before[table]
            assert not held.keys() & by_id(new.insert).keys()
            assert all(0 < row["volume"] < held[key]["volume"] for key, row in by_id(new.upsert).items())
            held |= by_id(new.insert) | by_id(new.upsert)
            for key in new.delete["id"].to_pylist():
                del held[key]
        assert before == dict(zip(("bids", "asks"), map(by_id, book.initial()), strict=True))


def test_orders_are_plausible() -> None:
    bids, asks = Book(10_000, 9).initial()
    assert pc.max(bids["price"]).as_py() < pc.min(asks["price"]).as_py()
    counts = np.bincount(bids["broker_id"].to_numpy())
    assert len(counts) == 10
    assert counts[0] > 2 * counts[5] > 2 * counts[9] > 0
    assert pc.min(bids["volume"]).as_py() >= 1


def by_id(rows: pa.Table) -> dict[int, dict[str, Any]]:
    return {row["id"]: row for row in rows.to_pylist()}
