"""DataFrames put into tables by tasks: as rows given by hand, with nothing of them at the driver."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

import viewlet
from viewlet.errors import RejectedEpoch
from viewlet.views.refresh import CHANGED
from viewlet.views.view import sql_view

pytestmark = pytest.mark.spark


@contextmanager
def nothing_here() -> Iterator[None]:
    """Rows of a DataFrame that reach the driver, or that it reads from files, fail the test."""

    def fail(*_: Any) -> None:
        raise AssertionError("rows passed through the driver")

    with pytest.MonkeyPatch.context() as patch:
        for name in ("to_columns.rows_of_spark", "pieces._from_spark"):
            patch.setattr(f"viewlet.intake.{name}", fail)
        patch.setattr("viewlet.store.table_contents.TableContents.scan", fail)
        yield


ORDERS = "CREATE TABLE orders (id BIGINT, cust STRING NOT NULL, total DECIMAL(12,2), PRIMARY KEY (id))"
SPEND = "SELECT cust, sum(total) AS total, count(*) AS n FROM orders GROUP BY cust"


def orders(spark: Any, first: int, end: int, total: str) -> Any:
    """Orders as a DataFrame, with the columns in another order."""
    cust = "concat('c', pmod(id, 7)) AS cust"
    return spark.range(first, end).selectExpr(cust, f"CAST({total} AS DECIMAL(12,2)) AS total", "id")


def test_changes_by_tasks(spark: Any, tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark, engine="inproc") as db:
        db.sql(ORDERS)
        db.insert("orders", [(i, f"c{i % 7}", 1) for i in range(-9000, 0)])
        db.create_view("spend", SPEND)
        db.engine = "spark"
        told: list[viewlet.Progress] = []
        with nothing_here():
            db.load("orders", orders(spark, 0, 2000, "id % 100 / 4"), progress=told.append)
            assert db.history()[-1]["tables"]["orders"] == {"inserted": 2000, "deleted": 0}
            assert [t.text for t in told[:2]] == ["tasks take in a DataFrame", "2,000 rows taken in by tasks"]
            db.upsert("orders", orders(spark, 1900, 2100, "7.1"))
            assert db.history()[-1]["tables"]["orders"] == {"inserted": 200, "deleted": 100}
            db.delete("orders", spark.range(0, 2000, 10).select("id"))
            db.delete("orders", orders(spark, 2001, 2003, "7.1"))
        expected = {i: (f"c{i % 7}", 1.0 if i < 0 else i % 100 / 4 if i < 1900 else 7.1) for i in range(-9000, 2100)}
        for gone in (*range(0, 2000, 10), 2001, 2002):
            del expected[gone]
        assert {row[0]: (row[1], float(row[2])) for row in db.table("orders").rows()} == expected
        spend: dict[str, list[int]] = {}
        for cust, total in expected.values():
            spend.setdefault(cust, []).append(round(total * 100))
        found = {cust: (int(total * 100), n) for cust, total, n in db.table("spend").rows()}
        assert found == {cust: (sum(totals), len(totals)) for cust, totals in spend.items()}


@pytest.mark.slow
def test_views_are_filled_made_anew_and_read_by_tasks(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if everything were large: nothing is kept, written or read at the driver because it is small."""
    monkeypatch.setattr(importlib.import_module("viewlet.compile.distribute.place"), "SMALL", -1)
    monkeypatch.setattr("viewlet.warehouse.epoch.task_intake._INLINE", 0)
    monkeypatch.setattr("viewlet.warehouse.read.spark_frames._SMALL", 0)
    with viewlet.connect(tmp_path / "w", spark=spark, engine="spark") as db:
        db.sql(ORDERS)
        with nothing_here():
            db.insert("orders", orders(spark, 0, 3000, "id % 100 / 4"))
            db.delete("orders", spark.range(0, 3000, 10).select("id"))
            db.create_view("spend", SPEND)
            db.create_view("large", "SELECT id, total FROM orders WHERE total > 20")
            filled = db.history()[-1]
            monkeypatch.setitem(CHANGED, "spark", 2)
            db.insert("orders", orders(spark, 5000, 12000, "id % 90 / 3"))
            made = db.history()[-1]
        assert filled["jobs"][0]["stages"] == 3, "what was taken away meets what was put in, then the view is filled"
        assert "recompute" in made["views"]["spend"]["technique"]
        expected = {i: i % 100 / 4 for i in range(3000) if i % 10} | {i: i % 90 / 3 for i in range(5000, 12000)}
        assert {row.id: float(row.total) for row in db.table("orders").spark().collect()} == pytest.approx(
            expected, abs=0.005
        )
        large = {row.id: float(row.total) for row in db.table("large").spark().collect()}
        assert large == pytest.approx({i: total for i, total in expected.items() if total > 20}, abs=0.005)
        assert db.check().num_rows == 0
        damaged = db.table("large").definition
        db.engine = "inproc"
        with db._warehouse.store.begin() as transaction:
            rows = transaction.contents("large").consolidated()
            transaction.append("large", rows.slice(0, 2).negated(), damaged.layout)
            transaction.commit()
        wrong = db.check("large")
        assert wrong["_which"].to_pylist() == ["expected", "expected"]
        assert sorted(wrong["id"].to_pylist()) == sorted(rows["id"].to_pylist()[:2])


