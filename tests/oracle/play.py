"""Play a case: apply its epochs to a warehouse and to plain lists, and compare with Spark after each."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.oracle.cases import Case, Change, Row
from viewlet import Database
from viewlet.errors import SqlError


class Model:
    """The tables as plain lists of rows."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.rows: dict[str, list[Row]] = {t.name: [] for t in case.tables}
        self.has_key = {t.name: t.has_key for t in case.tables}

    def apply(self, change: Change, epoch: Any) -> None:
        """One change, to the lists and to the open epoch."""
        rows = self.rows[change.table]
        match change.kind:
            case "insert":
                there = {r[0] for r in rows} if self.has_key[change.table] else set()
                new = [r for r in change.rows if not there or r[0] not in there]
                rows += new
                epoch.insert(change.table, new)
            case "delete":
                at = sorted({p % len(rows) for p in change.picks}, reverse=True) if rows else []
                epoch.delete(change.table, [rows[i] for i in at])
                for i in at:
                    del rows[i]
            case "upsert":
                keys = {r[0] for r in change.rows}
                rows[:] = [r for r in rows if r[0] not in keys] + list(change.rows)
                epoch.upsert(change.table, list(change.rows))


Seen = Callable[[Database, str], None]


def play(case: Case, path: Path, spark: Any, engine: str, seen: Seen | None = None) -> None:
    """Every view equals what Spark SQL returns, after every epoch, and after opening the warehouse again."""
    with Database(path, spark=spark, engine=engine) as db:  # type: ignore[arg-type]
        for table in case.tables:
            db.sql(table.ddl)
        model, early = Model(case), case.views[: len(case.views) // 2]
        _create(db, early)
        for number, changes in enumerate(case.epochs):
            if number == 1:
                _create(db, case.views[len(early) :])
            with db.epoch() as epoch:
                for change in changes:
                    model.apply(change, epoch)
            compare(db, model)
        if len(case.epochs) < 2:
            _create(db, case.views[len(early) :])
            compare(db, model)
        for name in db.catalog.views if seen else ():
            seen(db, name)
        before = contents(db)
    with Database(path, spark=spark, read_only=True) as db:
        assert contents(db) == before, "another reader of the warehouse sees other rows"


def contents(db: Database) -> dict[str, Counter[str]]:
    return {name: Counter(map(_plain, db.table(name).rows())) for name in db.catalog.names()}


class Unplayable(Exception):
    """Spark itself cannot run a query, so that there is nothing to compare with."""


def _create(db: Database, views: Any) -> None:
    for name, query in views:
        try:
            db.create_view(name, query.text)
        except SqlError as refused:
            if _runs_on_spark(db, query.text):
                raise
            raise Unplayable(f"{name}: {refused}") from refused


def _runs_on_spark(db: Database, text: str) -> bool:
    """Whether Spark runs a query that was refused, over the same tables and views."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        db.reading.query(text).toArrow()
    except (PySparkException, Py4JJavaError):
        return False
    return True


def compare(db: Database, model: Model) -> None:
    for name, rows in model.rows.items():
        found, expected = Counter(map(_plain, db.table(name).rows())), Counter(map(_plain, rows))
        assert found == expected, f"table {name}: {found - expected} too many, {expected - found} missing"
    for name in db.catalog.views:
        wrong = db.check(name)
        assert wrong.num_rows == 0, f"{name} differs:\n{wrong.to_pylist()[:8]}\n{db.explain(name)}"


def _plain(row: Row) -> str:
    """A row as text, so that NaN equals NaN and nested values can be counted."""
    return repr(tuple(map(_value, row)))


def _value(v: Any) -> Any:
    if isinstance(v, dt.datetime):
        return v.replace(tzinfo=None).isoformat()
    if isinstance(v, list) and v and isinstance(v[0], tuple):
        v = dict(v)
    return sorted(v.items(), key=repr) if isinstance(v, dict) else v
