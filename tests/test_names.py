"""Tables, views and columns may have any name that Spark quotes, also those that Viewlet itself uses inside."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import viewlet
from tests.marks import quickly
from viewlet import InUse, NameTaken, SqlError
from viewlet.plan.words import quoted

pytestmark = pytest.mark.spark

COLUMNS = ("_hash", "_weight", "_H1", "_h2", "_key", "_rows", "_x0", "_change_type", "a.b", "back`tick", "_view", "c0 ")
TABLE = "t/`1`.a b ü"
DDL = ", ".join(f"{quoted(c)} INT" for c in COLUMNS)
VIEWS = {
    "_v": f"SELECT * FROM {quoted(TABLE)}",
    "sums.of it": f"SELECT _hash AS _weight, sum(_weight) AS _hash, max(`a.b`) AS `m.1` FROM {quoted(TABLE)} GROUP BY _hash",
    "pairs": f"SELECT a.`_key` AS _key, b.`back``tick` AS `_a1` FROM {quoted(TABLE)} a JOIN {quoted(TABLE)} b ON a.`a.b` = b.`a.b`",
    "on spark": f"SELECT concat_ws('-', _view, _change_type) AS `_weight`, `c0 ` AS _hash FROM {quoted(TABLE)}",
    "over": "SELECT _hash, count(*) AS `_n` FROM `sums.of it` GROUP BY _hash",
}


@pytest.mark.parametrize("options", quickly(1, [", PRIMARY KEY (_hash, `a.b`)", ""]))
def test_any_name_will_do(options: str, tmp_path: Path, spark: Any) -> None:
    rows = [tuple(i if c == "a.b" else (i * (at + 3)) % 50 for at, c in enumerate(COLUMNS)) for i in range(6000)]
    plain = spark.newSession()
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.sql(f"CREATE TABLE {quoted(TABLE)} ({DDL}{options})")
        for name, text in VIEWS.items():
            db.sql(f"CREATE MATERIALIZED VIEW {quoted(name)} AS {text}")
        db.insert(TABLE, rows)
        db.sql(f"DELETE FROM {quoted(TABLE)} WHERE `a.b` % 3 = 1")
        db.sql(f"UPDATE {quoted(TABLE)} SET `_weight` = -1, `back``tick` = `a.b` WHERE `a.b` = 5998")
        changed = [
            tuple(
                {"_weight": -1, "back`tick": 5998}.get(c, v) if r[8] == 5998 else v
                for c, v in zip(COLUMNS, r, strict=True)
            )
            for r in rows
            if r[8] % 3 != 1
        ]
        db.insert(TABLE, (last := [tuple(range(90_000, 90_000 + len(COLUMNS)))]))
        kept = [*changed, *last]
        assert Counter(db.table(TABLE)) == Counter(kept)
        plain.createDataFrame(kept, DDL).createOrReplaceTempView(quoted(TABLE))
        for name, text in VIEWS.items():
            expected = plain.sql(text)
            expected.createOrReplaceTempView(quoted(name))
            assert Counter(db.table(name)) == Counter(map(tuple, expected.collect())), name
        assert db.check("_v").num_rows == 0
        read = db.sql(f"SELECT count(*) AS n, sum(_weight) AS _hash FROM {quoted(TABLE)} WHERE `a.b` < 100")
        less = [r for r in kept if r[8] < 100]
        assert read.to_pylist() == [{"n": len(less), "_hash": sum(r[1] for r in less)}]
        feed = db.table(TABLE).changes(since=db.status()["epoch"] - 1)
        assert feed["_change_type"].to_pylist() == [last[0][7]]
        assert feed["_change_type_"].to_pylist() == ["insert"]


def test_what_a_name_may_not_be(tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("clicks", "at TIMESTAMP", watermark=("at", "1 minute"))
        for name in ("clicks.index", "x.CLOCK", "v.m1"):
            with pytest.raises(SqlError, match="reserves for its own data"):
                db.create_table(name, "a INT")
        with pytest.raises(NameTaken, match="already a table named clicks_late"):
            db.create_table("Clicks_Late", "a INT")
        db.create_table("t_late", "a INT")
        with pytest.raises(NameTaken, match="already a table named t_late"):
            db.create_table("t", "at TIMESTAMP", watermark=("at", "1 minute"))
        with pytest.raises(InUse, match="holds rows that clicks did not accept"):
            db.drop("clicks_late")
        assert db.tables == ("clicks", "clicks_late", "t_late")
        assert db.views == ()
        assert repr(db) == f"<warehouse {db.path}: 3 tables, 0 views, epoch 2>"


def test_what_a_relation_tells_of_itself(tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", "id INT NOT NULL, _x ARRAY<STRING>")
        with db.epoch() as e:
            assert repr(e) == "<open epoch: changes of nothing>"
            e.insert("t", [(1, ["a"])])
            assert repr(e) == "<open epoch: changes of t>"
        assert repr(e) == "<epoch 2>"
        relation = db.table("T")
        assert repr(relation) == "<table t (id int NOT NULL, _x array<string>): 1 row at epoch 2>"
        assert relation.columns == ["id", "_x"]
        assert str(relation.schema) == "id: int32 not null\n_x: list<element: string>\n  child 0, element: string"
        assert list(relation) == relation.rows() == [(1, ["a"])]


def test_the_internals_are_not_public(tmp_path: Path) -> None:
    public = {name for name in dir(viewlet.Database) if not name.startswith("_")}
    with viewlet.connect(tmp_path / "w") as db:
        assert {name for name in vars(db) if not name.startswith("_")} == set()
    assert public.isdisjoint({"choose", "define", "rules", "store", "writing", "on_spark", "catalog", "reading"})
