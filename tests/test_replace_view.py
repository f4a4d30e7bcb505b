"""Views that others read get another definition, tables that views read lose columns: readers stay right."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import viewlet
from tests.marks import THOROUGH
from viewlet import InUse, UnsupportedQuery

pytestmark = pytest.mark.spark

Row = tuple[Any, ...]
SPEND = "SELECT cust, sum(total) AS total FROM orders GROUP BY cust"
OTHER = "SELECT o.cust, sum(total + 1) AS total FROM orders o JOIN names USING (cust) WHERE name <> 'x' GROUP BY o.cust"
ABOVE = {
    "big": "SELECT * FROM spend WHERE total > 10",
    "ranked": "SELECT cust, rank() OVER (ORDER BY total DESC, cust) AS r FROM big",
    "beside": "SELECT name, total FROM spend JOIN names USING (cust)",
    "apart": "SELECT o.cust, count(*) AS n FROM orders o JOIN names USING (cust) GROUP BY o.cust",
}


class Shop:
    """A warehouse, and the same rows and definitions in a plain session of Spark."""

    def __init__(self, db: viewlet.Database, spark: Any, options: str) -> None:
        self.db, self.spark, self.views = db, spark.newSession(), dict[str, str]()
        db.sql(f"CREATE TABLE orders (id INT, cust INT, total INT, note STRING, PRIMARY KEY (id)){options}")
        db.sql("CREATE TABLE names (cust INT, name STRING)")
        self.orders: list[Row] = [(i, i % 4, i, f"n{i}") for i in range(12)]
        self.names = [(0, "a"), (1, "b"), (2, "x"), (3, None)]
        db.insert("orders", self.orders)
        db.insert("names", self.names)
        self.columns = "id INT, cust INT, total INT, note STRING"

    def define(self, name: str, text: str) -> None:
        self.db.sql(f"CREATE OR REPLACE MATERIALIZED VIEW {name} AS {text}")
        self.views[name] = text

    def holds(self) -> None:
        self.spark.createDataFrame(self.orders, self.columns).createOrReplaceTempView("orders")
        self.spark.createDataFrame(self.names, "cust INT, name STRING").createOrReplaceTempView("names")
        for name in self.db.views:
            expected = self.spark.sql(self.views[name])
            expected.createOrReplaceTempView(name)
            assert Counter(self.db.table(name)) == Counter(map(tuple, expected.collect())), name

    def holds_on_the_way(self) -> None:
        """What `make test` looks at later only."""
        if THOROUGH:
            self.holds()

    def insert(self, *rows: Row) -> None:
        self.db.insert("orders", list(rows))
        self.orders += rows


@pytest.mark.parametrize("options", ["", pytest.param(" TRUSTED", marks=pytest.mark.slow)])
def test_a_view_that_others_read_gets_another_definition(options: str, tmp_path: Path, spark: Any) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        shop = Shop(db, spark, options)
        shop.define("spend", SPEND)
        for name, text in ABOVE.items():
            shop.define(name, text)
        shop.define("spend", OTHER)
        shop.holds_on_the_way()
        assert db.views.index("spend") < db.views.index("big") < db.views.index("ranked")
        shop.insert((20, 0, 100, "late"), (21, 3, 5, None))
        shop.define("doubled", "SELECT cust, total * 2 AS total FROM apart JOIN orders USING (cust)")
        shop.define("spend", "SELECT cust, sum(total) AS total FROM doubled GROUP BY cust")  # a view that is newer
        shop.holds_on_the_way()
        shop.insert((22, 1, 7, ""))
        shop.holds()
        before = db.status()["epoch"]
        for text, error, message in [
            ("SELECT cust, name AS total FROM names", InUse, "big, ranked, beside read spend, and its columns would"),
            ("SELECT cust, 1L AS total, 1 AS more FROM names", InUse, "its columns would change"),
            ("SELECT cust, total FROM big", UnsupportedQuery, "spend would read itself, through big"),
        ]:
            with pytest.raises(error, match=message):
                db.sql(f"CREATE OR REPLACE MATERIALIZED VIEW spend AS {text}")
        assert db.status()["epoch"] == before
    with viewlet.connect(tmp_path / "w", spark=spark) as shop.db:
        shop.holds_on_the_way()
        shop.insert((23, 2, 9, ""))
        shop.holds()


@pytest.mark.slow
@pytest.mark.parametrize("options", ["", pytest.param(" TRUSTED", marks=pytest.mark.slow)])
def test_a_table_loses_a_column_that_no_view_reads(options: str, tmp_path: Path, spark: Any) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        shop = Shop(db, spark, options)
        for name, text in {"spend": SPEND, **ABOVE}.items():
            shop.define(name, text)
        with pytest.raises(InUse, match="spend reads total of orders"):
            db.sql("ALTER TABLE orders DROP COLUMN total")
        shop.define("all_of_it", "SELECT * FROM orders")
        with pytest.raises(InUse, match="all_of_it reads note of orders"):
            db.sql("ALTER TABLE orders DROP COLUMN note")
        db.sql("DROP VIEW all_of_it")
        del shop.views["all_of_it"]
        db.sql("ALTER TABLE orders DROP COLUMN note")
        shop.orders, shop.columns = [row[:3] for row in shop.orders], "id INT, cust INT, total INT"
        shop.holds_on_the_way()
        shop.insert((20, 0, 100), (21, 3, 5))
        db.delete("orders", [shop.orders.pop(2)])
        shop.holds()
    with viewlet.connect(tmp_path / "w", spark=spark) as shop.db:
        shop.insert((22, 1, 7))
        shop.holds()


def test_followers_of_a_replaced_view_see_the_difference(tmp_path: Path, spark: Any) -> None:
    """Also where the rows are kept in another form: a filter, an aggregate, a window, all of the same columns."""
    texts = [
        SPEND,
        "SELECT cust, sum(total) + cust % 2 AS total FROM orders GROUP BY cust",
        "SELECT cust, CAST(total AS BIGINT) AS total FROM orders WHERE id > 5",
        "SELECT cust, max(CAST(total AS BIGINT)) OVER (PARTITION BY cust) AS total FROM orders",
        SPEND,
    ]
    told: list[Counter[Row]] = []
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        shop = Shop(db, spark, "")
        shop.define("spend", texts[0])
        shop.define("big", ABOVE["big"])
        before = {name: Counter(db.table(name)) for name in ("spend", "big")}
        db.export("spend", tmp_path / "out")
        subscription = db.subscribe("spend", lambda changes: told.append(_net(changes)))
        for text in texts[1:]:
            since, earlier = db.status()["epoch"], before["spend"]
            shop.define("spend", text)
            shop.holds()
            for name, rows in before.items():
                now = Counter(db.table(name))
                assert _net(db.table(name).changes(since=since)) == _signed(now, rows)
                assert Counter(db.table(name).as_of(since)) == rows
                before[name] = now
            subscription.wait()
            assert db.export("spend", tmp_path / "out") == [since + 1]
            assert db.export("spend", tmp_path / "out") == []
            assert told[-1] == _net(_last_file(tmp_path / "out"))
            then = db.sql(f"SELECT s.cust, s.total FROM spend VERSION AS OF {since} AS s")
            assert Counter(zip(*(column.to_pylist() for column in then.columns), strict=True)) == earlier
        epoch = db.status()["epoch"]
        shop.define("spend", texts[-1])
        assert db.status()["epoch"] == epoch, "a definition that is there does nothing"
        db.rebuild("spend")
        assert db.table("spend").changes(since=epoch).num_rows == 0
    assert len(told) == len(texts) - 1
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        assert Counter(db.table("spend")) == before["spend"]
        assert db.table("spend").changes(since=epoch - 1).num_rows > 0, "the feed is there in another process"


def _net(changes: pa.Table) -> Counter[Row]:
    """The rows that come, less those that go; no row may do both."""
    rows = Counter[Row]()
    for row in changes.to_pylist():
        rows[row["cust"], row["total"]] += 1 if row["_change_type"] == "insert" else -1
    assert sum(map(abs, rows.values())) == changes.num_rows, "a row that stays was told"
    return rows


def _signed(now: Counter[Row], before: Counter[Row]) -> Counter[Row]:
    return Counter({row: n for row in now | before if (n := now[row] - before[row])})


def _last_file(folder: Path) -> pa.Table:
    return pq.read_table(max(folder.glob("*.parquet")))


def test_a_definition_is_the_same_whatever_its_comments_and_ties(tmp_path: Path, spark: Any) -> None:
    own = spark.newSession()
    own.sql("CREATE OR REPLACE TEMP VIEW colours AS SELECT 2 AS cust, 'green' AS colour")
    last = "SELECT cust, total FROM (SELECT *, row_number() OVER (PARTITION BY cust ORDER BY note) AS n FROM orders) WHERE n = 1"
    with viewlet.connect(tmp_path / "w", spark=own) as db:
        shop = Shop(db, spark, "")
        shop.define("last", last)  # which of the rows with one note comes first, Spark leaves open
        shop.define("coloured", "SELECT cust, colour FROM orders JOIN colours USING (cust)")
        epoch = db.last_epoch
        shop.define("last", last.replace("FROM", "-- of all\n  FROM"))
        shop.define("coloured", shop.views["coloured"])
        assert db.last_epoch == epoch
        own.sql("CREATE OR REPLACE TEMP VIEW colours AS SELECT 2 AS cust, 'red' AS colour")
        shop.define("coloured", shop.views["coloured"])
        assert {colour for _, colour in db.table("coloured")} == {"red"}
        shop.define("last", last.replace("note", "id"))
        assert db.last_epoch == epoch + 2
