"""Sources that deliver changes in order: a log, or a table with versions.

The law: a batch of changes is one epoch, with the position after it. What follows is read from that position, so
a process that is killed anywhere goes on with what was not committed, and with nothing else.
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
"""How far a feed was read, as JSON."""
TYPES: dict[str, pa.DataType] = {
    "position": pa.string(),
    "changes": pa.int64(),
    "bad": pa.int64(),
    "lag": pa.float64(),
}
LAYOUT = Layout(columns=tuple(TYPES), key=("position",))


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes that are taken in at once, and the position after them."""

    position: Position
    come: pa.Table
    """Rows of the table; where it has a primary key, each instead of the one with its key."""
    gone: pa.Table
    """Keys, where the table has a primary key; else whole rows."""
    records: int
    """How many changes these are the net of."""
    clear: bool = False
    """Whether all that was there goes first."""
    oldest: float | None = None
    """When the oldest of the changes was made."""
    bad: Sequence[Placed] = ()
    versions: Versions = field(default_factory=dict)
    """Of rows, where their log tells them."""


@dataclass(frozen=True, slots=True)
class Target:
    """The table that a feed is read into."""

    warehouse: Warehouse
    table: Table

    def position(self) -> Position | None:
        """How far the feed was read; None at the start."""
        return _last(self.warehouse.store.snapshot(), self.table)[0]

    def stored(self, keys: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...] | None]:
        """The row of each key, as it is there now."""
        table = self.table
        assert table.index is not None
        given = table.with_key(Rows.of(to_arrow(table.name, table.fields, list(keys), columns=table.primary_key)))
        contents = self.warehouse.store.snapshot().contents(table.index)
        _, found = contents.lookup(table.key, given.hashes(table.key))
        rows = found.consolidate().select(table.names).arrow().to_pylist()
        by_key = {tuple(row[name] for name in table.primary_key): tuple(row.values()) for row in rows}
        return [by_key.get(key) for key in keys]

    def versions(self, keys: Sequence[Key] | None = None) -> dict[Key, int]:
        """The versions of rows that are known; unless any are named, that of the last time when all rows went."""
        if not self.table.primary_key:
            return {}
        wanted = [all_rows(self.table)] if keys is None else keys
        return known_versions(self.warehouse.store.snapshot(), self.table, wanted)


class Feed(Source):
    """A source that is read from a position on."""

    on_bad: OnBad

    @property
    def tells_versions(self) -> bool:
        """Whether changes may come again, and say by a version that they do."""
        return False

    @abstractmethod
    def batches(self, target: Target) -> Generator[Batch, None, None]:
        """What is new, in portions. What follows a `yield` runs once the batch is committed."""

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
    """The fields of a feed from its document."""
    return {name: value for name, value in document.items() if name != "kind"}


def _last(snapshot: Snapshot, table: Table) -> tuple[Position | None, dict[str, Any]]:
    """The position of a table's feed, and the row that holds it."""
    rows = snapshot.contents(positions_bag(table)).consolidated().arrow().to_pylist()
    if not rows:
        return None, {"position": None, "changes": 0, "bad": 0, "lag": None}
    (row,) = rows
    return json.loads(row["position"]), row


Portion = Sequence[tuple[Table, Batch]]
"""What one epoch takes in: a batch for each of some tables."""


def _alone(table: Table, batches: Generator[Batch, None, None]) -> Generator[Portion, None, None]:
    with closing(batches):
        for batch in batches:
            yield [(table, batch)]


def take_portions(warehouse: Warehouse, portions: Generator[Portion, None, None]) -> Iterator[int]:
    """Commit portions as they are read, each in an epoch; the numbers of the epochs."""
    began = time.time()
    with closing(portions):
        for portion in portions:
            yield _take(warehouse, portion, began)
            began = time.time()


def _take(warehouse: Warehouse, portion: Portion, began: float) -> int:
    """Commit a portion with the positions after it; the number of the epoch."""
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
    """What a batch changes in a table, and in the table of its bad records."""
    feed = table.source
    assert isinstance(feed, Feed), f"{table.name} is fed by no feed"
    if feed.on_bad == "FAIL EPOCH":
        refuse_bad(table, batch.bad)
    changes = table_changes(table, snapshot, warehouse.sessions)
    apply_batch(changes, batch, snapshot)
    kept = [(TableChanges(aside, None), bad_rows(aside, batch.bad)) for aside in feed.asides(table) if batch.bad]
    return [*deltas_of([changes]), *kept]


def apply_batch(changes: TableChanges, batch: Batch, snapshot: Snapshot) -> None:
    """Change a table by a batch."""
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
    """The last position goes, the new one comes."""
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
    """What a record says of several tables that were read at once."""
    added = {name: sum(record[name] for record in records) for name in ("records", "bad")}
    longest = {name: max(record[name] for record in records) for name in ("read_ms", "lag")}
    return {"table": ", ".join(record["table"] for record in records), **added, **longest}


def _record(table: Table, batch: Batch, began: float) -> dict[str, Any]:
    """What the epoch's record says of the reading; the lag is the time since the oldest change that it takes in."""
    now = time.time()
    return {
        "table": table.name,
        "records": batch.records,
        "bad": len(batch.bad),
        "read_ms": round((now - began) * 1e3, 3),
        "lag": round(max(0.0, now - (batch.oldest or began)), 3),
    }
