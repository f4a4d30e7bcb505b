"""Adding columns to tables that views read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import viewlet
from tests.marks import quickly
from viewlet import SqlError, UnknownName

pytestmark = pytest.mark.spark

TABLES = {
    "keyed": "CREATE TABLE t (id INT, k INT, x DECIMAL(10,2), PRIMARY KEY (id))",
    "plain": "CREATE TABLE t (id INT, k INT, x DECIMAL(10,2))",
    "trusted": "CREATE TABLE t (id INT, k INT, x DECIMAL(10,2), PRIMARY KEY (id)) TRUSTED",
}
VIEWS = {
    "everything": "SELECT * FROM t",
    "natural": "SELECT * FROM t NATURAL JOIN u",
    "sums": "SELECT k, sum(x) AS x, count(*) AS n FROM t GROUP BY k",
    "first": "SELECT * FROM t ORDER BY x DESC LIMIT 2",
    "over": "SELECT * FROM everything WHERE x > 1",
    "on_spark": "SELECT id, concat_ws('-', k, x) AS c FROM t",
}


@pytest.mark.parametrize("kind", quickly(1, TABLES))
def test_views_go_on_as_before(kind: str, tmp_path: Path, spark: Any) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.sql(TABLES[kind])
        db.sql("CREATE TABLE u (k INT, note STRING)")
        for name, text in VIEWS.items():
            db.create_view(name, text)
        db.insert("u", [(1, "one"), (2, None)])
        rows = [(i, i % 3, f"{i}.50") for i in range(6)]
        db.insert("t", rows)
        before = {name: sorted(map(str, db.table(name).rows())) for name in VIEWS}
        db.sql("ALTER TABLE t ADD COLUMNS (note STRING, tags ARRAY<INT>)")
        assert {name: sorted(map(str, db.table(name).rows())) for name in VIEWS} == before
        assert db.check().to_pylist() == []
        assert db.table("t").rows()[0][3:] == (None, None)
        with db.epoch() as e:
            e.insert("t", [(7, 1, "9.25", "one", [1, 2]), (8, 2, "0.25", None, None)])
            e.delete("t", [(*rows[0], None, None), (*rows[4], None, None)])
        assert db.check().to_pylist() == []
        db.create_view("noted", "SELECT note, count(*) AS n FROM t GROUP BY note")
        db.insert("t", [(9, 1, "9.25", "one", None)])
        assert dict(db.table("noted").rows()) == {None: 5, "one": 2}
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.rebuild("everything")
        db.rebuild("sums")
        db.delete("t", [(9, 1, "9.25", "one", None)])
        assert db.check().to_pylist() == []
        assert [f.name for f in db.table("everything").fields] == ["id", "k", "x"]


def test_what_cannot_be_added_is_refused(tmp_path: Path, spark: Any) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.sql(TABLES["keyed"])
        db.insert("t", [(1, 1, "1.00")])
        for text, error in {
            "ALTER TABLE t ADD COLUMN n INT NOT NULL": "column n is NOT NULL",
            "ALTER TABLE t ADD COLUMN K STRING": "names a column twice",
            "ALTER TABLE t DROP COLUMN id": "part of the primary key",
        }.items():
            with pytest.raises(SqlError, match=error):
                db.sql(text)
        with pytest.raises(UnknownName):
            db.add_columns("nothing", "a INT")
        assert [f.name for f in db.table("t").fields] == ["id", "k", "x"]
        assert db.add_columns("t", "a INT") == db._warehouse.store.epoch
        db.upsert("t", [{"id": 1, "k": 2, "x": "3.00", "a": 4}])
        assert db.table("t").rows()[0][3] == 4
