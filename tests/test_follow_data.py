"""Programs follow the data: views made on empty tables get the maps of those made on full ones, and nobody notices."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import viewlet
from viewlet.errors import StoreError
from viewlet.views import follow_data

QUERY = """SELECT sum(a.price - b.price) AS spread FROM bids b, asks a
WHERE b.volume > 0.001 * (SELECT sum(volume) FROM bids) AND a.volume > 0.001 * (SELECT sum(volume) FROM asks)"""
SIDES = ("bids", "asks")
COUNT = 400


def connected(path: Path, spark: Any) -> viewlet.Database:
    db = viewlet.connect(path / "w", spark=spark, engine="inproc")
    for side in SIDES:
        db.sql(f"CREATE TABLE {side} (id BIGINT, price DECIMAL(8,0), volume DECIMAL(8,0), PRIMARY KEY (id))")
    return db


@pytest.fixture
def db(tmp_path: Path, spark: Any) -> Iterator[viewlet.Database]:
    with connected(tmp_path, spark) as db:
        yield db


def made(rng: np.random.Generator, ids: Iterable[int]) -> list[tuple[int, int, int]]:
    return [(i, int(rng.integers(1_000)), int(rng.integers(100))) for i in ids]


def fill(db: viewlet.Database, rng: np.random.Generator) -> None:
    with db.epoch() as e:
        for side in SIDES:
            e.insert(side, made(rng, range(COUNT)))


def change(db: viewlet.Database, rng: np.random.Generator) -> None:
    with db.epoch() as e:
        for side in SIDES:
            e.upsert(side, made(rng, {int(i) for i in rng.integers(COUNT, size=5)}))


def expected(db: viewlet.Database) -> Counter[tuple[Any, ...]]:
    """The query by hand."""
    prices = []
    for side in SIDES:
        rows = db.table(side).rows()
        least = sum(volume for _, _, volume in rows) / Decimal(1_000)
        prices.append([price for _, price, volume in rows if volume > least])
    bids, asks = prices
    return Counter([(len(bids) * sum(asks) - len(asks) * sum(bids),)])


def maps_of(db: viewlet.Database) -> set[str]:
    view: Any = db._warehouse.catalog.views["v"]
    return {step.map.meaning for step in view.program.steps}


@pytest.mark.spark
def test_a_view_made_on_empty_tables_gets_the_program_of_one_made_on_full_ones(
    db: viewlet.Database, tmp_path: Path, spark: Any
) -> None:
    rng = np.random.default_rng(1)
    db.create_view("v", QUERY)
    first = maps_of(db)
    fill(db, rng)
    reader = viewlet.connect(tmp_path / "w", spark=spark, read_only=True)
    since = db.table("v").epoch
    numbers, explained = [db._warehouse.store.epoch], [db.explain("v")]
    for _ in range(20):
        change(db, rng)
        numbers.append(db._warehouse.store.epoch)
        explained.append(db.explain("v"))
        assert Counter(db.table("v").rows()) == expected(db)
    assert maps_of(db) != first
    with connected(tmp_path / "full", spark) as full:
        fill(full, rng)
        full.create_view("v", QUERY)
        assert maps_of(db) == maps_of(full)
    assert numbers == list(range(numbers[0], numbers[0] + 21)), "putting a program in place took an epoch"
    assert "weighed again" not in explained[0]
    assert re.search(r"considered again after epoch 8: bids has \d+ rows, and had 0", explained[8])
    _check_feed(reader, db, since)
    _check_reopened(db, tmp_path, spark)


def _check_feed(reader: viewlet.Database, db: viewlet.Database, since: int) -> None:
    """What a reader saw then, and the changes since, are what is there now."""
    rows = Counter(reader.table("v").rows())
    reader.refresh()
    for row in reader.table("v").changes(since=since).to_pylist():
        sign = 1 if row["_change_type"] == "insert" else -1
        rows[(row["spread"],)] += sign
    reader.close()
    assert +rows == expected(db)


def _check_reopened(db: viewlet.Database, tmp_path: Path, spark: Any) -> None:
    kept = maps_of(db)
    db.close()
    with viewlet.connect(tmp_path / "w", spark=spark, engine="inproc") as again:
        assert maps_of(again) == kept
        assert Counter(again.table("v").rows()) == expected(again)
        assert not again.verify()
        bags = {name for name in again._warehouse.store.state.bags if name.startswith("v.")}
        assert bags <= set(again._warehouse.catalog.bags()), "maps of the old program are still there"


@pytest.mark.spark
@pytest.mark.slow
def test_a_switch_that_fails_leaves_everything_as_it_was(db: viewlet.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any) -> Any:
        raise StoreError("no room on the disk")

    rng = np.random.default_rng(2)
    db.create_view("v", QUERY)
    first = maps_of(db)
    fill(db, rng)
    monkeypatch.setattr(follow_data, "made_anew", failing)
    for _ in range(20):
        change(db, rng)
        assert Counter(db.table("v").rows()) == expected(db)
    assert maps_of(db) == first
