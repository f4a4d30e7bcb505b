"""Streaming tables: append-only tables that a project's flows feed, with the position of each flow in each stream.

The law: the rows that a flow appends and the epoch up to which it has read are one commit. A flow whose definition
changes continues from its position; rows already appended stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from viewlet.columns.rows import Rows
from viewlet.project import open_windows
from viewlet.store import Layout, Snapshot, Transaction
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.declare.watermarks import shown_time
from viewlet.warehouse.source import Bag, Source, positions_bag

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse

TYPES: dict[str, pa.DataType] = {"flow": pa.string(), "stream": pa.string(), "epoch": pa.int64()}
LAYOUT = Layout(columns=tuple(TYPES), key=("flow", "stream"))
Positions = dict[tuple[str, str], int]
"""The last epoch read, by flow and stream."""


@dataclass(frozen=True)
class ProjectFlows(Source):
    """The flows of a project as a source. As they are the project's code, only running the project reads them."""

    kind: ClassVar[str] = "project"
    project: str

    def read(self, warehouse: Warehouse, table: Table) -> Iterator[int]:
        return iter(())

    def bags(self, table: Table) -> list[Bag]:
        return [
            (positions_bag(table), LAYOUT, TYPES),
            (open_windows.windows_bag(table), open_windows.LAYOUT, open_windows.TYPES),
        ]

    def status(self, table: Table, snapshot: Snapshot) -> dict[str, Any]:
        read = {f"{flow} of {stream}": epoch for (flow, stream), epoch in read_positions(snapshot, table).items()}
        marks = {flow: shown_time(mark * 1000) for flow, mark in open_windows.watermarks(snapshot, table).items()}
        return {"kind": self.kind, "project": self.project, "read": read, **({"watermarks": marks} if marks else {})}

    def document(self) -> dict[str, Any]:
        return {"project": self.project}


def read(document: Mapping[str, Any]) -> ProjectFlows:
    return ProjectFlows(document["project"])


def read_positions(snapshot: Snapshot, table: Table) -> Positions:
    """The positions of all flows."""
    rows = snapshot.contents(positions_bag(table)).consolidated()
    flows, streams, epochs = (rows[name].to_pylist() for name in TYPES)
    return dict(zip(zip(flows, streams, strict=True), epochs, strict=True))


def move(transaction: Transaction, table: Table, before: Positions, flow: str, streams: Mapping[str, int]) -> None:
    """Store the new positions of a flow."""
    moved = {(flow, stream): epoch for stream, epoch in streams.items() if before.get((flow, stream)) != epoch}
    gone = [(*key, before[key], -1) for key in moved if key in before]
    rows = [*gone, *((*key, epoch, 1) for key, epoch in moved.items())]
    *columns, weights = zip(*rows, strict=True) if rows else ((), (), (), ())
    arrays = {name: pa.array(c, kind) for (name, kind), c in zip(TYPES.items(), columns, strict=True)}
    transaction.append(positions_bag(table), Rows(arrays, np.array(weights, dtype=np.int64)), LAYOUT)
