"""After close, every call that needs the warehouse raises the same error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import viewlet
from viewlet.database import Database
from viewlet.errors import StoreError

CALLS: dict[str, Callable[[Database], Any]] = {
    "address": lambda db: db.address,
    "spark": lambda db: db.spark,
    "tables": lambda db: db.tables,
    "views": lambda db: db.views,
    "flows": lambda db: db.flows,
    "retention": lambda db: db.retention,
    "recovery": lambda db: db.recovery,
    "last_epoch": lambda db: db.last_epoch,
    "table": lambda db: db.table("t"),
    "matrix": lambda db: db.matrix("m"),
    "sql": lambda db: db.sql("SELECT * FROM t"),
    "create_table": lambda db: db.create_table("u", "a INT"),
    "add_columns": lambda db: db.add_columns("t", "b INT"),
    "drop_columns": lambda db: db.drop_columns("t", ["a"]),
    "rename_column": lambda db: db.rename_column("t", "a", "b"),
    "rename": lambda db: db.rename("t", "u"),
    "register_aggregate": lambda db: db.register_aggregate("f", None),  # type: ignore[arg-type]
    "create_view": lambda db: db.create_view("v", "SELECT 1 AS one"),
    "create_matrix": lambda db: db.create_matrix("m", None),  # type: ignore[arg-type]
    "rebuild": lambda db: db.rebuild("v"),
    "drop": lambda db: db.drop("t"),
    "epoch": lambda db: db.epoch().__enter__(),
    "insert": lambda db: db.insert("t", [(1,)]),
    "delete": lambda db: db.delete("t", [(1,)]),
    "upsert": lambda db: db.upsert("t", [(1,)]),
    "set_retention": lambda db: db.set_retention(epochs=1),
    "set_placement": lambda db: db.set_placement("v", {}),
    "verify": lambda db: db.verify(),
    "refresh": lambda db: db.refresh(),
    "subscribe": lambda db: db.subscribe("t", print),
    "backup": lambda db: db.backup(db.path.parent / "backup"),
    "create_flow": lambda db: db.create_flow(None),  # type: ignore[arg-type]
    "drop_flow": lambda db: db.drop_flow("f"),
    "run_flow": lambda db: db.run_flow("f"),
    "flow_status": lambda db: db.flow_status("f"),
    "flow_trace": lambda db: db.flow_trace("f"),
    "explain": lambda db: db.explain("v"),
    "describe": lambda db: db.describe("t"),
    "graph": lambda db: db.graph(),
    "check": lambda db: db.check(),
    "status": lambda db: db.status(),
    "history": lambda db: db.history(),
    "failures": lambda db: db.failures(),
    "run_project": lambda db: db.run_project("project"),
    "signal": lambda db: db.signal("t", time="a", value="a"),
    "create_signal": lambda db: db.create_signal("s", None),  # type: ignore[arg-type]
    "export": lambda db: db.export("t", db.path.parent / "out"),
    "deliver": lambda db: db.deliver("t", "r", lambda epoch, changes: None),
    "create_sink": lambda db: db.create_sink("s", "t", None),  # type: ignore[arg-type]
    "drop_sink": lambda db: db.drop_sink("s"),
    "send_sinks": lambda db: db.send_sinks(),
    "load": lambda db: db.load("t", [(1,)]),
    "read_sources": lambda db: db.read_sources(),
    "watch": lambda db: next(db.watch()),
    "batch_writer": lambda db: db.batch_writer("t", "s"),
    "ui": lambda db: db.ui(),
}
"""Every public member of a database but `close` and those that answer without the warehouse."""

WITHOUT = {"close", "path", "engine", "read_only"}


@pytest.fixture
def closed(tmp_path: Path) -> Database:
    db = viewlet.connect(tmp_path / "w", engine="inproc")
    db.create_table("t", "a INT")
    db.insert("t", [(1,)])
    db.close()
    return db


def test_all_members_are_tried() -> None:
    assert {name for name in dir(Database) if not name.startswith("_")} == CALLS.keys() | WITHOUT


@pytest.mark.parametrize("name", CALLS)
def test_a_closed_database_refuses(name: str, closed: Database) -> None:
    with pytest.raises(StoreError, match=r"the warehouse at .* was closed \(hint: viewlet.connect opens it again\)"):
        CALLS[name](closed)


def test_so_does_a_closed_reader(tmp_path: Path) -> None:
    viewlet.connect(tmp_path / "w").close()
    reader = viewlet.connect(tmp_path / "w", read_only=True)
    reader.close()
    with pytest.raises(StoreError, match="was closed"):
        reader.status()
    with pytest.raises(StoreError, match="was closed"):
        reader.insert("t", [(1,)])


def test_relations_of_a_closed_database_refuse(tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "w", engine="inproc") as db:
        db.create_table("t", "a INT")
        db.insert("t", [(1,)])
        relation = db.table("t")
        assert relation.rows() == [(1,)]
    for read in (relation.rows, relation.arrow, relation.head, relation.pandas, relation.changes, relation.spark):
        with pytest.raises(StoreError, match="was closed"):
            read()
    with pytest.raises(StoreError, match="was closed"):
        len(relation)
    assert "1 row at epoch 2" in repr(relation)


def test_a_closed_database_says_so(closed: Database) -> None:
    closed.close()
    assert repr(closed).endswith(": closed>")
    assert "closed" in closed._repr_html_()
