"""Follows a warehouse: the epochs as they are committed, by this process or another, and their changes.

A warehouse keeps the records of its last epochs; the page keeps the records that it has seen for longer.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from viewlet.ui.cells import table_document

if TYPE_CHECKING:
    from viewlet.database import Database

MOST_EPOCHS = 10_000
"""The most records that the page keeps."""
MOST_CHANGES = 200
"""The most changed rows of an epoch that are sent."""

Record = dict[str, Any]


class Follower:
    """The records of epochs, and the changes of tables and views on display."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.records: list[Record] = []
        self._lock = threading.Lock()

    def catch_up(self) -> int:
        """Advance to the last committed epoch; return its number."""
        with self._lock:
            if self.db.read_only:
                self.db.refresh()
            last = self.records[-1]["epoch"] if self.records else None
            if last != self.db.last_epoch:
                new = [compact(record) for record in self.db.history(since=last)]
                self.records = [*self.records, *new][-MOST_EPOCHS:]
            return self.epoch

    @property
    def epoch(self) -> int:
        """The last known epoch."""
        return self.records[-1]["epoch"] if self.records else 0

    def since(self, epoch: int) -> list[Record]:
        """The records after an epoch, oldest first."""
        records = self.records
        first = len(records)
        while first and records[first - 1]["epoch"] > epoch:
            first -= 1
        return records[first:]

    def page(self, before: int | None, most: int, name: str | None = None) -> dict[str, Any]:
        """A page of records before an epoch, newest first, with the total number."""
        found = [r for r in self.records if name is None or name in r["touched"]] if name else self.records
        older = found if before is None else [r for r in found if r["epoch"] < before]
        return {"records": older[: -most - 1 : -1], "total": len(found)}

    def changes(self, name: str, since: int) -> list[dict[str, Any]]:
        """The changes of a table or view in each epoch after `since`, as far as kept."""
        relation = self.db.table(name)
        by_epoch = relation.changes_by_epoch(max(since, relation.oldest))
        return [{"epoch": epoch, **table_document(rows, MOST_CHANGES)} for epoch, rows in by_epoch]


def compact(record: Record) -> Record:
    """The fields of a record that the list of epochs shows."""
    tables, views = record.get("tables", {}), record.get("views", {})
    return {
        "epoch": record["epoch"],
        "timestamp": record["timestamp"],
        "kind": record.get("kind", "epoch"),
        "name": record.get("name"),
        "stage": record.get("stage"),
        "engine": record.get("engine"),
        "ms": record.get("ms", sum(v.get("ms", 0) for v in views.values()) or None),
        "tables": {name: [t["inserted"], t["deleted"]] for name, t in tables.items()},
        "views": {name: [v.get("inserted", 0), v.get("deleted", 0), v.get("ms", 0)] for name, v in views.items()},
        "increment": sum(v.get("weighed", {}).get("increment", 0) for v in views.values()),
        "recompute": sum(v.get("weighed", {}).get("recompute", 0) for v in views.values()),
        "rounds": {name: v["rounds"] for name, v in views.items() if "rounds" in v},
        "lag": record.get("source", {}).get("lag"),
        "touched": [*tables, *views, *([record["name"]] if record.get("name") else [])],
    }
