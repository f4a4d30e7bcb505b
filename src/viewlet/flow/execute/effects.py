"""The writes of one run: chunks of flows, output of pipelined stages, tables. Nothing is visible before `commit`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from viewlet.columns.arrays import truth_of
from viewlet.columns.fresh_names import free_name
from viewlet.columns.rows import Rows, group
from viewlet.flow.define.graph import CHANGE_TYPE, Fields, Graph, Stage
from viewlet.flow.execute.control import Bags, Control, StageControl, as_json, chunk_bag
from viewlet.flow.execute.translate import netted, translate_rows
from viewlet.flow.increments.connector import Piece
from viewlet.flow.increments.framing import Frame, split
from viewlet.flow.increments.python_rows import python_rows, types_of
from viewlet.flow.increments.runnable import Decision
from viewlet.store import Contents, Layout, Snapshot, Transaction
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.epoch.apply import commit_epoch, deltas_of
from viewlet.warehouse.epoch.blame import blaming_changes
from viewlet.warehouse.epoch.table_changes import TableChanges

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse

Chunk = tuple[str, int]
"""A flow and the number of a chunk."""
_GONE = pa.array(["delete", "update_preimage"])


class Effects:
    """Collects the writes of one run of a stage, or of one reading of the sources."""

    def __init__(self, graph: Graph, control: Control, snapshot: Snapshot) -> None:
        self._graph, self._control, self._snapshot = graph, control, snapshot
        self._tables: dict[str, TableChanges] = {}
        self._fields: dict[str, Fields] = {}
        """The columns of the flows written."""
        self.chunks: dict[Chunk, Rows] = {}
        """The rows written for consumers."""
        self.rows: dict[str, int] = {}
        """The number of rows written to each flow."""

    def write(self, flow: str, rows: Rows, fields: Fields, key: int, *, every_run: bool = False) -> None:
        """Write rows to a flow and run the stages pipelined into it; `key`: the default framing key."""
        if not len(rows) and not every_run:
            return
        self.rows[flow] = self.rows.get(flow, 0) + len(rows)
        if self._graph.consumers(flow):
            self._enqueue(flow, rows, fields, key)
        if flow in self._graph.kept:
            change_table(self.changes(self._graph.kept[flow]), rows)
        for stage in self._graph.pipelined(flow):
            written = translate_rows(f"stage {stage.name} of flow {self._graph.name}", stage, rows)
            self.write_all(stage, written, key)

    def write_all(self, stage: Stage, written: Mapping[str, Rows], key: int) -> None:
        """Write the outputs of a stage."""
        for output in stage.outputs:
            self.write(output.flow, written[output.flow], output.fields, key, every_run=output.every_run)

    def changes(self, table: Table) -> TableChanges:
        """The changes of a table."""
        if table.name not in self._tables:
            index = None if table.index is None else self._snapshot.contents(table.index)
            self._tables[table.name] = TableChanges(table, index)
        return self._tables[table.name]

    def _enqueue(self, flow: str, rows: Rows, fields: Fields, key: int) -> None:
        control = self._control
        number = control.new_chunk(flow)
        self._fields[flow] = fields
        self.chunks[flow, number] = rows.select([f.name for f in fields])
        for stage in self._graph.consumers(flow):
            frames = [Frame(key, 0, len(rows), is_closed=True)]
            connector = control.stages[stage.name].connectors[flow]
            if (framing := next(i.framing for i in stage.inputs if i.flow == flow)) is not None:
                frames, state = split(python_rows(flow, fields, rows), framing, connector.framing_state)
                connector.framing_state = as_json(f"the state of framing {flow} for stage {stage.name}", state)
            connector.add(number, frames)

    def commit(
        self, warehouse: Warehouse, record: Mapping[str, Any], written: Mapping[str, int], started: float
    ) -> int:
        """Commit all writes, with the flow's cursors, and refresh the views that read its tables; return the epoch."""

        def also(transaction: Transaction) -> dict[str, Any]:
            self._control.forget_removed(self._graph.name, transaction)
            self._append_held(transaction)
            self._control.save(self._graph.name, transaction)
            ms = round((time.perf_counter() - started) * 1e3, 3)
            return {**record, "kind": "flow", "name": self._graph.name, "written": written, "ms": ms}

        changed = deltas_of(list(self._tables.values()))
        with blaming_changes(warehouse, changed):
            return commit_epoch(warehouse, changed, also)

    def _append_held(self, transaction: Transaction) -> None:
        """Store the chunks that consumers have not read yet; those read in this very run are never written."""
        for (flow, number), rows in self.chunks.items():
            if number in self._control.held.get(flow, ()):
                position, layout = _chunk_layout(self._fields[flow])
                placed = rows.with_columns({position: pa.array(np.arange(len(rows)))})
                transaction.append(chunk_bag(self._graph.name, flow, number), placed, layout)


