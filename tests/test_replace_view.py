"""Views that others read get another definition, tables that views read lose columns: readers stay right."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import viewlet
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
        shop.holds()
        assert db.views.index("spend") < db.views.index("big") < db.views.index("ranked")
        shop.insert((20, 0, 100, "late"), (21, 3, 5, None))
        shop.define("doubled", "SELECT cust, total * 2 AS total FROM apart JOIN orders USING (cust)")
        shop.define("spend", "SELECT cust, sum(total) AS total FROM doubled GROUP BY cust")  # a view that is newer
        shop.holds()
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
        shop.holds()
        shop.insert((23, 2, 9, ""))
        shop.holds()


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
        shop.holds()
        shop.insert((20, 0, 100), (21, 3, 5))
        db.delete("orders", [shop.orders.pop(2)])
        shop.holds()
    with viewlet.connect(tmp_path / "w", spark=spark) as shop.db:
        shop.insert((22, 1, 7))
        shop.holds()
