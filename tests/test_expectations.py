"""CHECK constraints: rows that break one reject the epoch, are dropped and counted, or are kept aside."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import viewlet
from tests.marks import quickly
from viewlet import InUse, RejectedEpoch, SqlError, UnsupportedFunction, ViewletError

pytestmark = pytest.mark.spark

CHECKS = {
    "sane": ("x < 1000", "FAIL EPOCH"),
    "positive": ("x > 0", "DROP ROW"),
    "lettered": ("w RLIKE '^[a-z]+$'", "KEEP ASIDE"),
    "short": ("length(soundex(w)) <= 4 AND w <> 'long'", "KEEP ASIDE"),
}
TABLE = "CREATE TABLE t (id INT, x INT, w STRING, PRIMARY KEY (id), {}){}"
VIEW = "SELECT w, sum(x) AS x, count(*) AS n FROM t GROUP BY w"
Row = tuple[Any, ...]


def ddl(options: str = "") -> str:
    checks = [f"CONSTRAINT {name} CHECK ({text}) ON VIOLATION {action}" for name, (text, action) in CHECKS.items()]
    return TABLE.format(", ".join(checks), options)


def sorted_out(spark: Any, rows: list[Row]) -> tuple[list[Row], list[Row], Counter[str]]:
    """What Spark says of rows: which are taken in, which are kept aside for what, and how many are dropped by what."""
    spark.createDataFrame(rows, "id INT, x INT, w STRING").createOrReplaceTempView("given")
    broken = ", ".join(f"coalesce(NOT ({text}), false) AS `{name}`" for name, (text, _) in CHECKS.items())
    taken, aside, dropped = [], [], Counter[str]()
    for row in spark.sql(f"SELECT *, {broken} FROM given").collect():
        names = [name for name in CHECKS if row[name]]
        if any(CHECKS[name][1] == "KEEP ASIDE" for name in names):
            aside.append((", ".join(names), *row[:3]))
        elif names:
            dropped.update(names)
        else:
            taken.append(tuple(row[:3]))
    return taken, aside, dropped


@pytest.mark.parametrize("options", quickly(1, ["", " TRUSTED", " APPEND ONLY"]))
def test_rows_that_break_constraints(options: str, tmp_path: Path, spark: Any) -> None:
    plain = spark.newSession()
    rows = [(1, 5, "a"), (2, -1, "b"), (3, None, "c"), (4, 7, "D"), (5, -2, "E"), (6, 1, None), (7, 2, "long")]
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.sql(ddl(options))
        db.sql(f"CREATE MATERIALIZED VIEW v AS {VIEW}")
        with db.epoch() as e:
            e.insert("t", rows)
        taken, aside, dropped = sorted_out(plain, rows)
        assert {row[0] for row in taken} == {1, 3, 6}  # NULL is no violation
        assert (e.rejected, e.dropped) == ({"t": len(aside)}, {"t": dict(dropped)})
        assert Counter(db.table("t")) == Counter(taken)
        assert Counter(db.table("t_rejected")) == Counter(aside)
        plain.createDataFrame(taken, "id INT, x INT, w STRING").createOrReplaceTempView("t")
        assert Counter(db.table("v")) == Counter(map(tuple, plain.sql(VIEW).collect()))
        before = e.number
        with pytest.raises(RejectedEpoch, match=r"row 2 \(id=9\): it breaks the constraint sane, CHECK \(x < 1000\)"):
            db.insert("t", [(8, 1, "a"), (9, 1000, "a")])
        assert db.status()["epoch"] == before
        assert db.insert("t", [(10, 0, "a")]) == before + 1  # an epoch that only dropped a row is one, too
        assert db.history("t")[-1]["tables"]["t"] == {"inserted": 0, "deleted": 0, "dropped": {"positive": 1}}
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        status = db.status()["tables"]["t"]
        assert (status["dropped"], status["rejected"]) == ({"positive": dropped["positive"] + 1}, len(aside))
        with pytest.raises(RejectedEpoch, match="t_rejected holds rows that t did not accept"):
            db.insert("t_rejected", [("x", 1, 1, "a")])
        with pytest.raises(InUse, match="is created and dropped with it"):
            db.drop("t_rejected")
        with pytest.raises(SqlError, match="constraint lettered reads w"):
            db.sql("ALTER TABLE t DROP COLUMN w")
        db.drop("t", cascade=True)
        assert db.tables == ()


def test_changes_that_would_break_a_constraint_leave_the_old_row(tmp_path: Path, spark: Any) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.sql(ddl())
        db.insert("t", [(1, 10, "a"), (2, 20, "b"), (3, 30, "c")])
        db.sql("UPDATE t SET x = x - 15, w = 'z'")
        assert sorted(db.table("t")) == [(1, 10, "a"), (2, 5, "z"), (3, 15, "z")]
        db.upsert("t", [(2, 6, "UP"), (3, 7, "low")])
        assert sorted(db.table("t")) == [(1, 10, "a"), (2, 5, "z"), (3, 7, "low")]
        db.sql(
            """MERGE INTO t USING (VALUES (1, -1), (2, 50), (4, -4), (5, 5)) AS s(id, x) ON t.id = s.id
               WHEN MATCHED THEN UPDATE SET x = s.x WHEN NOT MATCHED THEN INSERT (id, x) VALUES (s.id, s.x)"""
        )
        assert sorted(db.table("t")) == [(1, 10, "a"), (2, 50, "z"), (3, 7, "low"), (5, 5, None)]
        assert db.table("t_rejected").rows() == [("lettered", 2, 6, "UP")]
        assert db.status()["tables"]["t"]["dropped"] == {"positive": 3}
        db.sql("ALTER TABLE t ADD COLUMN more STRING DEFAULT 'x'")
        db.sql("INSERT INTO t VALUES (6, 1, '1', 'y')")
        assert sorted(db.table("t_rejected")) == [("lettered", 2, 6, "UP", "x"), ("lettered", 6, 1, "1", "y")]
        db.sql("ALTER TABLE t RENAME TO u")
        db.sql("INSERT INTO u VALUES (7, -1, 'a', 'y'), (8, 1, '1', 'y')")
        assert db.status()["tables"]["u"]["dropped"] == {"positive": 4}
        assert len(db.table("u_rejected")) == 3
        text = db.sql("SHOW CREATE TABLE u")["createtab_stmt"][0].as_py()
        db.drop("u")
        db.sql(text)
        assert db.sql("SHOW CREATE TABLE u")["createtab_stmt"][0].as_py() == text


def test_a_table_of_a_query_is_checked_too(tmp_path: Path, spark: Any) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        rows = "SELECT * FROM VALUES (1, 1), (2, -2), (3, -3) AS r(id, x)"
        db.sql(f"CREATE TABLE t (PRIMARY KEY (id), CONSTRAINT c CHECK (x > 0) ON VIOLATION KEEP ASIDE) AS {rows}")
        assert db.table("t").rows() == [(1, 1)]
        assert sorted(db.table("t_rejected")) == [("c", 2, -2), ("c", 3, -3)]
        db.create_table("u", "id INT, x INT", constraints={"c": "x > 0", "d": ("id > x", "drop row")})
        db.insert("u", [(1, 2), (3, 2)])
        assert db.table("u").rows() == [(3, 2)]
        refused: list[tuple[str, type[ViewletError], str]] = [
            ("x > rand()", UnsupportedFunction, "constraint c"),
            ("x + 1", SqlError, "is not a condition"),
            ("max(x) > 1", SqlError, "more than one row"),
            ("x > (SELECT max(x) FROM t)", ViewletError, "constraint c"),
            ("y > 1", ViewletError, "constraint c: .*`y`"),
        ]
        for text, error, message in refused:
            with pytest.raises(error, match=message):
                db.create_table("w", "id INT, x INT", constraints={"c": text})
        with pytest.raises(SqlError, match="'sigh' is not an action"):
            db.create_table("w", "id INT, x INT", constraints={"c": ("x > 1", "sigh")})
        assert db.tables == ("t", "t_rejected", "u")
        db.create_table("w", "x INT", constraints={"c": "1 / x > 0"})
        with pytest.raises(ViewletError, match=r"constraint c: .*DIVIDE_BY_ZERO"):
            db.insert("w", [(0,)])
