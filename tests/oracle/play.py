"""Play a case: apply its epochs to a warehouse and to plain lists, and compare with Spark after each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from tests.oracle.bags import difference
from tests.oracle.cases import Case, Change, Row, elsewhere
from tests.oracle.judge import Judge, Unplayable, judge_of
from tests.oracle.queries import Query
from viewlet import Database
from viewlet.engine.choose import EngineName
from viewlet.engine.terms import regroup_groups as regroup
from viewlet.errors import EvaluationError, SqlError

__all__ = ["Unplayable", "play"]

Seen = Callable[[str], None]
"""What is done with the JSON of a view's analysed plan."""


class Model:
    """The tables as plain lists of rows."""

    def __init__(self, case: Case) -> None:
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


def play(
    case: Case, path: Path, spark: Any, engine: EngineName, seen: Seen | None = None, *, every_epoch: bool = True
) -> None:
    """Every view equals what Spark SQL returns, after every epoch or just the last, and to another reader.

    Where it does, `check` has nothing to say, whatever settings the session has by then.
    """
    judge = judge_of(spark)
    judge.begin(case.tables, case.settings, path.parent / "judge")
    with Database(path, spark=judge.user, engine=engine) as db:
        Game(case, db, judge, every_epoch).play()
        if seen is not None:
            for name, _ in case.views:
                seen(judge.frame(name)._jdf.queryExecution().analyzed().toJSON())
        judge.move(elsewhere(case.settings))
        for name in db._warehouse.catalog.views:
            wrong = db.check(name)
            assert wrong.num_rows == 0, f"{name} is right, and `check` says otherwise:\n{wrong.to_pylist()[:8]}"
        before = contents(db)
    with Database(path, spark=judge.user, read_only=True) as db:
        for name, rows in contents(db).items():
            wrong = difference(rows, before[name])
            assert not wrong, f"another reader of the warehouse sees other rows: {wrong}"


@contextmanager
def _narrow(only: bool) -> Iterator[None]:
    """Small groups are read whole; in every second epoch just what is needed of them is, as of large ones."""
    with patch.multiple(regroup, _FEW=0, _SHORT=0) if only else nullcontext():
        yield


def contents(db: Database) -> dict[str, pa.Table]:
    return {name: db.table(name).arrow() for name in db._warehouse.catalog.names()}


@dataclass
class Game:
    """A case under way: the warehouse, the rows it should have, and the judge of its views."""

    case: Case
    db: Any
    """A `Database`, or what stands for one elsewhere."""
    judge: Judge
    every_epoch: bool
    model: Model = field(init=False)

    def play(self) -> None:
        """All epochs; half of the views are there from the start, the others come after the first epoch."""
        self.model = Model(self.case)
        half = len(self.case.views) // 2
        for table in self.case.tables:
            self.db.sql(table.ddl)
        self._create(self.case.views[:half])
        for number, changes in enumerate(self.case.epochs):
            if number == 1:
                self._create(self.case.views[half:])
            with self._unless_spark_fails_too(), _narrow(number % 2 == 1), self.db.epoch() as epoch:
                for change in changes:
                    self.model.apply(change, epoch)
            if self.every_epoch and number < len(self.case.epochs) - 1:
                self.compare()
        if len(self.case.epochs) < 2:
            self._create(self.case.views[half:])
        self.compare()

    def _create(self, views: Iterable[tuple[str, Query]]) -> None:
        for name, query in views:
            self.judge.create_view(name, query.settled)
            with self._unless_spark_fails_too(name):
                self.db.create_view(name, query.given)

    @contextmanager
    def _unless_spark_fails_too(self, *new: str) -> Iterator[None]:
        """An error of a view is a finding only where Spark answers."""
        try:
            yield
        except (SqlError, EvaluationError):
            for table in self.case.tables:
                self.judge.put(table, self.model.rows[table.name])
            for name in (*self.db.views, *new):
                self.judge.answer(name)  # which is the end of the case where Spark fails
            raise

    def compare(self) -> None:
        for table in self.case.tables:
            expected = self.judge.put(table, self.model.rows[table.name])
            wrong = difference(self.db.table(table.name).arrow(), expected)
            assert not wrong, f"table {table.name}: {wrong}"
        texts = " ".join(query.given for _, query in self.case.views)
        for name in self.db.views:
            wrong = difference(self.db.table(name).arrow(), self.judge.answer(name), texts)
            assert not wrong, f"{name} differs: {wrong}\n{self.db.explain(name)}"
