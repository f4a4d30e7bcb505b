"""A Delta or Iceberg table that follows a table holds its rows, whatever is interrupted where."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

import viewlet
from tests.marks import STRING_VIEWS, quickly
from tests.sink.kills import run_and_kill
from tests.sink.sender import change, make_table
from viewlet.errors import StoreError

pytestmark = STRING_VIEWS


def delta_sinks(root: str) -> list[tuple[str, Any]]:
    return [("t", viewlet.delta_table(f"{root}/delta"))]


def delta_rows(root: Path) -> pa.Table:
    return pa.table(deltalake.DeltaTable(f"{root}/delta").to_pyarrow_table())


def _properties(root: Any) -> dict[str, str]:
    return {"type": "sql", "uri": f"sqlite:///{root}/catalog.db", "warehouse": f"file://{root}/lake"}


def iceberg_sinks(root: str) -> list[tuple[str, Any]]:
    return [("t", viewlet.iceberg_table("test", "db.t", properties=_properties(root)))]


def iceberg_rows(root: Path) -> pa.Table:
    return load_catalog("test", **_properties(root)).load_table("db.t").scan().to_arrow()


LAKES = [(delta_sinks, delta_rows), (iceberg_sinks, iceberg_rows)]


def held(rows: pa.Table) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in rows.to_pylist())


@pytest.mark.parametrize(("sinks", "rows"), LAKES)
def test_it_follows_and_catches_up(sinks: Any, rows: Any, tmp_path: Path) -> None:
    rng = random.Random(1)
    (_, sink), *_ = sinks(str(tmp_path))
    with viewlet.connect(tmp_path / "w") as db:
        make_table(db)
        for step in range(5):
            for _ in range(step % 3):
                change(db, rng)
            db.export("t", sink)
            assert held(rows(tmp_path)) == held(db.table("t").arrow())
            assert db.export("t", sink) == []


@pytest.mark.parametrize(("sinks", "rows"), LAKES)
def test_keys_of_several_columns_with_nulls(sinks: Any, rows: Any, tmp_path: Path) -> None:
    (_, sink), *_ = sinks(str(tmp_path))
    keyed = type(sink)(**{**sink.__dict__, "key": ("a", "b")})
    with viewlet.connect(tmp_path / "w") as db:
        db.sql("CREATE TABLE t (a INT, b STRING, n SMALLINT)")
        db.insert("t", [(1, "x", 1), (1, None, 2), (None, None, 3)])
        db.export("t", keyed)
        with db.epoch() as epoch:
            epoch.delete("t", [(1, None, 2), (None, None, 3)])
            epoch.insert("t", [(1, None, 20), (2, "y", 4)])
        db.export("t", keyed)
        assert held(rows(tmp_path)) == held(db.table("t").arrow())


@pytest.mark.parametrize(("sinks", "rows"), LAKES)
def test_columns_of_any_name(sinks: Any, rows: Any, tmp_path: Path) -> None:
    (_, sink), *_ = sinks(str(tmp_path))
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", "`a``b` BIGINT, `x y.z` STRING", primary_key=["a`b"])
        for number in range(3):
            db.upsert("t", [(10, "first"), (number % 2, f"last {number}")])
            db.export("t", sink)
            assert held(rows(tmp_path)) == held(db.table("t").arrow())


@pytest.mark.parametrize(("sinks", "rows"), LAKES)
def test_what_is_refused(sinks: Any, rows: Any, tmp_path: Path) -> None:
    (_, sink), *_ = sinks(str(tmp_path))
    with viewlet.connect(tmp_path / "w") as db, viewlet.connect(tmp_path / "other") as other:
        for each in (db, other):
            make_table(each)
            each.sql("CREATE TABLE b (x INT)")
        with pytest.raises(StoreError, match="finds rows by key, but b has no key"):
            db.export("b", sink)
        db.export("t", sink)
        with pytest.raises(StoreError, match="follows t of another warehouse"):
            other.export("t", sink)


@pytest.mark.parametrize(("sinks", "rows"), LAKES)
@pytest.mark.parametrize("rounds", quickly(1, [1, 20]))
def test_killed_while_it_sends(rounds: int, sinks: Any, rows: Any, tmp_path: Path) -> None:
    rng = random.Random(rounds)
    with viewlet.connect(tmp_path / "w") as db:
        make_table(db)
    for _ in range(rounds):
        run_and_kill(tmp_path / "w", rng, f"tests.sink.test_lake_tables:{sinks.__name__}", str(tmp_path))
        with viewlet.connect(tmp_path / "w") as db:
            for name, sink in sinks(str(tmp_path)):
                db.export(name, sink)
            assert held(rows(tmp_path)) == held(db.table("t").arrow())
