"""Strings that are compared by a collation: as keys, through views over views, and as primary keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import viewlet
from tests.marks import THOROUGH
from viewlet import RejectedEpoch, SqlError

ROWS = [(1, "a", "a"), (2, "A", "A"), (3, "b", "b"), (4, None, None), (5, "B", "B"), (6, "ΑΣ", "ας"), (7, "c ", "c")]
TABLE = "id INT, s STRING COLLATE UTF8_LCASE, p STRING"
VIEWS = {
    "grouped": "SELECT p COLLATE UTF8_LCASE AS s, count(*) AS n FROM t GROUP BY p COLLATE UTF8_LCASE",
    "above": "SELECT n FROM grouped WHERE s = 'A' OR s IN ('b', 'x')",
    "joined": "SELECT t.id, n FROM t JOIN grouped g ON t.s = g.s",
    "semi": "SELECT id FROM t WHERE s IN (SELECT s FROM grouped WHERE n > 1)",
    "outer_joined": "SELECT a.id, b.id AS other FROM t a LEFT JOIN t b ON a.s = b.p COLLATE UTF8_LCASE AND a.id < b.id",
    "less": "SELECT a.id, b.id AS other FROM t a JOIN t b ON a.s < b.s",
    "counted": "SELECT id % 2 AS odd, count(DISTINCT s) AS d, count(s) AS c FROM t GROUP BY id % 2",
    # Of strings of different lengths, Spark's own min gives bytes of another: a\0\0\0.
    "extremes": "SELECT lower(min(s)) AS low, lower(max(s)) AS high FROM t WHERE length(s) = 1",
    "distinct_values": "SELECT lower(s) AS s FROM (SELECT DISTINCT s FROM t)",
    "ranked": "SELECT id, rank() OVER (PARTITION BY s ORDER BY id) AS r, dense_rank() OVER (ORDER BY s) AS d FROM t",
    "rolled": "SELECT lower(s) AS s, count(*) AS n FROM t GROUP BY ROLLUP (s)",
    "untouched": "SELECT id % 2 AS odd, sum(id) AS s FROM t WHERE p <> 'x' GROUP BY id % 2",
}


QUICK = ("grouped", "above", "semi", "outer_joined", "counted", "untouched")


def expected(spark: Any, rows: list[Any], names: Sequence[str]) -> dict[str, Counter[Any]]:
    """What plain Spark SQL gives."""
    session = spark.newSession()
    session.createDataFrame(rows, TABLE).createOrReplaceTempView("t")
    for name, text in VIEWS.items():
        session.sql(text).createOrReplaceTempView(name)
    return {name: Counter(map(tuple, session.table(name).collect())) for name in names if name != "grouped"}


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(
    ("engine", "names"),
    [
        ("inproc", QUICK),
        pytest.param("inproc", tuple(VIEWS), marks=pytest.mark.slow),
        pytest.param("spark", QUICK, marks=pytest.mark.slow),
    ],
)
def test_collations_through_chains_of_views(engine: Any, names: Sequence[str], tmp_path: Path, spark: Any) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark, engine=engine) as db:
        db.sql(f"CREATE TABLE t ({TABLE})")
        for name in names:
            db.create_view(name, VIEWS[name])
        rows = list(ROWS)
        db.insert("t", rows)
        if THOROUGH:
            _compare(db, expected(spark, rows, names))
        with db.epoch() as e:
            e.delete("t", [rows[0], rows[2]])
            e.insert("t", [(8, "C ", "B"), (9, "ασ", "ΑΣ")])
        rows = [rows[1], *rows[3:], (8, "C ", "B"), (9, "ασ", "ΑΣ")]
        _compare(db, expected(spark, rows, names))
        assert db.check().num_rows == 0
        assert not [name for name in QUICK if "on Spark" in db.explain(name).partition("maps")[0] and name != "above"]
        grouped = {(s, n) for s, n in db.table("grouped").rows()}
        assert grouped == {("A", 1), ("B", 2), (None, 1), ("ΑΣ", 2), ("c", 1)}, "the least string stands for its group"


def _compare(db: viewlet.Database, wanted: dict[str, Counter[Any]]) -> None:
    for name, rows in wanted.items():
        found = Counter(db.table(name).rows())
        assert found == rows, f"{name}: {found - rows} too many, {rows - found} missing"


def test_primary_keys_by_a_collation(tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "w") as db:
        db.sql("CREATE TABLE t (s STRING COLLATE UTF8_LCASE, n INT, PRIMARY KEY (s))")
        start = db.insert("t", [("a", 1), ("ΑΣ", 2)])
        with pytest.raises(RejectedEpoch, match=r"row 1 \(s='ας'\): its key already exists"):
            db.insert("t", [("ας", 3)])
        with pytest.raises(RejectedEpoch, match="the same key as row 1"):
            db.insert("t", [("x", 3), ("X", 3)])
        db.upsert("t", [("A", 3), ("y", 5)])
        db.delete("t", [("ασ",)])
        kinds = db.table("t").changes(since=start)["_change_type"].to_pylist()
        assert sorted(kinds) == ["delete", "insert", "update_postimage", "update_preimage"]
    with viewlet.connect(tmp_path / "w") as db:
        assert sorted(db.table("t").rows()) == [("A", 3), ("y", 5)]
        db.delete("t", [("A", 3), ("y", 5)])
        assert db.table("t").rows() == []
        db.sql("CREATE TABLE r (s STRING COLLATE UTF8_BINARY_RTRIM PRIMARY KEY)")
        db.insert("r", [("a ",), ("A",)])
        with pytest.raises(RejectedEpoch, match="already exists"):
            db.insert("r", [("a",)])
        with pytest.raises(
            SqlError, match=r"s is string collate UNICODE_CI and cannot be a primary key \(hint: .*LCASE"
        ):
            db.sql("CREATE TABLE u (s STRING COLLATE UNICODE_CI PRIMARY KEY)")