def _chunk_layout(fields: Fields) -> tuple[str, Layout]:
    """The name of a chunk's column of positions, and the chunk's layout."""
    names = tuple(f.name for f in fields)
    position = free_name("_position", names)
    return position, Layout(columns=(*names, position), key=(position,), form="table")


def pieces_of(decision: Decision, control: StageControl) -> dict[str, list[Piece]]:
    """The locations of the increments that a run reads."""
    return {flow: control.connectors[flow].complete[decision.skip.get(flow, 0)].pieces for flow in decision.read}


def read_pieces(
    graph: str, stage: Stage, pieces: Mapping[str, Sequence[Piece]], bags: Bags, fresh: Mapping[Chunk, Rows]
) -> dict[str, Rows]:
    """The rows of increments, in the order written; `fresh` chunks are still in memory."""
    read = {}
    for reading in (i for i in stage.inputs if i.flow in pieces):
        parts = []
        for number, start, stop in pieces[reading.flow]:
            rows = fresh.get((reading.flow, number))
            if rows is None:
                rows = _stored_chunk(bags.contents(chunk_bag(graph, reading.flow, number)), reading.fields)
            parts.append(rows if len(rows) == stop - start else rows.take(np.arange(start, stop)))
        read[reading.flow] = Rows.concat(parts or [Rows.empty(types_of(reading.fields))])
    return read


def _stored_chunk(found: Contents, fields: Fields) -> Rows:
    """The rows of a chunk in the order written."""
    position, _ = _chunk_layout(fields)
    rows = found.scan()
    return rows.take(np.argsort(rows[position].to_numpy(), kind="stable")).select([f.name for f in fields])


def take_inputs(decision: Decision, control: StageControl) -> None:
    """Mark the increments that a run has read, and remove those that it no longer needs."""
    for name, count in decision.skip.items():
        control.connectors[name].remove(count)
    for name in decision.read:
        control.connectors[name].complete[0].is_read = True
    for name in decision.remove:
        control.connectors[name].remove()


def change_table(changes: TableChanges, rows: Rows) -> None:
    """Apply the rows of a flow to its table; with a key, the last row of each key wins."""
    table, latest = changes.table, _last(rows, changes.table)
    if CHANGE_TYPE.name not in rows.names:
        (changes.upsert if table.primary_key else changes.insert)(latest)
        return
    gone = truth_of(pc.is_in(latest[CHANGE_TYPE.name], _GONE))
    kept = latest.select(table.names)
    if table.primary_key:
        changes.discard_keys(kept.filter(gone).select(table.primary_key))
        changes.upsert(kept.filter(~gone))
        return
    old, new = netted(kept.filter(gone), kept.filter(~gone))
    if len(old):
        changes.delete(old)
    if len(new):
        changes.insert(new)


def _last(rows: Rows, table: Table) -> Rows:
    """The last row of each primary key; all rows if there is no key."""
    if not table.primary_key or len(rows) < 2:
        return rows
    backward = rows.take(np.arange(len(rows) - 1, -1, -1))
    first, _ = group([backward[name] for name in table.primary_key], len(rows))
    return backward.take(first)
