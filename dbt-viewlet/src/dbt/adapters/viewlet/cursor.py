"""Statements, one at a time: the part of a DB-API cursor that dbt uses, over `Database.sql`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from dbt.adapters.viewlet import warehouses

if TYPE_CHECKING:
    from dbt.adapters.viewlet.credentials import ViewletCredentials

    import viewlet

Row = tuple[Any, ...]


class Cursor:
    """Runs a statement and holds what it gave."""

    def __init__(self, credentials: ViewletCredentials) -> None:
        self._credentials = credentials
        self._rows: list[Row] = []
        self.description: list[tuple[Any, ...]] | None = None
        self.rowcount = -1
        self.message = ""
        """What the statement did, for people."""

    def execute(self, sql: str, bindings: Sequence[Any] | None = None) -> None:
        with warehouses.opened(self._credentials) as db:
            before = db.last_epoch
            given = db.sql(sql, list(bindings)) if bindings else db.sql(sql)
            self._rows, self.description = [], None
            if isinstance(given, pa.Table):
                self._take(given)
            else:
                self.rowcount, self.message = what_changed(db, before)

    def _take(self, table: pa.Table) -> None:
        self.description = [(f.name, str(f.type), None, None, None, None, f.nullable) for f in table.schema]
        self._rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        self.rowcount, self.message = table.num_rows, f"{table.num_rows} rows"

    def fetchone(self) -> Row | None:
        return self._rows.pop(0) if self._rows else None

    def fetchmany(self, size: int) -> list[Row]:
        taken, self._rows = self._rows[:size], self._rows[size:]
        return taken

    def fetchall(self) -> list[Row]:
        return self.fetchmany(len(self._rows))

    def close(self) -> None:
        self._rows = []


def what_changed(db: viewlet.Database, since: int) -> tuple[int, str]:
    """How many rows came and went since an epoch in what was written, not counting views that follow; and as text."""
    changes = [change for record in db.history(since=since) for change in _written(record)]
    if db.last_epoch == since:
        return 0, "unchanged"
    inserted, deleted = (sum(change.get(kind, 0) for change in changes) for kind in ("inserted", "deleted"))
    return inserted + deleted, f"epoch {db.last_epoch}: +{inserted} −{deleted} rows"


def _written(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The counts of the tables that an epoch changed, or of the one table or view that it made."""
    views = record.get("views", {})
    return list(record.get("tables", {}).values()) or [views.get(record.get("name"), record)]


class Handle:
    """What dbt takes for a connection; each statement finds the one warehouse that is open."""

    def __init__(self, credentials: ViewletCredentials) -> None:
        self.credentials = credentials

    def cursor(self) -> Cursor:
        return Cursor(self.credentials)

    def close(self) -> None:
        """Connections of other threads may go on."""
