"""A PostgreSQL table that follows a table or view holds its rows, whatever is interrupted where."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import viewlet
from tests.marks import quickly
from tests.sink.kills import run_and_kill
from tests.sink.sender import change, make
from viewlet.errors import StoreError, UnsupportedValue


@pytest.fixture
def session(postgres: str) -> Iterator[Any]:
    with psycopg.connect(postgres, autocommit=True) as opened:
        yield opened


def sinks(postgres: str) -> list[tuple[str, Any]]:
    """By the table's own key, by a key that is given, by whole rows."""
    return [
        ("t", viewlet.postgres_table(postgres, "copy_of_t")),
        ("sums", viewlet.postgres_table(postgres, "sums_by_row")),
        ("notes", viewlet.postgres_table(postgres, "notes", key="id")),
    ]


def assert_followed(db: viewlet.Database, session: Any) -> None:
    for name, table in (("t", "copy_of_t"), ("sums", "sums_by_row"), ("notes", "notes")):
        columns = ", ".join(db.table(name).columns)
        found = session.execute(f"SELECT {columns} FROM {table}").fetchall()
        assert Counter(found) == Counter(db.table(name).rows()), name


def prepare(db: viewlet.Database) -> None:
    make(db)
    db.create_view("notes", "SELECT id, upper(note) AS note FROM t WHERE v > 2")


@pytest.mark.spark
def test_it_follows_and_catches_up(postgres: str, session: Any, spark: Any, tmp_path: Path) -> None:
    rng = random.Random(1)
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        prepare(db)
        change(db, rng)
        for step in range(8):
            for name, sink in sinks(postgres):
                db.export(name, sink)
            assert_followed(db, session)
            assert db.export("t", sinks(postgres)[0][1]) == []
            for _ in range(step % 3 + 1):
                change(db, rng)


def test_copies_of_a_row_are_counted(postgres: str, session: Any, tmp_path: Path) -> None:
    sink = viewlet.postgres_table(postgres, "bag")
    with viewlet.connect(tmp_path / "w") as db:
        db.sql("CREATE TABLE b (x INT, y STRING)")
        db.insert("b", [(1, None), (1, None), (1, None), (None, "")])
        db.export("b", sink)
        db.delete("b", [(1, None), (1, None)])
        db.insert("b", [(None, ""), (2, "z")])
        db.export("b", sink)
        assert Counter(session.execute("SELECT * FROM bag").fetchall()) == Counter(db.table("b").rows())


def test_all_types(postgres: str, session: Any, tmp_path: Path) -> None:
    schema = """a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f FLOAT, g DOUBLE, h DECIMAL(38,10), i STRING,
        j BINARY, k DATE, l TIMESTAMP, m TIMESTAMP_NTZ, n TIME(6), o ARRAY<INT>, p ARRAY<STRING>"""
    row = (
        True, -128, 1, 2, 1 << 62, 0.5, float("inf"), "1234567890123456789.0123456789", "x", b"\x00\xff", "0001-01-01",
        "2026-01-01 12:00:00.000001", "1969-12-31 23:59:59", "23:59:59.999999", [1, None], ["a b", None, "{,}"],
    )  # fmt: skip
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", schema)
        db.insert("t", [row, (None,) * len(row)])
        db.export("t", viewlet.postgres_table(postgres, "everything"))
        session.execute("SET TimeZone = 'UTC'")
        found = session.execute("SELECT * FROM everything").fetchall()
        assert {tuple(map(str, row)) for row in found} == {tuple(map(str, row)) for row in db.table("t").rows()}
        db.create_table("s", "m MAP<STRING, INT>")
        with pytest.raises(UnsupportedValue, match="m is map<string, int>"):
            db.export("s", viewlet.postgres_table(postgres, "maps"))


def test_what_is_refused(postgres: str, session: Any, tmp_path: Path) -> None:
    sink = viewlet.postgres_table(postgres, "target")
    session.execute("CREATE TABLE taken (id bigint)")
    session.execute("INSERT INTO taken VALUES (1)")
    with viewlet.connect(tmp_path / "w") as db, viewlet.connect(tmp_path / "other") as other:
        for each in (db, other):
            each.sql("CREATE TABLE t (id BIGINT)")
            each.sql("CREATE TABLE u (id BIGINT)")
        db.export("t", sink)
        with pytest.raises(StoreError, match=r"target follows t .hint"):
            db.export("u", sink)
        with pytest.raises(StoreError, match="follows t of another warehouse"):
            other.export("t", sink)
        with pytest.raises(StoreError, match="has rows that Viewlet did not write"):
            db.export("t", viewlet.postgres_table(postgres, "taken"))
        with pytest.raises(StoreError, match="t has no column x"):
            db.export("t", viewlet.postgres_table(postgres, "new", key="x"))
        db.insert("t", [(1,), (1,)])
        keyed = viewlet.postgres_table(postgres, "keyed", key="id")
        with pytest.raises(StoreError, match="duplicate key"):
            db.export("t", keyed)


@pytest.mark.spark
@pytest.mark.parametrize("rounds", quickly(1, [2, 20]))
def test_killed_while_it_sends(rounds: int, postgres: str, session: Any, spark: Any, tmp_path: Path) -> None:
    rng = random.Random(rounds)
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        prepare(db)
    for _ in range(rounds):
        run_and_kill(tmp_path / "w", rng, "tests.sink.test_postgres_table:sinks", postgres)
        with viewlet.connect(tmp_path / "w") as db:
            for name, sink in sinks(postgres):
                db.export(name, sink)
            assert_followed(db, session)
