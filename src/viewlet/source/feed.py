"""Sources that deliver changes in order: logs and versioned tables.

The law: a batch of changes and the position after it are one epoch. Reading continues from that position, so a process
that is killed anywhere resumes with exactly the changes that were not committed.
"""

from __future__ import annotations

import json
import time
from abc import abstractmethod
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from viewlet.columns.rows import Rows
from viewlet.intake.to_columns import to_arrow
from viewlet.source.bad_records import OnBad, Placed, bad_rows, bad_table, refuse_bad
from viewlet.source.replace_rows import exchange_rows
from viewlet.source.row_versions import Key, Versions, all_rows, known_versions, note_versions, versions_bags
from viewlet.store import Layout, Snapshot, Transaction
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.epoch.apply import commit_epoch, deltas_of, table_changes
from viewlet.warehouse.epoch.blame import blaming_changes
from viewlet.warehouse.epoch.table_changes import TableChanges
from viewlet.warehouse.source import Bag, Source, positions_bag

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse

Position = Mapping[str, Any]
"""A position in a feed, as JSON."""
TYPES: dict[str, pa.DataType] = {
    "position": pa.string(),
    "changes": pa.int64(),
    "bad": pa.int64(),
    "lag": pa.float64(),
}
LAYOUT = Layout(columns=tuple(TYPES), key=("position",))


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes of one epoch, and the position after them."""

    position: Position
    come: pa.Table
    """Inserted rows; with a primary key, each replaces the row with its key."""
    gone: pa.Table
    """Deleted keys, or whole rows if the table has no primary key."""
    records: int
    """The number of changes before netting."""
    clear: bool = False
    """Whether all existing rows are deleted first."""
    oldest: float | None = None
    """The time of the oldest change."""
    bad: Sequence[Placed] = ()
    versions: Versions = field(default_factory=dict)
    """The versions of rows, if the log has them."""


@dataclass(frozen=True, slots=True)
class Target:
    """The table that a feed fills."""

    warehouse: Warehouse
    table: Table

    def position(self) -> Position | None:
        """The position in the feed; None at the start."""
        return _last(self.warehouse.store.snapshot(), self.table)[0]

    def stored(self, keys: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...] | None]:
        """The current row of each key."""
        table = self.table
        assert table.index is not None
        given = table.with_key(Rows.of(to_arrow(table.name, table.fields, list(keys), columns=table.primary_key)))
        contents = self.warehouse.store.snapshot().contents(table.index)
        _, found = contents.lookup(table.key, given.hashes(table.key))
        rows = found.consolidate().select(table.names).arrow().to_pylist()
        by_key = {tuple(row[name] for name in table.primary_key): tuple(row.values()) for row in rows}
        return [by_key.get(key) for key in keys]

    def versions(self, keys: Sequence[Key] | None = None) -> dict[Key, int]:
        """The stored versions of rows; without keys, that of the last deletion of all rows."""
        if not self.table.primary_key:
            return {}
        wanted = [all_rows(self.table)] if keys is None else keys
        return known_versions(self.warehouse.store.snapshot(), self.table, wanted)


class Feed(Source):
    """A source that is read from a position."""

    on_bad: OnBad

    @property
    def tells_versions(self) -> bool:
        """Whether changes may be repeated, and have versions by which to recognize this."""
        return False

    @abstractmethod
    def batches(self, target: Target) -> Generator[Batch, None, None]:
        """New changes in batches. Code after a `yield` runs once the batch is committed."""

    def read(self, warehouse: Warehouse, table: Table) -> Iterator[int]:
        return take_portions(warehouse, _alone(table, self.batches(Target(warehouse, table))))

    def document(self) -> dict[str, Any]:
        return asdict(cast(Any, self))

    def bags(self, table: Table) -> list[Bag]:
        return [(positions_bag(table), LAYOUT, TYPES), *(versions_bags(table) if self.tells_versions else [])]

    def asides(self, table: Table) -> list[Table]:
        return [bad_table(table, by_file=False)] if self.on_bad == "KEEP ASIDE" else []

    def status(self, table: Table, snapshot: Snapshot) -> dict[str, Any]:
        position, row = _last(snapshot, table)
        return {"kind": self.kind, "position": position, **{name: row[name] for name in ("changes", "bad", "lag")}}


def fields_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """Decode the fields of a feed."""
    return {name: value for name, value in document.items() if name != "kind"}


def _last(snapshot: Snapshot, table: Table) -> tuple[Position | None, dict[str, Any]]:
    """The position in a table's feed, and the stored row that holds it."""
    rows = snapshot.contents(positions_bag(table)).consolidated().arrow().to_pylist()
    if not rows:
        return None, {"position": None, "changes": 0, "bad": 0, "lag": None}
    (row,) = rows
    return json.loads(row["position"]), row