@pytest.mark.parametrize("statement", [ORDERS.replace(", PRIMARY KEY (id)", ""), f"{ORDERS} TRUSTED"])
def test_rows_that_nothing_forbids_are_written_where_they_are_read(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    """Only what an index keeps of them passes the exchange, so no row meets others there."""
    intake = importlib.import_module("viewlet.warehouse.epoch.task_intake")
    kept: list[set[str]] = []
    take = intake.take_slices

    def noted(cuttings: Any, task: Any, parts: int) -> Any:
        kept.append({type(cutting.read).__name__ for cutting in cuttings})
        return take(cuttings, task, parts)

    monkeypatch.setattr(intake, "_MANY", 0)
    monkeypatch.setattr(intake, "take_slices", noted)
    with viewlet.connect(tmp_path / "w", spark=spark, engine="spark") as db:
        db.sql(statement)
        db.insert("orders", orders(spark, 0, 10, "0.5"))
        db.create_view("spend", SPEND)
        before = db.last_epoch
        bad = "SELECT id + 500 AS id, if(id < 9, 'x', NULL) AS cust, 1.5 AS total FROM range(12)"
        with pytest.raises(RejectedEpoch, match=r"1 row or more.*cust: NULL in a NOT"):
            db.insert("orders", spark.sql(bad))
        assert db.last_epoch == before
        assert len(db._warehouse.store.orphans()) == 0, "nothing is left of what tasks wrote"
        with nothing_here():
            db.insert("orders", orders(spark, 10, 3000, "id % 100 / 4").unionAll(orders(spark, 0, 0, "1")))
        assert kept == [{"WriteRows"}] * 3
        assert db.history()[-1]["tables"]["orders"] == {"inserted": 2990, "deleted": 0}
        with db.epoch() as e:
            e.insert("orders", orders(spark, 3000, 3010, "id % 100 / 4"))
            e.delete("orders", orders(spark, 2985, 2995, "id % 100 / 4"))
        assert kept[3:] == [{"ReadRows"}], "what comes may be taken away again"
        expected = [(i, i % 100 / 4 if i > 9 else 0.5) for i in [*range(2985), *range(2995, 3010)]]
        found = sorted((row[0], float(row[2])) for row in db.table("orders").rows())
        assert found == sorted(expected)
        assert db.check().num_rows == 0
        if "TRUSTED" not in statement:
            with pytest.raises(RejectedEpoch, match="it does not exist, or not as many times"):
                db.delete("orders", orders(spark, 2998, 2999, "id % 100 / 4").unionAll(orders(spark, 7, 8, "3")))
        assert not db._warehouse.store.verify()


@pytest.mark.parametrize(
    ("action", "rows", "refused"),
    [
        ("insert", "SELECT id, 'x' AS cust, 1.5 AS total FROM range(90, 110)", r"10 rows or more.*\(id=9\d\): its key"),
        (
            "insert",
            "SELECT id % 5 + 500 AS id, 'x' AS cust, 1.5 AS total FROM range(20)",
            r"15 rows.*the same key as ano",
        ),
        (
            "insert",
            "SELECT id + 500 AS id, CAST(NULL AS STRING) AS cust, 1.5 AS total FROM range(2)",
            "cust: NULL in a NOT",
        ),
        ("insert", "SELECT id + 500 AS id, 'x' AS cust, 1e12 AS total FROM range(2)", "column total: 1000000000000.0"),
        ("insert", "SELECT id + 500 AS id, 'x' AS cust, id / 0.5 AS amount FROM range(2)", "column total is missing"),
        ("delete", "SELECT id FROM range(99, 102)", r"2 rows or more.*\(id=10\d\): it does not exist"),
        (
            "upsert",
            "SELECT 1L AS id, 'x' AS cust, 1.5 AS total FROM range(3)",
            r"2 rows or more.*\(id=1\): the same key",
        ),
    ],
)
def test_what_cannot_be_taken_in_is_shown_and_nothing_is_applied(
    spark: Any, tmp_path: Path, action: str, rows: str, refused: str
) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark, engine="spark") as db:
        db.sql(ORDERS)
        db.insert("orders", [(i, "a", i) for i in range(100)])
        before = db.status()["epoch"]
        with pytest.raises(RejectedEpoch, match=refused):
            getattr(db, action)("orders", spark.sql(rows))
        assert db.status()["epoch"] == before
        assert len(db.table("orders")) == 100
        assert not list((tmp_path / "w" / "data").glob("task-*")), "nothing is left of what tasks wrote"


