"""The statements that people type, through `db.sql`, against rows kept by the test and Spark SQL on them."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import viewlet
from tests.marks import quickly
from viewlet import InUse, NameTaken, RejectedEpoch, SqlError, UnknownName

pytestmark = pytest.mark.spark

KINDS = {"default": "", "trusted": " TRUSTED"}
VIEW = "SELECT k, count(*) AS n, sum(x) AS x FROM t GROUP BY k"
Row = tuple[Any, ...]


@pytest.fixture
def db(tmp_path: Path, spark: Any) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "w", spark=spark) as opened:
        yield opened


class Kept:
    """A table `t` with a view, in the warehouse and as rows that the test keeps; Spark SQL says what must hold."""

    def __init__(self, db: viewlet.Database, spark: Any, options: str) -> None:
        self.db, self.spark, self.rows = db, spark.newSession(), list[Row]()
        db.sql(f"CREATE TABLE t (id INT, k INT, x DECIMAL(10,2) DEFAULT 1.5, PRIMARY KEY (id)){options}")
        db.sql(f"CREATE MATERIALIZED VIEW v AS {VIEW}")

    def holds(self, rows: list[Row]) -> None:
        """The table has these rows, and the view is what Spark SQL makes of them."""
        self.rows = rows
        assert Counter(self.db.table("t").rows()) == Counter(rows)
        self.spark.createDataFrame(rows, "id INT, k INT, x DECIMAL(10,2)").createOrReplaceTempView("t")
        assert Counter(self.db.table("v").rows()) == Counter(map(tuple, self.spark.sql(VIEW).collect()))


@pytest.fixture(params=quickly(1, KINDS))
def kept(request: pytest.FixtureRequest, db: viewlet.Database, spark: Any) -> Kept:
    return Kept(db, spark, KINDS[request.param])


def test_insert_in_all_its_forms(kept: Kept) -> None:
    db, one = kept.db, Decimal("1.50")
    db.sql("INSERT INTO t VALUES (1, 10, DEFAULT), (2, 10, 2 + 0.25)")
    db.sql("INSERT INTO t (k, id) VALUES (20, 3)")
    db.sql("INSERT INTO t BY NAME SELECT 20 AS K, 4 AS id")
    rows = [(1, 10, one), (2, 10, Decimal("2.25")), (3, 20, one), (4, 20, one)]
    kept.holds(rows)
    db.sql("INSERT INTO t (id, k) SELECT id + 10, k FROM t WHERE k = 10")
    kept.holds([*rows, (11, 10, one), (12, 10, one)])
    db.sql("INSERT OVERWRITE t SELECT id, k, x * 2 FROM t WHERE id < 3")
    kept.holds([(1, 10, Decimal("3.00")), (2, 10, Decimal("4.50"))])
    db.sql("INSERT OVERWRITE TABLE t (id) VALUES (7)")
    kept.holds([(7, None, one)])
    for text in ("INSERT INTO t BY NAME SELECT 1 AS id, 2 AS z", "INSERT INTO t (id, z) VALUES (1, 2)"):
        with pytest.raises(SqlError, match="has no column z"):
            db.sql(text)
    with pytest.raises(SqlError, match="row 2 has 1 values for 2 columns"):
        db.sql("INSERT INTO t (id, k) VALUES (1, 2), (3)")


def test_a_table_is_replaced_by_the_difference(db: viewlet.Database) -> None:
    def replace(query: str, key: str = "") -> list[Row]:
        epoch = db.last_epoch
        db.sql(f"CREATE OR REPLACE TABLE t {key} AS {query}")
        changes = db.table("t").changes(since=epoch) if db.last_epoch == epoch + 1 else None
        return [] if changes is None else [(row["id"], row["_change_type"]) for row in changes.to_pylist()]

    replace("SELECT id, id * 2 AS x FROM range(3)")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT sum(x) AS x FROM t")
    epoch = db.last_epoch
    assert replace("SELECT id, id * 2 AS x FROM range(3)") == []
    assert db.last_epoch == epoch, "the same rows are no change"
    assert sorted(replace("SELECT id, id * 2 AS x FROM range(1, 4)")) == [(0, "delete"), (3, "insert")]
    assert db.table("v").rows() == [(12,)]
    for query, key in [
        ("SELECT id, 'a' AS x FROM range(2)", ""),
        ("SELECT id, id AS x FROM range(2)", "(PRIMARY KEY (id))"),
    ]:
        with pytest.raises(InUse, match="v read t"):
            replace(query, key)
    db.drop("v")
    replace("SELECT id, 'a' AS x FROM range(2)", "(PRIMARY KEY (id))")
    assert sorted(db.table("t").rows()) == [(0, "a"), (1, "a")]
    with pytest.raises(RejectedEpoch):
        replace("SELECT 1L AS id, x FROM t", "(PRIMARY KEY (id))")
    db.sql("CREATE MATERIALIZED VIEW w AS SELECT 1 AS a")
    with pytest.raises(UnknownName, match="w is a view"):
        db.sql("CREATE OR REPLACE TABLE w AS SELECT 1 AS a")


def test_update_and_delete_with_aliases_and_defaults(kept: Kept) -> None:
    db = kept.db
    db.sql("INSERT INTO t VALUES (1, 10, 1), (2, 10, 2), (3, 20, 3)")
    db.sql("UPDATE t AS a SET a.x = DEFAULT, k = a.k + 1 WHERE a.id <= 2")
    kept.holds([(1, 11, Decimal("1.50")), (2, 11, Decimal("1.50")), (3, 20, Decimal("3.00"))])
    db.sql("UPDATE t a SET x = CASE WHEN a.id = 1 THEN 9 ELSE x END")
    db.sql("DELETE FROM t AS a WHERE a.id = (SELECT max(b.id) FROM t b)")
    kept.holds([(1, 11, Decimal("9.00")), (2, 11, Decimal("1.50"))])


def test_parameters(kept: Kept, spark: Any) -> None:
    db = kept.db
    db.sql("INSERT INTO t VALUES (:id, :k, :x), (2, ?, 1)".replace("?", ":k"), {"id": 1, "k": 10}, x=Decimal("7"))
    db.sql("INSERT INTO t VALUES (?, ?, ?), (4, ?, '?')".replace("'?'", "5"), [3, None, 2.5, 20])
    rows = [(1, 10, Decimal("7.00")), (2, 10, Decimal("1.00")), (3, None, Decimal("2.50")), (4, 20, Decimal("5.00"))]
    kept.holds(rows)
    query = "SELECT id, :word AS w FROM t WHERE id < :id AND k = 10 ORDER BY id"
    found = db.sql(query, id=3, word="it's ? -- :id")
    assert [tuple(row.values()) for row in found.to_pylist()] == [(1, "it's ? -- :id"), (2, "it's ? -- :id")]
    assert db.sql("SELECT ? AS a, '?' AS b, ? AS c", [dt.date(2026, 1, 2), [1, 2]]).to_pylist() == [
        {"a": dt.date(2026, 1, 2), "b": "?", "c": [1, 2]}
    ]
    db.sql("UPDATE t SET x = ?, k = ? WHERE id = ?", [Decimal("0.25"), 30, 4])
    db.sql("DELETE FROM t WHERE id IN (:a, :b)", a=1, b=2)
    kept.holds([(3, None, Decimal("2.50")), (4, 30, Decimal("0.25"))])
    refused: list[tuple[str, Mapping[str, Any] | Sequence[Any], str]] = [
        ("SELECT ?, ?", [1], "2 markers `\\?`, and 1"),
        ("INSERT INTO t VALUES (:id, 1, 1)", {"no": 1}, "no value for the parameter :id"),
        ("SELECT :id", {"no": 1}, "UNBOUND_SQL_PARAMETER"),
        ("SELECT ?", "text", "not a str"),
        ("CREATE MATERIALIZED VIEW w AS SELECT * FROM t WHERE id = :id", {"id": 1}, "takes no parameters"),
    ]
    for text, given, message in refused:
        with pytest.raises(SqlError, match=message):
            db.sql(text, given)
    with pytest.raises(SqlError, match="by position or by name, not both"):
        db.sql("SELECT ?, :id", [1], id=2)


MERGES = [
    """MERGE INTO t AS a USING (SELECT id + 1 AS id, x FROM t) AS b ON a.id = b.id
       WHEN MATCHED AND b.x > 2 THEN DELETE
       WHEN MATCHED THEN UPDATE SET a.x = b.x + CASE WHEN a.k = 10 THEN 100 ELSE 200 END
       WHEN NOT MATCHED AND b.x < 4 THEN INSERT (id, k) VALUES (b.id * 10, 77)
       WHEN NOT MATCHED BY SOURCE AND a.k = 10 THEN UPDATE SET k = DEFAULT""",
    "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED BY TARGET THEN INSERT *",
    "MERGE INTO t a USING s b ON a.id = b.id WHEN NOT MATCHED BY SOURCE THEN DELETE",
    "MERGE INTO t USING (VALUES (1, 5), (1, 6), (8, 7)) AS b(id, x) ON t.id = b.id WHEN MATCHED THEN DELETE",
    "MERGE INTO t USING s ON false WHEN NOT MATCHED AND id > :least THEN INSERT (id, x) VALUES (id, DEFAULT)",
]


def merged(number: int, rows: list[Row], source: list[Row]) -> list[Row]:
    """What each merge means, in Python."""
    d, old, new = Decimal, {r[0]: r for r in rows}, {r[0]: r for r in source}
    match number:
        case 0:
            shifted = {i + 1: x for i, _, x in rows}
            result = []
            for i, k, x in rows:
                if i not in shifted:
                    result.append((i, None if k == 10 else k, x))
                elif not shifted[i] > 2:
                    result.append((i, k, shifted[i] + (100 if k == 10 else 200)))
            return result + [(i * 10, 77, d("1.50")) for i, x in shifted.items() if i not in old and x < 4]
        case 1:
            return list({**old, **new}.values())
        case 2:
            return [r for r in rows if r[0] in new]
        case 3:
            return [r for r in rows if r[0] not in (1, 8)]
        case _:
            return rows + [(i, None, d("1.50")) for i in new if i > 8]


def test_merge(kept: Kept) -> None:
    db, d = kept.db, Decimal
    rows = [(1, 10, d("1.00")), (2, 10, d("2.00")), (3, 20, d("3.00")), (4, 20, d("4.00")), (6, 10, d("1.25"))]
    source = [(2, 50, d("22.00")), (6, 50, d("66.00")), (9, 50, d("99.00"))]
    db.sql("CREATE TABLE s (id INT, k INT, x DECIMAL(10,2))")
    db.insert("s", source)
    db.insert("t", rows)
    for number, text in enumerate(MERGES):
        epoch = db.sql(text, {"least": 8} if ":least" in text else None)
        assert epoch == db.status()["epoch"]
        kept.holds(merged(number, rows, source))
        db.sql("DELETE FROM t")
        db.insert("t", rows)
    before = db.status()["epoch"]
    with pytest.raises(RejectedEpoch, match="MERGE_CARDINALITY_VIOLATION"):
        db.sql("MERGE INTO t USING s ON s.k = 50 AND t.id = 1 WHEN MATCHED AND false THEN DELETE")
    with pytest.raises(SqlError, match="no column z"):
        db.sql("MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET z = 1")
    assert db.status()["epoch"] == before


def test_create_table_as(db: viewlet.Database) -> None:
    db.sql("CREATE TABLE s (id INT NOT NULL, x DECIMAL(10,2))")
    db.insert("s", [(1, "1.50"), (2, None)])
    db.sql("CREATE TABLE t (PRIMARY KEY (ID)) APPEND ONLY AS SELECT id, x * :by AS y, 'a' AS `w w` FROM s", by=2)
    assert sorted(db.table("t").rows()) == [(1, Decimal("3.00"), "a"), (2, None, "a")]
    assert db.history("t")[0]["inserted"] == 2
    with pytest.raises(RejectedEpoch, match="its key already exists"):
        db.sql("INSERT INTO t VALUES (1, 0, '')")
    with pytest.raises(RejectedEpoch, match="append-only"):
        db.sql("DELETE FROM t")
    with pytest.raises(NameTaken, match="already a table named t"):
        db.sql("CREATE TABLE T AS SELECT 1 AS a")
    with pytest.raises(RejectedEpoch, match="NULL in"):
        db.sql("CREATE TABLE u (PRIMARY KEY (x)) AS SELECT * FROM s")
    assert "u" not in db.status()["tables"]
    db.sql("CREATE TABLE IF NOT EXISTS t AS SELECT 1 AS a")
    assert len(db.table("t")) == 2


def test_defaults(db: viewlet.Database) -> None:
    db.sql(
        "CREATE TABLE t (id INT, at TIMESTAMP DEFAULT current_timestamp(), n INT NOT NULL DEFAULT (1 + 1) COMMENT 'n')"
    )
    before = dt.datetime.now(dt.UTC)
    db.sql("INSERT INTO t (id) VALUES (1)")
    ((_, at, n),) = db.table("t").rows()
    assert n == 2
    assert before <= at <= dt.datetime.now(dt.UTC)
    db.sql("ALTER TABLE t ADD COLUMN w STRING DEFAULT 'it''s'")
    db.sql("INSERT INTO t (id) VALUES (2)")
    assert {row[3] for row in db.table("t").rows()} == {"it's"}
    db.create_table("u", "a INT DEFAULT 7, b INT", defaults={"B": "8"})
    db.sql("INSERT INTO u VALUES (DEFAULT, DEFAULT)")
    assert db.table("u").rows() == [(7, 8)]
    for text, message in {
        "CREATE TABLE w (a INT DEFAULT 'x')": "CAST_INVALID_INPUT",
        "CREATE TABLE w (a INT DEFAULT b)": "UNRESOLVED_COLUMN",
        "CREATE TABLE w (a INT DEFAULT (SELECT max(a) FROM u))": "is a query",
        "CREATE TABLE w (a INT NOT NULL DEFAULT NULL)": "NULL in a NOT NULL column",
    }.items():
        with pytest.raises(SqlError, match=message):
            db.sql(text)
    assert list(db.status()["tables"]) == ["t", "u"]


def test_show_and_describe(db: viewlet.Database) -> None:
    made = "CREATE TABLE `t t` (\n  id BIGINT NOT NULL,\n  `a``b` decimal(5,1) DEFAULT 2.5,\n  at TIMESTAMP,\n  PRIMARY KEY (id))"
    options = "\nTRUSTED\nWATERMARK at DELAY 600000000 MICROSECONDS"
    db.sql(made + options)
    db.sql("CREATE MATERIALIZED VIEW v REFRESH POLICY FULL AS SELECT `a``b` AS b FROM `t t`")
    assert db.sql("SHOW CREATE TABLE `t t`").to_pylist() == [{"createtab_stmt": made + options}]
    (view,) = db.sql("SHOW CREATE MATERIALIZED VIEW v")["createtab_stmt"].to_pylist()
    assert view == "CREATE MATERIALIZED VIEW v REFRESH POLICY FULL AS\nSELECT `a``b` AS b FROM `t t`"
    assert db.sql("SHOW COLUMNS IN `T T`")["col_name"].to_pylist() == ["id", "a`b", "at"]
    assert db.sql("SHOW TABLES LIKE '*late|x'")["name"].to_pylist() == ["t t_late"]
    assert db.sql("SHOW VIEWS")["name"].to_pylist() == ["v"]
    assert db.sql("DESCRIBE TABLE v").to_pylist() == [{"col_name": "b", "data_type": "decimal(5,1)", "comment": None}]
    assert db.sql("DESC SELECT 1 AS a")["data_type"].to_pylist() == ["int"]
    extended = {row["col_name"]: row["data_type"] for row in db.sql("DESCRIBE EXTENDED `t t`").to_pylist()}
    assert (extended["id"], extended["Read By"], extended["Statement"]) == ("bigint", "v", made + options)
    for text in ("SHOW CREATE TABLE v", "DROP TABLE v"):
        with pytest.raises(UnknownName, match="v is a view"):
            db.sql(text)
    db.sql("DROP TABLE `t t` CASCADE")
    db.sql(made + options)
    db.sql(view)
    assert db.sql("SHOW CREATE TABLE `t t`").to_pylist() == [{"createtab_stmt": made + options}]


def test_names_change(kept: Kept) -> None:
    db, d = kept.db, Decimal
    db.insert("t", [(1, 10, "1.00"), (2, 20, "2.00")])
    for text in ("ALTER TABLE t RENAME TO u", "ALTER TABLE t RENAME COLUMN k TO j"):
        with pytest.raises(InUse, match="v read t"):
            db.sql(text)
    db.sql("ALTER VIEW v RENAME TO w")
    with pytest.raises(UnknownName, match="no table or view named v"):
        db.table("v")
    db.insert("t", [(3, 20, "3.00")])
    assert sorted(db.table("w").rows()) == [(10, 1, d("1.00")), (20, 2, d("5.00"))]
    assert db.check("w").num_rows == 0
    db.sql("DROP VIEW w")
    db.sql("ALTER TABLE t RENAME COLUMN ID TO `new id`")
    db.sql("ALTER TABLE t RENAME TO `new t`")
    db.sql("ALTER TABLE `new t` DROP COLUMN k")
    with pytest.raises(SqlError, match="primary key"):
        db.sql("ALTER TABLE `new t` DROP COLUMNS (`new id`, x)")
    db.sql("INSERT INTO `new t` (`NEW ID`) VALUES (4)")
    db.sql("DELETE FROM `new t` WHERE `new id` = 1")
    assert sorted(db.table("new t").rows()) == [(2, d("2.00")), (3, d("3.00")), (4, d("1.50"))]
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT sum(x) AS x FROM `new t`")
    db.sql("UPDATE `new t` SET x = x + 1")
    assert db.table("v").rows() == [(d("9.50"),)]
