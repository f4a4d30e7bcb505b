"""The public surface: tables, views, epochs, reading, refusing."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import viewlet
from tests.marks import quickly
from viewlet import (
    InUse,
    NameTaken,
    RejectedEpoch,
    SqlError,
    StoreError,
    UnknownName,
    UnsupportedFunction,
    UnsupportedQuery,
    WarehouseBusy,
)
from viewlet.views.view import sql_view

pytestmark = pytest.mark.spark

ORDERS = "CREATE TABLE orders (id BIGINT, cust BIGINT, total DECIMAL(12,2), PRIMARY KEY (id))"
SPEND = "CREATE MATERIALIZED VIEW spend AS SELECT cust, sum(total) AS total FROM orders GROUP BY cust"


@pytest.fixture
def db(tmp_path: Path, spark: Any) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.sql(ORDERS)
        db.sql("CREATE TABLE events (kind STRING, n INT)")
        yield db


def filled(db: viewlet.Database) -> viewlet.Database:
    db.insert("orders", [(1, 7, Decimal("2.50")), (2, 7, Decimal("3.50")), (3, 8, Decimal("1.00"))])
    return db


def test_a_view_follows_its_table(db: viewlet.Database) -> None:
    db.sql(SPEND)
    db.create_view("big", "SELECT * FROM spend WHERE total > 5")
    filled(db)
    assert sorted(db.table("spend").rows()) == [(7, Decimal("6.00")), (8, Decimal("1.00"))]
    assert db.table("big").rows() == [(7, Decimal("6.00"))]
    db.upsert("orders", [{"id": 3, "cust": 8, "total": Decimal("10.00")}])
    db.delete("orders", [{"id": 1}])
    assert sorted(db.table("spend").rows()) == [(7, Decimal("3.50")), (8, Decimal("10.00"))]
    assert db.table("big").rows() == [(8, Decimal("10.00"))]
    assert db.check().num_rows == 0


def test_groups_that_are_gone_leave_no_state(db: viewlet.Database) -> None:
    """Products of sums are taken away in other portions than they came in."""
    db.sql("CREATE TABLE rates (cust BIGINT, rate DECIMAL(12,6))")
    text = "SELECT o.cust, sum(o.total * r.rate) AS x FROM orders o JOIN rates r ON o.cust = r.cust GROUP BY o.cust"
    db.create_view("earned", text)
    rows = [(i, i % 3, Decimal(9_999_999_999 - i * 7919) / 100) for i in range(30)]
    for i in range(0, 30, 10):
        db.insert("orders", rows[i : i + 10])
        db.insert("rates", [(i // 10, Decimal(999_999 - i) / 1_000_000), (1, Decimal("-0.5"))])
    assert db.check("earned").num_rows == 0
    with db.epoch() as e:
        e.delete("orders", rows[5:])
        e.delete("rates", db.table("rates").arrow())
    db.delete("orders", rows[:5])
    snapshot = db._warehouse.store.snapshot()
    assert {
        m.name: len(snapshot.contents(m.name).consolidated())
        for m in sql_view(db._warehouse.catalog, "earned").program.maps
    } == {m.name: 0 for m in sql_view(db._warehouse.catalog, "earned").program.maps}


def test_a_dataframe_defines_a_view(db: viewlet.Database) -> None:
    from pyspark.sql import functions as F

    filled(db)
    orders = db.spark.table("orders")
    assert orders.count() == 3
    db.create_view(
        "by_cust", orders.where("total > 1").groupBy("cust").agg(F.sum("total").alias("t"), F.max("id").alias("last"))
    )
    db.insert("orders", [(4, 8, Decimal("4.00"))])
    assert sorted(db.table("by_cust").rows()) == [(7, Decimal("6.00"), 2), (8, Decimal("4.00"), 4)]
    assert db.check("by_cust").num_rows == 0


def test_a_warehouse_opens_again_without_spark(tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.sql(ORDERS)
        db.sql(SPEND)
        filled(db)
    monkeypatch.setattr("viewlet.spark.session.session.start_spark", lambda *_: pytest.fail("Spark was started"))
    with viewlet.connect(tmp_path / "w") as db:
        db.insert("orders", [(4, 8, Decimal("4.00"))])
        assert sorted(db.table("spend").rows()) == [(7, Decimal("6.00")), (8, Decimal("5.00"))]
        assert "Sum[cust]" in db.explain("spend")


def _two_changes(db: viewlet.Database, orders: Any) -> None:
    with db.epoch() as e:
        e.insert("events", [("a", 1)])
        e.insert("orders", orders)


def test_an_epoch_is_all_or_nothing(db: viewlet.Database) -> None:
    db.sql(SPEND)
    filled(db)
    before = db.status()["epoch"]
    with pytest.raises(RejectedEpoch, match=r"table orders, row 1 \(id=2\): its key already exists"):
        _two_changes(db, [(2, 9, Decimal("1.00"))])
    with pytest.raises(RejectedEpoch, match="orders"):
        _two_changes(db, 5)
    assert db.status()["epoch"] == before
    assert db.table("events").rows() == []
    assert db.check().num_rows == 0


def test_an_error_in_a_view_rejects_the_epoch(db: viewlet.Database) -> None:
    db.sql("CREATE MATERIALIZED VIEW ratio AS SELECT kind, 10 / n AS r FROM events")
    db.insert("events", [("a", 5)])
    with pytest.raises(viewlet.EvaluationError, match=r"view ratio: .*DIVIDE_BY_ZERO"):
        db.insert("events", [("b", 0)])
    assert db.table("events").rows() == [("a", 5)]
    assert db.table("ratio").rows() == [("a", 2.0)]
    db.insert("events", [("c", 2)])
    assert db.check().num_rows == 0


REFUSED: list[tuple[str, Any, str]] = [
    ("insert", [(None, 1, Decimal("1.00"))], r"table orders, row 1, column id: NULL"),
    (
        "insert",
        [(5, 1, Decimal("1.00")), (5, 2, Decimal("1.00"))],
        r"table orders, row 2 \(id=5\): the same key as row 1",
    ),
    ("insert", [(1, 1, Decimal("1.00"))], r"row 1 \(id=1\): its key already exists"),
    ("insert", [(9, "x", Decimal("1.00"))], r"row 1, column cust"),
    ("insert", [(9, 1, Decimal("12345678901.00"))], r"row 1, column total"),
    ("insert", [{"id": 9, "total": Decimal("1.00")}], r"cust"),
    ("insert", [{"id": 9, "cust": 1, "total": Decimal("1.00"), "more": 1}], r"more"),
    ("insert", [(9, 1)], r"row 1"),
    ("delete", [{"id": 77}], r"row 1 \(id=77\): it does not exist"),
    ("delete", [(1, 7, Decimal("9.99"))], r"row 1 \(id=1\): it does not exist"),
    ("upsert", [(5, 1, Decimal("1.00")), (5, 2, Decimal("1.00"))], r"the same key as row 1"),
]


@pytest.mark.parametrize(("how", "rows", "message"), REFUSED)
def test_bad_changes_are_refused(db: viewlet.Database, how: str, rows: Any, message: str) -> None:
    filled(db)
    before = sorted(db.table("orders").rows())
    with pytest.raises(RejectedEpoch, match=message):
        getattr(db, how)("orders", rows)
    assert sorted(db.table("orders").rows()) == before


def test_deleting_what_is_not_there(db: viewlet.Database) -> None:
    db.insert("events", [("a", 1), ("a", 1), ("b", None)])
    db.delete("events", [("a", 1)])
    with pytest.raises(RejectedEpoch, match=r"table events, row 2 .*not as many times"):
        db.delete("events", [("b", None), ("a", 1), ("a", 1)])
    db.delete("events", [("b", None), ("a", 1)])
    assert db.table("events").rows() == []
    with pytest.raises(RejectedEpoch, match="upsert needs a primary key"):
        db.upsert("events", [("a", 1)])


def test_append_only_and_trusted_tables(db: viewlet.Database) -> None:
    db.sql("CREATE TABLE clicks (n INT) APPEND ONLY")
    db.sql("CREATE TABLE feed (n INT) TRUSTED")
    db.create_view("clicked", "SELECT count(*) AS n FROM clicks")
    db.insert("clicks", [(1,), (1,)])
    with pytest.raises(RejectedEpoch, match="append-only"):
        db.delete("clicks", [(1,)])
    db.insert("feed", [(1,), (2,)])
    db.delete("feed", [(1,)])
    assert db.table("clicked").rows() == [(2,)]
    assert db.table("feed").rows() == [(2,)]
    assert db.status()["tables"]["feed"]["index_bytes"] == 0


def test_rows_of_every_kind_can_be_put_in(db: viewlet.Database, spark: Any) -> None:
    db.insert("events", [("a", 1)])
    db.insert("events", [{"n": 2, "kind": "b"}])
    db.insert("events", pa.table({"kind": ["c"], "n": pa.array([3], pa.int32())}))
    db.insert("events", pd.DataFrame({"kind": ["d"], "n": [4]}))
    db.insert("events", spark.createDataFrame([("e", 5)], "kind string, n int"))
    assert sorted(db.table("events").rows()) == [("a", 1), ("b", 2), ("c", 3), ("d", 4), ("e", 5)]
    assert db.table("events").spark().count() == 5
    assert len(db.table("events").pandas()) == 5


def test_the_change_feed(db: viewlet.Database) -> None:
    db.sql(SPEND)
    filled(db)
    since = db.status()["epoch"]
    db.upsert("orders", [(1, 7, Decimal("4.00"))])
    db.insert("orders", [(4, 9, Decimal("1.00"))])
    orders = (
        db.table("orders").changes(since).sort_by([("_commit_version", "ascending"), ("_change_type", "ascending")])
    )
    assert orders["_change_type"].to_pylist() == ["update_postimage", "update_preimage", "insert"]
    spend = db.table("spend").changes(since).to_pylist()
    assert {(r["cust"], r["total"], r["_change_type"], r["_commit_version"]) for r in spend} == {
        (7, Decimal("6.00"), "delete", since + 1),
        (7, Decimal("7.50"), "insert", since + 1),
        (9, Decimal("1.00"), "insert", since + 2),
    }
    assert isinstance(spend[0]["_commit_timestamp"], dt.datetime)


def test_a_reader_sees_one_epoch_whole(db: viewlet.Database) -> None:
    db.sql(SPEND)
    filled(db)
    reader = viewlet.connect(db.path, read_only=True)
    relation = reader.table("spend")
    db.insert("orders", [(4, 7, Decimal("1.00"))])
    assert sorted(relation.rows()) == [(7, Decimal("6.00")), (8, Decimal("1.00"))]
    reader.refresh()
    assert sorted(reader.table("spend").rows()) == [(7, Decimal("7.00")), (8, Decimal("1.00"))]
    with pytest.raises(StoreError, match=r"reading only .*connect without read_only=True"):
        reader.insert("orders", [(5, 7, Decimal("1.00"))])
    with pytest.raises(WarehouseBusy):
        viewlet.connect(db.path)
    reader.close()


def test_readers_and_a_writer_at_once(db: viewlet.Database) -> None:
    """Two views of one table always show the same epoch."""
    db.create_view("n", "SELECT count(*) AS n FROM events")
    db.create_view("s", "SELECT coalesce(sum(n), 0) AS s FROM events")
    done, wrong = threading.Event(), []

    def read() -> None:
        while not done.is_set():
            reader = viewlet.connect(db.path, read_only=True)
            n, s = reader.table("n").rows()[0][0], reader.table("s").rows()[0][0]
            if n != s:
                wrong.append((n, s))
            reader.close()

    thread = threading.Thread(target=read)
    thread.start()
    for _ in range(60):
        db.insert("events", [("x", 1)] * 3)
    done.set()
    thread.join()
    assert wrong == []


def test_dropping_and_replacing(db: viewlet.Database) -> None:
    db.sql(SPEND)
    db.create_view("big", "SELECT * FROM spend WHERE total > 5")
    filled(db)
    with pytest.raises(InUse, match="big read spend"):
        db.drop("spend")
    with pytest.raises(NameTaken, match="already"):
        db.sql(SPEND)
    db.sql("CREATE OR REPLACE MATERIALIZED VIEW big AS SELECT cust FROM spend WHERE total < 5")
    assert db.table("big").rows() == [(8,)]
    db.sql("DROP TABLE orders CASCADE")
    assert db.sql("SHOW VIEWS").num_rows == 0
    with pytest.raises(UnknownName, match="no table or view named spend"):
        db.table("spend")


REFUSED_VIEWS = [
    ("SELECT id, rand() AS r FROM orders", UnsupportedFunction, "rand"),
    ("SELECT id, current_timestamp() AS t FROM orders", UnsupportedFunction, "current_timestamp"),
    ("SELECT id, uuid() AS u FROM orders", UnsupportedFunction, "uuid"),
    ("SELECT * FROM orders TABLESAMPLE (10 PERCENT)", UnsupportedQuery, "TABLESAMPLE"),
    ("SELECT nothing FROM orders", viewlet.ViewletError, "nothing"),
    ("SELECT * FROM nowhere", viewlet.ViewletError, "nowhere"),
    ("SELEC 1", SqlError, "SELEC"),
    ("SELECT id AS x, cust AS x FROM orders", UnsupportedQuery, "two columns"),
]


@pytest.mark.parametrize(("text", "error", "message"), REFUSED_VIEWS)
def test_definitions_that_cannot_be_kept(db: viewlet.Database, text: str, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        db.create_view("v", text)
    assert "v" not in db._warehouse.catalog.views


def test_strict_refuses_recomputation(db: viewlet.Database) -> None:
    with pytest.raises(UnsupportedQuery, match="LIMIT"):
        db.sql(
            "CREATE MATERIALIZED VIEW v REFRESH POLICY INCREMENTAL STRICT AS SELECT * FROM orders ORDER BY total LIMIT 3"
        )
    db.sql("CREATE MATERIALIZED VIEW v REFRESH POLICY FULL AS SELECT cust, count(*) AS n FROM orders GROUP BY cust")
    filled(db)
    assert sorted(db.table("v").rows()) == [(7, 2), (8, 1)]
    assert db.history("v")[-1]["views"]["v"]["technique"] == "recompute"


def test_statements(db: viewlet.Database) -> None:
    db.sql("INSERT INTO orders VALUES (1, 7, 2.50), (2, 7, 3.50)")
    db.sql("INSERT INTO orders (id, total) SELECT id + 10, total * 2 FROM orders")
    db.sql("UPDATE orders SET cust = 9, total = total + 1 WHERE cust IS NULL")
    db.sql("DELETE FROM orders WHERE id = 1")
    found = db.sql("SELECT id, cust, total FROM orders ORDER BY id").to_pylist()
    assert [tuple(r.values()) for r in found] == [
        (2, 7, Decimal("3.50")),
        (11, 9, Decimal("6.00")),
        (12, 9, Decimal("8.00")),
    ]
    db.sql(SPEND)
    assert db.sql("DESCRIBE HISTORY spend").num_rows == 1
    assert "Sum[" in db.sql("EXPLAIN CREATE MATERIALIZED VIEW w AS SELECT count(*) AS n FROM orders")
    db.sql("REFRESH MATERIALIZED VIEW spend FULL")
    assert db.check("spend").num_rows == 0
    with pytest.raises(SqlError):
        db.sql("SELECT nothing FROM orders")


def test_grouped_durability(tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "g", durability=20) as db:
        db.sql("CREATE TABLE t (n INT)")
        for i in range(50):
            db.insert("t", [(i,)])
    with viewlet.connect(tmp_path / "g") as db:
        assert len(db.table("t")) == 50


def test_unknown_engine(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no engine named"):
        viewlet.connect(tmp_path / "w", engine="abacus")  # type: ignore[arg-type]


@pytest.mark.parametrize(("engine", "shares"), [("inproc", (2.45, 2.55)), ("spark", (1.95, 2.05))])
def test_a_view_is_rebuilt_from_the_share_of_changed_rows_at_which_that_is_as_good(
    tmp_path: Path, spark: Any, engine: Any, shares: tuple[float, float]
) -> None:
    """docs/scaling.md: 2.5 times as many rows change as there are then, in process; twice as many, on Spark."""
    there = 2000
    for share, expected in zip(shares, ("ring", "recompute: the epoch changes most of what it reads"), strict=True):
        gone = round(share * (there + 1000))  # the thousand rows that are not worth weighing
        with viewlet.connect(tmp_path / f"w{gone}", spark=spark, engine="inproc") as db:
            db.sql("CREATE TABLE t (id INT, PRIMARY KEY (id))")
            db.insert("t", pa.table({"id": pa.array(range(there + gone), pa.int32())}))
            db.create_view("v", "SELECT id % 7 AS k, sum(id) AS x FROM t GROUP BY id % 7")
            db.engine = engine
            db.delete("t", pa.table({"id": pa.array(range(gone), pa.int32())}))
            assert db.history("v")[-1]["views"]["v"]["technique"] == expected
            assert db.check().num_rows == 0


def test_rows_that_fill_empty_tables_fill_their_views(db: viewlet.Database) -> None:
    """docs/scaling.md: reading tables that only grew takes a third; a view over few rows is followed by deltas."""
    db.sql("CREATE TABLE t (id INT, PRIMARY KEY (id))")
    db.create_view("v", "SELECT id % 7 AS k, sum(id) AS x FROM t GROUP BY id % 7")
    techniques = []
    for first, last in ((0, 30_000), (30_000, 60_000), (60_000, 60_001)):
        db.insert("t", pa.table({"id": pa.array(range(first, last), pa.int32())}))
        techniques.append(db.history("v")[-1]["views"]["v"]["technique"])
    assert techniques == ["recompute: the epoch changes most of what it reads", "ring", "ring"]
    assert db.check().num_rows == 0


@pytest.mark.parametrize("engine", quickly(1, ["inproc", "spark"]))
def test_an_epoch_that_changes_most_of_a_table_recomputes_its_views(tmp_path: Path, spark: Any, engine: Any) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark, engine=engine) as db:
        db.sql("CREATE TABLE t (id INT, k INT, x INT, PRIMARY KEY (id))")
        rows = [(i, i % 5, i) for i in range(9000)]
        db.insert("t", rows)
        db.create_view("v", "SELECT a.k, sum(b.x) AS x, max(a.x) AS m FROM t a JOIN t b ON a.id = b.id GROUP BY a.k")
        db.create_view("w", "SELECT sum(x) AS x FROM v WHERE k > 1")
        before = db._warehouse.store.epoch
        db.delete("t", [(i,) for i in range(0, 9000, 2)] + [(i,) for i in range(1, 8000, 2)])
        record = db.history("v")[-1]["views"]
        assert record["v"]["technique"].startswith("recompute")
        assert record["w"]["technique"] == "ring"
        assert record["v"]["weighed"] == {"increment": 3400 if engine == "inproc" else 4250, "recompute": 500}
        assert db.check().num_rows == 0
        feed = db.table("v").changes(since=before).to_pylist()
        assert {c["_commit_version"] for c in feed} == {before + 1}
        db.insert("t", [(1, 1, 7)])
        assert db.history("v")[-1]["views"]["v"]["technique"] == "keyed"
        assert db.check().num_rows == 0
