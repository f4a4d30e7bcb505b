"""Whatever a public call is given, it works or raises an error of Viewlet's own tree, and the warehouse stays as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import viewlet
from viewlet import Database, RejectedEpoch, SparkMissing, SqlError, ViewletError, WrongArgument


@dataclass
class Order:
    id: int
    s: str


HUGE = 10**5000
WRONG: tuple[Any, ...] = (None, 0, 1.5, "", "no such thing", b"x", [], {}, (), object(), [None], [[]], HUGE, float("nan"), True, Order, Order(1, "a"), len, pd.Series([1]))  # fmt: skip
"""Things that are hardly ever right. Where one is, the call says so by returning."""

Call = Callable[[Database, Any], Any]
CALLS: dict[str, Call] = {
    "sql": lambda db, v: db.sql(v),
    "table": lambda db, v: db.table(v),
    "insert into": lambda db, v: db.insert(v, [(2, "b")]),
    "insert": lambda db, v: db.insert("t", v),
    "insert a row": lambda db, v: db.insert("t", [v]),
    "insert a value": lambda db, v: db.insert("t", [(v, "x")]),
    "insert a map": lambda db, v: db.insert("m", [(v, None, None)]),
    "insert a date": lambda db, v: db.insert("m", [(None, v, None)]),
    "insert a decimal": lambda db, v: db.insert("m", [(None, None, v)]),
    "delete": lambda db, v: db.delete("t", v),
    "delete a row": lambda db, v: db.delete("t", [v]),
    "upsert": lambda db, v: db.upsert("t", v),
    "create_table": lambda db, v: db.create_table(v, "a INT"),
    "create_table schema": lambda db, v: db.create_table("new", v),
    "create_table key": lambda db, v: db.create_table("new", "a INT", primary_key=v),
    "create_table watermark": lambda db, v: db.create_table("new", "a INT, at TIMESTAMP", watermark=v),
    "create_table watermark column": lambda db, v: db.create_table("new", "at TIMESTAMP", watermark=(v, "1 minute")),
    "create_table watermark delay": lambda db, v: db.create_table("new", "at TIMESTAMP", watermark=("at", v)),
    "create_table rows": lambda db, v: db.create_table("new", "a INT", rows=v),
    "create_table defaults": lambda db, v: db.create_table("new", "a INT", defaults=v),
    "create_table constraints": lambda db, v: db.create_table("new", "a INT", constraints=v),
    "add_columns to": lambda db, v: db.add_columns(v, "z INT"),
    "add_columns": lambda db, v: db.add_columns("t", v),
    "drop_columns": lambda db, v: db.drop_columns("t", v),
    "rename_column": lambda db, v: db.rename_column("t", v, "u"),
    "rename_column to": lambda db, v: db.rename_column("t", "s", v),
    "rename": lambda db, v: db.rename(v, "u"),
    "rename to": lambda db, v: db.rename("t", v),
    "create_view": lambda db, v: db.create_view(v, None),
    "explain": lambda db, v: db.explain(v),
    "rebuild": lambda db, v: db.rebuild(v),
    "drop": lambda db, v: db.drop(v),
    "history": lambda db, v: db.history(v),
    "changes": lambda db, v: db.table("t").changes(v),
    "check": lambda db, v: None if v is None else db.check(v),
    "path": lambda db, v: viewlet.connect(v, read_only=True),
    "spark": lambda db, v: viewlet.connect(db.path.parent / "other", spark=v).close(),
    "engine": lambda db, v: viewlet.connect(db.path.parent / "other", engine=v).close(),
    "durability": lambda db, v: viewlet.connect(db.path.parent / "other", durability=v).close(),
}


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with viewlet.connect(tmp_path / "w") as opened:
        opened.sql("CREATE TABLE t (id BIGINT, s STRING, PRIMARY KEY (id))")
        opened.sql("CREATE TABLE m (k MAP<STRING, INT>, d DATE, x DECIMAL(5,2))")
        opened.insert("t", [(1, "a")])
        yield opened


@pytest.mark.parametrize("name", CALLS)
def test_wrong_things_are_refused(db: Database, name: str) -> None:
    for value in WRONG:
        before, message = db._warehouse.store.epoch, ""
        try:
            CALLS[name](db, value)
        except ViewletError as error:
            message = str(error)
            assert db._warehouse.store.epoch == before
        assert not message or 10 < len(message) < 500, message
        assert any("id" in db.table(there).columns for there in db.tables)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda db: db.sql(None), r"^the statement is None, a NoneType \(hint: pass a string\)$"),
        (lambda db: db.create_view("v", None), r"^the definition of view v is None, .*pass SQL text, or a PySpark DataFrame"),
        (lambda db: db.create_view("v", 7), r"^the definition of view v is 7"),
        (lambda db: db.table(None), r"^the name of a table or view is None"),
        (lambda db: db.drop_columns("t", 5), r"^the columns to drop is 5, .*a string or a list of strings"),
        (lambda db: viewlet.connect(None), r"^the path of a warehouse is None"),  # type: ignore[arg-type]
        (lambda db: viewlet.connect(db.path.parent / "x", spark="local"), r"^spark is 'local', a str \(hint: pass a SparkSession"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_what_the_refusal_says(db: Database, call: Callable[[Database], Any], message: str) -> None:
    with pytest.raises(WrongArgument, match=message):
        call(db)
    assert not (db.path.parent / "x").exists()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (pd.DataFrame({"id": [1, "x"], "s": ["a", "b"]}), r"table t, row 2, column id: 'x' is a str, not bigint"),
        (pd.DataFrame([[1, 2, "a"]], columns=["id", "id", "s"]), r"table t: column 'id' is given twice .*name each column once"),
        (pa.table([[1], ["a"], ["b"]], names=["id", "s", "s"]), r"table t: column 's' is given twice"),
        (pd.Series([1, 2]), r"table t, row 1: 1, an int, is no row"),
        ([5], r"table t, row 1: 5, an int, is no row .*a list of dicts or tuples"),
        (Order(1, "a"), r"table t: Order\(id=1, s='a'\), an Order, holds no rows .*put a single row into a list"),
        ({"id": 1, "s": "a"}, r"a dict, holds no rows .*put a single row into a list"),
        ([(HUGE, "a")], r"table t, row 1, column id: an int of very many digits is out of the range of bigint"),
    ],
)  # fmt: skip
def test_rows_that_are_none(db: Database, rows: Any, message: str) -> None:
    with pytest.raises(RejectedEpoch, match=message):
        db.insert("t", rows)


def test_dates_that_are_none(db: Database) -> None:
    with pytest.raises(RejectedEpoch, match=r"row 1, column d: .*12000.* out of the range .*years 1 to 9999"):
        db.insert("m", [(None, np.datetime64("12000-01-01"), None)])


def test_what_pandas_gives_goes_back(db: Database) -> None:
    db.insert("m", [({"b": 1, "a": None}, None, "1.50")])
    db.insert("m", db.table("m").pandas())
    assert [row[0] for row in db.table("m").rows()] == [{"b": 1, "a": None}] * 2


@pytest.mark.spark
def test_a_stream_is_no_table(db: Database, spark: Any) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(RejectedEpoch, match=r"table t: a streaming DataFrame has no end .*foreachBatch"):
        db.insert("t", stream)


@pytest.mark.spark
def test_a_session_that_was_stopped(tmp_path: Path, spark: Any) -> None:
    """The session looks stopped to the warehouse; the one of the other tests goes on."""

    class Stopped(type(spark)):  # type: ignore[misc]
        sparkContext = type("Context", (), {"_jsc": None, "defaultParallelism": property(lambda self: 1 / 0)})()

    gone = object.__new__(Stopped)
    with Database(tmp_path / "w", spark=gone) as db:
        db.sql("CREATE TABLE t (id BIGINT)")
        assert db.insert("t", [(1,)])
        with pytest.raises(SparkMissing, match=r"the Spark session was stopped .*connect again"):
            db.create_view("v", "SELECT id FROM t")


def test_a_table_with_two_primary_keys(db: Database) -> None:
    with pytest.raises(SqlError, match="table new: two primary keys, id and k"):
        db.create_table("new", "id INT, k INT, PRIMARY KEY (id)", primary_key="k")
    assert "new" not in db.tables