Portion = Sequence[tuple[Table, Batch]]
"""The batches of one epoch, with their tables."""


def _alone(table: Table, batches: Generator[Batch, None, None]) -> Generator[Portion, None, None]:
    with closing(batches):
        for batch in batches:
            yield [(table, batch)]


def take_portions(warehouse: Warehouse, portions: Generator[Portion, None, None]) -> Iterator[int]:
    """Commit each portion in an epoch; yield the epochs."""
    began = time.time()
    with closing(portions):
        for portion in portions:
            yield _take(warehouse, portion, began)
            began = time.time()


def _take(warehouse: Warehouse, portion: Portion, began: float) -> int:
    """Commit a portion with the positions after it; return the epoch."""
    snapshot, deltas = warehouse.store.snapshot(), []
    for table, batch in portion:
        deltas += _deltas(warehouse, table, batch, snapshot)

    def advance(transaction: Transaction) -> Mapping[str, Any]:
        records = [_record(table, batch, began) for table, batch in portion]
        for (table, batch), record in zip(portion, records, strict=True):
            transaction.append(positions_bag(table), _moved(_last(snapshot, table)[1], batch, record["lag"]), LAYOUT)
            note_versions(transaction, snapshot, table, batch.versions)
        return {"source": records[0] if len(records) == 1 else _together(records)}

    with blaming_changes(warehouse, deltas):
        return commit_epoch(warehouse, deltas, advance)


def _deltas(warehouse: Warehouse, table: Table, batch: Batch, snapshot: Snapshot) -> list[tuple[TableChanges, Rows]]:
    """The changes of a table and of its table of bad records."""
    feed = table.source
    assert isinstance(feed, Feed), f"{table.name} is fed by no feed"
    if feed.on_bad == "FAIL EPOCH":
        refuse_bad(table, batch.bad)
    changes = table_changes(table, snapshot, warehouse.sessions)
    apply_batch(changes, batch, snapshot)
    kept = [(TableChanges(aside, None), bad_rows(aside, batch.bad)) for aside in feed.asides(table) if batch.bad]
    return [*deltas_of([changes]), *kept]


def apply_batch(changes: TableChanges, batch: Batch, snapshot: Snapshot) -> None:
    """Apply a batch to a table."""
    come, table = Rows.of(batch.come), changes.table
    if batch.clear:
        changes.exchange(snapshot.contents(table.name).consolidated(), come.filter(changes.admit(come)))
    elif table.primary_key:
        if batch.gone.num_rows:
            changes.discard_keys(Rows.of(batch.gone))
        changes.insert(come) if table.append_only else changes.upsert(come)
    else:
        exchange_rows(changes, Rows.of(batch.gone), come)


def _moved(before: Mapping[str, Any], batch: Batch, lag: float) -> Rows:
    """Replace the stored position."""
    new = {
        "position": json.dumps(batch.position, sort_keys=True),
        "changes": before["changes"] + batch.records,
        "bad": before["bad"] + len(batch.bad),
        "lag": lag,
    }
    rows = [new] if before["position"] is None else [before, new]
    arrays = {name: pa.array([row[name] for row in rows], kind) for name, kind in TYPES.items()}
    return Rows(arrays, np.array([-1, 1][-len(rows) :], dtype=np.int64))


def _together(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The combined record of several tables that were read together."""
    added = {name: sum(record[name] for record in records) for name in ("records", "bad")}
    longest = {name: max(record[name] for record in records) for name in ("read_ms", "lag")}
    return {"table": ", ".join(record["table"] for record in records), **added, **longest}


def _record(table: Table, batch: Batch, began: float) -> dict[str, Any]:
    """The source's part of the epoch's record; the lag is the time since the oldest change of the batch."""
    now = time.time()
    return {
        "table": table.name,
        "records": batch.records,
        "bad": len(batch.bad),
        "read_ms": round((now - began) * 1e3, 3),
        "lag": round(max(0.0, now - (batch.oldest or began)), 3),
    }
