"""Delivering the changes of a table or view to a function, epoch by epoch, across processes.

The position of a receiver is stored in the warehouse and committed after each call. If a process is killed in between,
the call is repeated with the same epoch: at least once. A receiver that stores the epoch's number with its own effects,
and skips a number that it has, achieves exactly once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from viewlet.columns.rows import Rows
from viewlet.errors import StoreError
from viewlet.store import Layout, Snapshot
from viewlet.warehouse.read.relation import Relation

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse

Receive = Callable[[int, pa.Table], object]
"""Receives an epoch's number and its changes, in the form of `changes`."""
BAG = "receivers.positions"
TYPES: dict[str, pa.DataType] = {"receiver": pa.string(), "name": pa.string(), "epoch": pa.int64()}
LAYOUT = Layout(columns=tuple(TYPES), key=("receiver", "name"))


def deliver(warehouse: Warehouse, name: str, receiver: str, receive: Receive) -> int:
    """Call a function with all rows, or with the changes of each new epoch; return the number of calls."""
    relation = Relation(warehouse, warehouse.catalog.find(name))
    position = position_of(relation.name, receiver, warehouse.store.snapshot())
    calls = 0
    for epoch, changes in _due(relation, receiver, position):
        receive(epoch, changes)
        note_position(warehouse, relation.name, receiver, epoch)
        calls += 1
    return calls


def position_of(name: str, receiver: str, snapshot: Snapshot) -> int | None:
    """The last epoch of a table or view that a receiver was given, or None."""
    return next((epoch for who, what, epoch in positions(snapshot) if (who, what) == (receiver, name)), None)


def positions(snapshot: Snapshot) -> list[tuple[str, str, int]]:
    """The receiver, the table or view, and the epoch of every stored position."""
    if not snapshot.has(BAG):
        return []
    rows = snapshot.contents(BAG).consolidated()
    return list(zip(*(rows[column].to_pylist() for column in TYPES), strict=True))


def _due(relation: Relation, receiver: str, position: int | None) -> Iterator[tuple[int, pa.Table]]:
    if position is None:
        yield relation.epoch, relation.as_inserted()
    elif relation.oldest > position:
        raise StoreError(
            f"{receiver} received {relation.name} up to epoch {position}, but its changes are kept only from epoch "
            f"{relation.oldest} on",
            hint="deliver to a receiver of another name, which gets all rows; or keep changes longer: db.set_retention",
        )
    else:
        yield from relation.changes_by_epoch(position)


def note_position(warehouse: Warehouse, name: str, receiver: str, now: int) -> None:
    """Commit the position of a receiver."""
    before = position_of(name, receiver, warehouse.store.snapshot())
    epochs = [now] if before is None else [now, before]
    columns = [[receiver] * len(epochs), [name] * len(epochs), epochs]
    arrays = {c: pa.array(values, kind) for (c, kind), values in zip(TYPES.items(), columns, strict=True)}
    with warehouse.writing(), warehouse.store.begin() as transaction:
        transaction.append(BAG, Rows(arrays, np.array([1, -1][: len(epochs)], dtype=np.int64)), LAYOUT)
        transaction.commit({"kind": "deliver", "name": name, "receiver": receiver, "up_to": now})
