"""TPC-DS: its queries stay equal to what Spark SQL returns, while every table that they read changes."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from workloads.tpcds import QUERIES, SCHEMA, TABLES
from workloads.tpcds.changes import Shop
from workloads.tpcds.data import SCHEMAS, tables

from tests.marks import quickly, some
from viewlet import Database
from viewlet.engine.choose import EngineName

SHARDS = 5
THESIS = [f"q{number:02d}" for number in (3, 7, 19, 27, 34, 42, 43, 46, 52, 55, 68, 73, 79)]
LATER = {"q12", "q26", "q42", "q48", "q52", "q55", "q59", "q63", "q68", "q73", "q82", "q89", "q99"}
"""Queries for the slow tests alone: q59 takes as long as five others, and each of the rest is built like another one."""
SOME = ["q03", "q98"]
"""A star with LIMIT and a window over sums, for the engine whose epochs take seconds."""


def create(names: list[str], path: Path, spark: Any, engine: EngineName) -> Shop:
    """A filled warehouse with some of the queries as views."""
    shop = Shop()
    with Database(path, spark=spark, engine=engine) as db:
        for text in SCHEMA:
            db.sql(text)
        with db.epoch() as epoch:
            for table, rows in shop.fill().items():
                epoch.insert(table, rows)
        for name in names:
            db.create_view(name, QUERIES[name])
    return shop


def change(
    shop: Shop, names: list[str], path: Path, spark: Any, engine: EngineName, epochs: int, every: int = 1
) -> None:
    """Every view is right after every so many epochs, and says something at some time."""
    with Database(path, spark=spark, engine=engine) as db:
        speaking = {name for name in names if says_something(db, name)}
        for number in range(1, epochs + 1):
            with db.epoch() as epoch:
                for change in shop.epoch():
                    getattr(epoch, change.action)(change.table, change.rows)
            assert db.history()[-1]["engine"] == engine
            speaking |= {name for name in names if says_something(db, name)}
            assert number % every or not {name: wrong for name in names if (wrong := db.check(name).to_pylist())}
    assert speaking == set(names)


def says_something(db: Database, name: str) -> bool:
    """Whether a view has a row of more than NULL and zero, which is all that a total of nothing has."""
    return any(value not in (None, 0) for row in db.table(name).rows() for value in row)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("shard", quickly(1, range(SHARDS)))
def test_views_stay_right(shard: int, spark: Any, tmp_path: Path) -> None:
    names = some(3, [name for name in QUERIES if name not in LATER][shard::SHARDS])
    change(create(names, tmp_path, spark, "inproc"), names, tmp_path, spark, "inproc", epochs=2, every=2)


@pytest.mark.slow
@pytest.mark.spark
def test_some_views_stay_right_on_spark(spark: Any, tmp_path: Path) -> None:
    change(create(SOME, tmp_path, spark, "inproc"), SOME, tmp_path, spark, "spark", epochs=1)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(("engine", "epochs"), [("inproc", 5), ("spark", 1)])
@pytest.mark.parametrize("shard", range(SHARDS))
def test_all_views_stay_right(shard: int, engine: EngineName, epochs: int, spark: Any, tmp_path: Path) -> None:
    names = list(QUERIES)[shard::SHARDS]
    change(create(names, tmp_path, spark, engine), names, tmp_path, spark, engine, epochs)


def test_the_queries_of_the_thesis_are_there() -> None:
    assert set(THESIS) <= QUERIES.keys()
    assert len(QUERIES) >= 20


def test_the_official_data_are_as_declared(tmp_path: Path) -> None:
    names = ["store", "promotion", "reason"]
    made = tables(0.01, tmp_path, names)
    assert {name: rows.schema for name, rows in made.items()} == {name: SCHEMAS[name] for name in names}
    assert all(rows.num_rows for rows in made.values())
    assert tables(0.01, tmp_path, ["reason"])["reason"] == made["reason"], "generated once"


@pytest.mark.slow
@pytest.mark.spark
def test_all_views_stay_right_over_the_official_data(spark: Any, tmp_path: Path) -> None:
    """All but q12: at this scale the web sold one thing of a class, for nothing, and Spark refuses to divide by that."""
    filled = tables(0.01, tmp_path / "data")
    moving = {name: sample(rows) for name, rows in filled.items()}
    with Database(tmp_path / "warehouse", spark=spark, engine="inproc") as db:
        for text in SCHEMA:
            db.sql(text)
        with db.epoch() as epoch:
            for name, rows in filled.items():
                epoch.insert(name, rows)
        for name in sorted(QUERIES.keys() - {"q12"}):
            db.create_view(name, QUERIES[name])
        for action in ("delete", "insert"):
            with db.epoch() as epoch:
                for name, rows in moving.items():
                    getattr(epoch, action)(name, rows)
            assert db.check().num_rows == 0


def sample(rows: pa.Table) -> pa.Table:
    """A tenth of the rows, at random, and no more than a thousand."""
    return rows.take(Random(1).sample(range(rows.num_rows), min(rows.num_rows // 10 + 1, 1_000)))


def test_every_table_is_read_and_changes() -> None:
    assert set(re.findall(r"\w+", " ".join(QUERIES.values()))) >= TABLES.keys()
    shop = Shop()
    assert all(rows.num_rows for rows in shop.fill().values())
    changed = {(change.table, change.action) for change in shop.epoch() if change.rows.num_rows}
    assert changed >= {(table, action) for table in TABLES for action in ("delete", "upsert")}
    assert {table for table, action in changed if action == "insert"} >= {"store_sales", "catalog_sales", "inventory"}


def test_the_same_seed_gives_the_same_rows() -> None:
    assert Shop(3).epoch() == Shop(3).epoch()
    assert Shop(3).epoch() != Shop(4).epoch()
