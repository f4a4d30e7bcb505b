"""A PostgreSQL table with columns of all ordinary types, changed at random, and what it holds as PostgreSQL says."""

from __future__ import annotations

import random
from typing import Any

import psycopg

COLUMNS = """id bigint, small smallint, n integer, price numeric(12,2), ratio double precision, single real,
    ok boolean, note text, raw bytea, day date, at timestamptz, plain timestamp, clock time, code char(4), tag uuid,
    doc jsonb, mood mood, long text, numbers integer[], words text[], wide numeric, extra text"""
SCHEMA = """id BIGINT, small SMALLINT, n INT, price DECIMAL(12,2), ratio DOUBLE, single FLOAT, ok BOOLEAN, note STRING,
    raw BINARY, day DATE, at TIMESTAMP, plain TIMESTAMP_NTZ, clock TIME(6), code STRING, tag STRING, doc STRING,
    mood STRING, long STRING, numbers ARRAY<INT>, words ARRAY<STRING>, wide DECIMAL(38,10)"""
NAMES = [part.split()[0] for part in SCHEMA.replace("\n", " ").split(", ")]
CASTS = {"single": "float8", "tag": "text", "doc": "text", "mood": "text"}
SHOWN = ", ".join(f"{name}::{CASTS[name]}" if name in CASTS else name for name in NAMES)


def make(session: Any, name: str, *, key: str = ", PRIMARY KEY (id)", identity: str = "DEFAULT") -> None:
    session.execute("DO $$ BEGIN CREATE TYPE mood AS ENUM ('sad', 'glad'); EXCEPTION WHEN duplicate_object THEN END $$")
    session.execute(f"CREATE TABLE {name} ({COLUMNS}{key})")
    session.execute(f"ALTER TABLE {name} ALTER COLUMN long SET STORAGE EXTERNAL")  # kept apart, and left out of updates
    session.execute(f"ALTER TABLE {name} REPLICA IDENTITY {identity}")


def _maybe(rng: random.Random, value: Any) -> Any:
    return None if rng.random() < 0.15 else value


def row(rng: random.Random, key: int) -> list[Any]:
    values = [
        rng.randrange(-(1 << 15), 1 << 15),
        rng.choice([0, 1, -(1 << 31), (1 << 31) - 1]),
        rng.choice(["0.00", "-12.34", "9999999999.99"]),
        rng.choice(["0.1", "-0", "NaN", "Infinity", "1e-300", "123456.789"]),
        rng.choice(["0.1", "NaN", "-Infinity", "16777217"]),
        rng.choice([True, False]),
        rng.choice(["", "plain", "tab\tand\nline", 'quote " \\ back', "ünï — 漢字", "\\N", "NULL"]),
        rng.choice([b"", b"\x00\xff", b"abc"]),
        rng.choice(["2026-02-28", "0001-01-01", "9999-12-31"]),
        rng.choice(["2026-02-28 12:30:00.000001+05", "1970-01-01 00:00:00+00", "0099-01-01 00:00:00+00"]),
        rng.choice(["2026-02-28 12:30:00.5", "1969-12-31 23:59:59.999999"]),
        rng.choice(["00:00:00", "23:59:59.999999"]),
        rng.choice(["ab", "abcd"]),
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        rng.choice(['{"a": [1, null]}', '"x"']),
        rng.choice(["sad", "glad"]),
        rng.choice("xy") * rng.choice([3, 9000]),
        rng.choice(["{}", "{1,NULL,-3}"]),
        rng.choice([[], ["a b", None, 'q"\\', "", "NULL", "{,}"]]),
        rng.choice(["1.5", "12345678901234567890.0123456789"]),
        "left alone",
    ]
    return [key, *(_maybe(rng, value) for value in values)]


def change(session: Any, name: str, rng: random.Random, *, keyed: bool = True) -> None:
    """A transaction of some statements; some are rolled back, and some truncate."""
    with session.transaction(force_rollback=rng.random() < 0.15):
        for _ in range(rng.choice([1, 1, 4])):
            _statement(session, name, rng, keyed=keyed)


def _statement(session: Any, name: str, rng: random.Random, *, keyed: bool) -> None:
    key = rng.randrange(30)
    match rng.choice(["insert", "insert", "insert", "update", "update", "note", "key", "delete", "truncate"]):
        case "insert":
            values = row(rng, key)
            marks = ", ".join(["%s"] * len(values))
            conflict = "ON CONFLICT (id) DO NOTHING" if keyed else ""
            session.execute(f"INSERT INTO {name} VALUES ({marks}) {conflict}", values)
        case "update":
            values = row(rng, key)
            session.execute(
                f"UPDATE {name} SET n = %s, price = %s, long = %s, numbers = %s::integer[] WHERE id = %s",
                (values[2], values[3], values[17], values[18], key),
            )
        case "note":  # leaves a long value alone
            session.execute(f"UPDATE {name} SET note = %s WHERE id < %s", (f"note {rng.randrange(9)}", key))
        case "key":
            session.execute(
                f"UPDATE {name} SET id = %s WHERE id = %s AND NOT EXISTS (SELECT FROM {name} WHERE id = %s)",
                (key + 100, key, key + 100),
            )
        case "delete":
            session.execute(f"DELETE FROM {name} WHERE id = %s", (key,))
        case "truncate" if rng.random() < 0.3:
            session.execute(f"TRUNCATE {name}")


def contents(session: Any, name: str) -> list[str]:
    """The rows, as Python's values, in the order of their texts."""
    return in_order(session.execute(f"SELECT {SHOWN} FROM {name}").fetchall())


def in_order(rows: Any) -> list[str]:
    """Rows as texts, sorted; times are in UTC."""
    return sorted(repr(tuple(_plain(value) for value in row)) for row in rows)


def _plain(value: Any) -> Any:
    import datetime as dt
    from decimal import Decimal

    if isinstance(value, Decimal):
        return f"{value:f}".rstrip("0").rstrip(".") if "." in f"{value:f}" else f"{value:f}"
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC).replace(tzinfo=None)
    return list(map(_plain, value)) if isinstance(value, list) else value


def connect(database: str) -> Any:
    return psycopg.connect(database, autocommit=True, options="-c TimeZone=UTC")
