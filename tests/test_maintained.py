"""A kind of maintained thing that nothing in Viewlet knows plugs in: a Python function of one table's rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest

import viewlet
from viewlet.cli.main import main
from viewlet.columns.rows import Rows
from viewlet.plan.types import BIGINT, STRING, Field
from viewlet.warehouse.fill import create
from viewlet.warehouse.maintained import KINDS, Maintained
from viewlet.warehouse.read.relation import Relation
from viewlet.warehouse.refresh import Refresh
from viewlet.warehouse.warehouse import Warehouse


@dataclass(frozen=True)
class Longest(Maintained):
    """The longest of a table's names, recomputed in every epoch that changes the table."""

    kind: ClassVar[str] = "toy"
    name: str
    table: str
    position: int = 0

    @property
    def fields(self) -> tuple[Field, ...]:
        return (Field("name", STRING), Field("length", BIGINT))

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.table,)

    def fill(self, run: Refresh) -> dict[str, Any]:
        run.emit(self._longest(run.rows(self.table)))
        return {"technique": "a function of all rows"}

    def refresh(self, run: Refresh) -> dict[str, Any]:
        seen = (run.memory or 0) + 1
        run.emit(Rows.concat([self._longest(run.rows(self.table)), run.before(self.name).consolidated().negated()]))
        if run.delta(self.table) is None or "boom" in run.rows(self.table)["name"].to_pylist():
            raise viewlet.EvaluationError("boom")
        run.remember(seen)
        return {"technique": "a function of all rows", "seen": seen}

    def recompute(self, warehouse: Warehouse) -> Rows:
        return self._longest(Rows.of(Relation(warehouse, warehouse.catalog.find(self.table)).arrow()))

    def document(self) -> dict[str, Any]:
        return {"table": self.table}

    def explain(self, warehouse: Warehouse, *, verbose: bool = False) -> str:
        return f"toy {self.name}: the longest name of {self.table}, recomputed"

    def _longest(self, rows: Rows) -> Rows:
        names = sorted(rows["name"].to_pylist(), key=lambda name: (-len(name), name))[:1]
        return Rows.of(pa.table({"name": pa.array(names), "length": pa.array(map(len, names), pa.int64())}))


def _read(name: str, document: Mapping[str, Any], trusted: bool) -> Longest:
    return Longest(name, document["table"], document["position"])


@pytest.fixture(autouse=True)
def kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "toy", _read)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("people", "name STRING")
        db.insert("people", [("Ada",), ("Grace",)])
        create(db._warehouse, Longest("longest", "people", db._warehouse.next_position()))
        yield db


def test_epochs_refresh_it(db: viewlet.Database) -> None:
    assert db.table("longest").rows() == [("Grace", 5)]
    epoch = db.insert("people", [("Barbara",)])
    db.delete("people", [("Grace",)])
    assert db.table("longest").rows() == [("Barbara", 7)]
    assert db.views == ("longest",)
    changes = db.table("longest").changes(since=epoch - 1)
    assert set(changes["_commit_version"].to_pylist()) == {epoch}, "the deletion of another name changes nothing"
    changed = [(row["name"], row["_change_type"]) for row in changes.to_pylist()]
    assert sorted(changed) == [("Barbara", "insert"), ("Grace", "delete")]


def test_it_is_looked_at_like_a_view(db: viewlet.Database) -> None:
    db.insert("people", [("Barbara",)])
    assert db.explain("longest") == "toy longest: the longest name of people, recomputed"
    assert db.status()["views"]["longest"]["kind"] == "toy"
    assert db.status()["views"]["longest"]["rows"] == 1
    assert db.check("longest").num_rows == 0
    assert db.history("longest")[-1]["views"]["longest"]["technique"] == "a function of all rows"
    assert repr(db.table("longest")).startswith("<toy longest (")
    assert "toy" in str(db.sql("DESCRIBE EXTENDED longest")["data_type"].to_pylist()).lower()


def test_check_finds_what_is_wrong(db: viewlet.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Longest,
        "_longest",
        lambda self, rows: rows.take(rows.weights[:0]).with_columns({"length": pa.array([], pa.int64())}),
    )
    assert db.check("longest").to_pylist() == [{"_view": "longest", "_which": "found", "name": "Grace", "length": 5}]


def test_it_survives_a_restart(db: viewlet.Database) -> None:
    db.close()
    with viewlet.connect(db.path) as again:
        again.insert("people", [("Barbara",)])
        assert again.table("longest").rows() == [("Barbara", 7)]


def test_a_warehouse_with_an_unknown_kind_is_refused(db: viewlet.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    db.close()
    monkeypatch.delitem(KINDS, "toy")
    with viewlet.connect(db.path) as again, pytest.raises(viewlet.StoreError, match="longest is a toy, which this"):
        again.insert("people", [("Barbara",)])


def test_memory_lasts_from_commit_to_commit(db: viewlet.Database) -> None:
    def seen() -> int:
        found: int = db.history("longest")[-1]["views"]["longest"]["seen"]
        return found

    db.insert("people", [("Barbara",)])
    db.insert("people", [("Edsger",)])
    assert seen() == 2
    with pytest.raises(viewlet.EvaluationError):
        db.insert("people", [("boom",)])
    db.insert("people", [("Donald",)])
    assert seen() == 1  # what a rejected epoch may have spoilt is forgotten


@pytest.mark.spark
def test_sql_views_read_it_and_it_reads_them(db: viewlet.Database, spark: Any) -> None:
    db.sql("CREATE MATERIALIZED VIEW twice AS SELECT length * 2 AS length FROM longest")
    db.sql("CREATE MATERIALIZED VIEW shouted AS SELECT upper(name) AS name FROM people")
    create(db._warehouse, Longest("loudest", "shouted", db._warehouse.next_position()))
    db.insert("people", [("Barbara",)])
    assert (db.table("twice").rows(), db.table("loudest").rows()) == ([(14,)], [("BARBARA", 7)])
    assert db.check().num_rows == 0
    with pytest.raises(viewlet.InUse, match="twice read longest"):
        db.drop("longest")
    assert db.drop("longest", cascade=True)
    assert db.views == ("shouted", "loudest")


def test_the_command_line_shows_it(db: viewlet.Database, capsys: pytest.CaptureFixture[str]) -> None:
    db.close()
    for command, shown in (
        (["explain", "longest"], "toy longest: the longest name of people, recomputed"),
        (["status"], "longest"),
        (["check"], "longest"),
        (["history", "longest"], "create toy longest"),
    ):
        assert main([*command, "--warehouse", str(db.path)]) == 0
        assert shown in capsys.readouterr().out, command


def test_it_can_be_dropped(db: viewlet.Database) -> None:
    assert db.drop("longest")
    assert db.views == ()
    assert not db._warehouse.store.snapshot().has("longest")
    db.insert("people", [("Barbara",)])