def test_rows_without_a_key_are_taken_away_as_often_as_they_are_given(spark: Any, tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark, engine="spark") as db:
        db.sql("CREATE TABLE t (a INT, b ARRAY<STRING>)")
        twice = "SELECT CAST(id % 100 AS INT) AS a, array('x', CAST(id % 3 AS STRING)) AS b FROM range({})"
        db.insert("t", spark.sql(twice.format(600)))
        db.delete("t", spark.sql(twice.format(300)))
        with pytest.raises(RejectedEpoch, match="it does not exist, or not as many times"):
            db.delete("t", spark.sql(twice.format(600)))
        assert sorted(row[0] for row in db.table("t").rows()) == sorted(i % 100 for i in range(300))


@pytest.mark.slow
def test_several_changes_of_a_table_in_one_epoch(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DataFrames after rows, rows after DataFrames: each is checked against what those before it left."""
    monkeypatch.setattr("viewlet.warehouse.epoch.task_intake._INLINE", 0)
    with viewlet.connect(tmp_path / "w", spark=spark, engine="spark") as db:
        db.sql(ORDERS)
        db.create_view("spend", SPEND)
        expected: dict[int, tuple[str, float]] = {}
        with nothing_here(), db.epoch() as e:
            e.insert("orders", [(-1, "x", 1), (-2, "x", 2)])
            e.insert("orders", orders(spark, 0, 900, "1.5"))
            e.upsert("orders", orders(spark, 800, 1000, "2.5"))
            e.delete("orders", [(-1,), (5,)])
            with pytest.raises(RejectedEpoch, match=r"\(id=5\): it does not exist"):
                e.delete("orders", spark.range(5, 6).select("id"))
            with pytest.raises(RejectedEpoch, match=r"\(id=6\): its key already exists"):
                e.insert("orders", [(6, "x", 1)])
            e.delete("orders", spark.range(0, 900, 100).select("id"))
        expected = {-2: ("x", 2.0)} | {i: (f"c{i % 7}", 1.5 if i < 800 else 2.5) for i in range(1000)}
        for gone in (5, *range(0, 900, 100)):
            del expected[gone]
        assert {row[0]: (row[1], float(row[2])) for row in db.table("orders").rows()} == expected
        changes = db.table("orders").changes(since=db.status()["epoch"] - 1)
        assert sorted(changes["id"].to_pylist()) == sorted(expected)
        assert set(changes["_change_type"].to_pylist()) == {"insert"}
        db.upsert("orders", orders(spark, 990, 1010, "9.5"))
        told = [(name, sorted(map(str, db.table(name).changes().to_pylist()))) for name in ("orders", "spend")]
        with nothing_here(), monkeypatch.context() as patch:
            patch.setattr("viewlet.warehouse.read.change_feed._SMALL", 0)
            patch.setattr("viewlet.store.contents.Contents.consolidated", lambda _: pytest.fail("read at the driver"))
            frames = {name: db.table(name).spark_changes() for name, _ in told}
            found = [(name, sorted(str(row) for row in frames[name].toArrow().to_pylist())) for name, _ in told]
        assert found == told
        assert "update_postimage" in str(told[0])
        expected |= {i: (f"c{i % 7}", 9.5) for i in range(990, 1010)}
        assert db.check().num_rows == 0
        with db.epoch() as e:
            e.insert("orders", orders(spark, 5000, 5100, "1"))
            e.delete("orders", spark.range(5000, 5100).select("id"))
        assert len(db.table("orders")) == len(expected)
        assert db.check().num_rows == 0


@pytest.mark.parametrize("has_key", [True, False])
def test_changes_of_an_epoch_meet_where_they_share_rows(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_key: bool
) -> None:
    """What an epoch takes away passes an exchange of its own only if the epoch itself may have put it in.

    Rows are given first, so that DataFrames are taken in one by one.
    """
    monkeypatch.setattr("viewlet.warehouse.epoch.task_intake._INLINE", 0)
    with viewlet.connect(tmp_path / "w", spark=spark, engine="spark") as db:
        db.sql(ORDERS if has_key else ORDERS.replace(", PRIMARY KEY (id)", ""))
        db.insert("orders", orders(spark, 0, 9000, "id % 100 / 4"))
        db.create_view("spend", SPEND)
        stages = []
        for first, gone in ((9000, orders(spark, 0, 50, "id % 100 / 4")), (9100, orders(spark, 9150, 9160, "1"))):
            with nothing_here(), db.epoch() as e:
                e.insert("orders", [(-first, "x", 1)])
                e.insert("orders", orders(spark, first, first + 100, "1"))
                e.delete("orders", gone)
            stages.append(db.history()[-1]["jobs"][0]["stages"])
        assert stages == [1, 2]
        assert len(db.table("orders")) == 9000 + 202 - 50 - 10
        assert db.check().num_rows == 0


ITEMS = "CREATE TABLE items (id BIGINT, name STRING)"
SPENT = "SELECT cust, name, sum(total) AS total FROM orders JOIN items ON items.id = orders.id GROUP BY cust, name"


@pytest.mark.parametrize("has_key", [True, False])
def test_dataframes_of_an_epoch_are_taken_in_by_one_job(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_key: bool
) -> None:
    """Those of a table are netted where they meet: what one puts in, a later one may take away."""
    jobs: list[int] = []
    take = importlib.import_module("viewlet.warehouse.epoch.task_intake").take_slices

    def counted(cuttings: Any, *others: Any) -> Any:
        jobs.append(len(cuttings))
        return take(cuttings, *others)

    monkeypatch.setattr("viewlet.warehouse.epoch.task_intake.take_slices", counted)
    monkeypatch.setattr("viewlet.warehouse.epoch.task_intake._INLINE", 0)
    items = "SELECT id, 'i' AS name FROM range({}, {})"
    with viewlet.connect(tmp_path / "w", spark=spark, engine="spark") as db:
        db.sql(ORDERS if has_key else ORDERS.replace(", PRIMARY KEY (id)", ""))
        db.sql(ITEMS)
        db.insert("orders", orders(spark, 0, 5000, "1"))
        db.create_view("spent", SPENT)
        jobs.clear()
        with nothing_here(), db.epoch() as e:
            e.insert("orders", orders(spark, 5000, 5100, "1"))
            e.insert("items", spark.sql(items.format(10, 5200)))
            e.delete("orders", orders(spark, 40, 50, "1").unionAll(orders(spark, 5090, 5100, "1")))
            e.delete("items", spark.sql(items.format(100, 200)))
        assert jobs == [4]
        record = db.history()[-1]
        assert record["tables"] == {
            "orders": {"inserted": 90, "deleted": 10},
            "items": {"inserted": 5090, "deleted": 0},
        }
        assert record["jobs"][0]["stages"] == 1, "nothing has to be netted before"
        there = {i for i in range(5090) if not 40 <= i < 50}
        assert {row[0] for row in db.table("orders").rows()} == there
        spent: dict[tuple[str, str], int] = {}
        for i in (i for i in there if 10 <= i < 100 or i >= 200):
            spent[f"c{i % 7}", "i"] = spent.get((f"c{i % 7}", "i"), 0) + 1
        assert {(cust, name): int(total) for cust, name, total in db.table("spent").rows()} == spent
        assert db.check().num_rows == 0


def in_one_epoch(db: viewlet.Database, *changes: tuple[str, str, Any], goes_on: bool = False) -> None:
    """Apply changes of tables; `goes_on`: the last one is refused, and the caller does not mind."""
    with db.epoch() as e:
        for at, (action, table, rows) in enumerate(changes, 1):
            with pytest.raises(RejectedEpoch) if goes_on and at == len(changes) else nullcontext():
                getattr(e, action)(table, rows)


def test_the_first_dataframe_that_is_refused_is_named_and_nothing_of_the_epoch_is_applied(
    spark: Any, tmp_path: Path
) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark, engine="spark") as db:
        db.sql(ORDERS)
        db.sql(ITEMS)
        db.insert("orders", [(i, "a", i) for i in range(100)])
        before = db.status()["epoch"]
        items = spark.sql("SELECT id, 'i' AS name FROM range(10)")
        bad = spark.sql("SELECT id + 500 AS id, CAST(NULL AS STRING) AS cust, 1.5 AS total FROM range(2)")
        with pytest.raises(RejectedEpoch, match=r"table orders: 2 rows.*cust: NULL in a NOT"):
            in_one_epoch(
                db,
                ("insert", "items", items),
                ("insert", "orders", bad),
                ("delete", "orders", spark.range(500, 502).select("id")),
                ("delete", "items", spark.sql("SELECT id, 'j' AS name FROM range(10)")),
            )
        nameless = spark.range(3).selectExpr("id", "1.5 AS total")
        with pytest.raises(RejectedEpoch, match="column cust is missing"):
            in_one_epoch(db, ("insert", "items", items), ("insert", "orders", nameless))
        with pytest.raises(RejectedEpoch, match="its key already exists"):
            in_one_epoch(
                db,
                ("insert", "items", items),
                ("insert", "orders", orders(spark, 90, 110, "1")),
                ("insert", "orders", [(200, "x", 1)]),
                goes_on=True,
            )
        assert db.status()["epoch"] == before
        assert (len(db.table("orders")), len(db.table("items"))) == (100, 0)
        assert not list((tmp_path / "w" / "data").glob("task-*")), "nothing is left of what tasks wrote"


def test_a_dataframe_is_evaluated_under_the_settings_of_when_it_was_given(spark: Any, tmp_path: Path) -> None:
    session = spark.newSession()
    with viewlet.connect(tmp_path / "w", spark=session, engine="spark") as db:
        db.sql("CREATE TABLE t (id BIGINT, word STRING, PRIMARY KEY (id))")
        given = session.range(1).selectExpr("id", "current_timezone() AS word")
        with db.epoch() as e:
            for i, zone in enumerate(("Asia/Tokyo", "Europe/Paris", "Europe/Paris")):
                session.conf.set("spark.sql.session.timeZone", zone)
                e.insert("t", given.selectExpr(f"id + {i} AS id", "word"))
        assert sorted(db.table("t").rows()) == [(0, "Asia/Tokyo"), (1, "Europe/Paris"), (2, "Europe/Paris")]


CHECKED = """CREATE TABLE clicks (id BIGINT, word STRING, at TIMESTAMP, PRIMARY KEY (id),
    CONSTRAINT known CHECK (id < 100000) ON VIOLATION FAIL EPOCH,
    CONSTRAINT short CHECK (length(soundex(word)) <= 4 AND word <> 'long') ON VIOLATION KEEP ASIDE,
    CONSTRAINT odd CHECK (length(soundex(word)) <= 4 AND word <> 'even') ON VIOLATION DROP ROW)
    WATERMARK at DELAY INTERVAL 10 MINUTES"""


def clicks(spark: Any, first: int, end: int) -> Any:
    """A click a minute; every fifth word is too long, every seventh is dropped."""
    word = "CASE WHEN id % 5 = 0 THEN 'long' WHEN id % 7 = 0 THEN 'even' ELSE 'word' END AS word"
    return spark.range(first, end).selectExpr("id", word, "timestamp_seconds(id * 60) AS at")


def test_late_and_rejected_rows_are_set_aside_by_tasks(spark: Any, tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark, engine="spark") as db:
        db.sql(CHECKED)
        assert all(c.expr is None for c in db._warehouse.catalog.table("clicks").constraints[1:]), (
            "Spark evaluates them"
        )
        db.create_view("n", "SELECT word, count(*) AS n FROM clicks GROUP BY word")
        db.create_view("late", "SELECT count(*) AS n FROM clicks_late")
        with nothing_here():
            with db.epoch() as e:
                e.insert("clicks", clicks(spark, 1000, 2000))
            assert (e.late, e.rejected, e.dropped) == ({}, {"clicks": 200}, {"clicks": {"odd": 114}})
            with db.epoch() as e:
                e.insert(
                    "clicks", clicks(spark, 1980, 1985).where("id > 1980").selectExpr("id + 10000 AS id", "word", "at")
                )
                e.insert("clicks", clicks(spark, 2000, 2100))
        taken = [i for i in range(1000, 2100) if i % 5 and i % 7]
        late = [i + 10000 for i in range(1981, 1985) if i % 5 and i % 7]
        assert e.late == {"clicks": len(late)}
        assert sorted(row[0] for row in db.table("clicks").rows()) == taken
        assert sorted(row[0] for row in db.table("clicks_late").rows()) == late
        assert {row[0] for row in db.table("clicks_rejected").rows()} == {"short"}
        assert sorted(row[1] for row in db.table("clicks_rejected").rows()) == list(range(1000, 2100, 5))
        assert dict(db.table("n").rows()) == {"word": len(taken)}
        assert db.table("late").rows() == [(len(late),)]
        assert db.check().num_rows == 0
        with pytest.raises(RejectedEpoch, match="it is older than the watermark"):
            db.delete("clicks", spark.range(1002, 1003).select("id"))
        with pytest.raises(RejectedEpoch, match="breaks the constraint known"):
            db.insert("clicks", spark.sql("SELECT 100000L AS id, 'a' AS word, timestamp_seconds(200000) AS at"))


@pytest.mark.slow
def test_what_a_watermark_closes_is_evicted_by_tasks(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viewlet.views.evict._LARGE", 0)
    with viewlet.connect(tmp_path / "w", spark=spark, engine="spark") as db:
        db.sql("CREATE TABLE t (id BIGINT, at TIMESTAMP, PRIMARY KEY (id)) WATERMARK at DELAY INTERVAL 10 MINUTES")
        db.create_view("v", "SELECT window.start AS w, count(DISTINCT id) AS n FROM t GROUP BY window(at, '1 minute')")
        evictions = sql_view(db._warehouse.catalog, "v").program.evictions
        assert evictions
        monkeypatch.setattr("viewlet.views.evict.closed_rows", lambda *_: pytest.fail("read at the driver"))
        snapshot = db._warehouse.store.snapshot
        for first in range(0, 3000, 1000):
            db.insert("t", spark.range(first, first + 1000).selectExpr("id", "timestamp_seconds(id * 6) AS at"))
        kept = {bag: snapshot().contents(bag).consolidated() for bag in {e.map for e in evictions}}
        assert all(0 < len(held) < 1500 for held in kept.values()), "what is older than two delays is gone"
        assert db.check("v").num_rows == 0
