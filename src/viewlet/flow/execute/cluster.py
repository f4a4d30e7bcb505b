"""A run of a stage on Spark: its groups are split into shares, and each task translates one (§4.5).

State is not moved: it is sorted by the hash of the routing key, and a task opens its runs in place and looks up the
rows of its groups. The driver sends the rows of the increments; tasks return the rows that the stage writes and, of
its state, only those that change. A share is a range of consecutive groups; all shares have about the same number of
rows of input and state. Shares are computed for each run, so that skew does not persist; stored runs do not depend on
them. Groups keep their order, so both engines write the same rows in the same order.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Positions, from_numpy, values_of
from viewlet.columns.rows import Rows
from viewlet.engine.cluster.exchange import PIECES, pack, piece_batch, piece_frame, unpack
from viewlet.engine.cluster.runner import partitions_for, tasks_errors
from viewlet.errors import FlowError, SparkFailed
from viewlet.flow.define.graph import Stage, StageState
from viewlet.flow.define.names import GROUP
from viewlet.flow.execute.translate import Translated, translate_groups
from viewlet.flow.increments.groups import Grouped, Groups, count_rows, keys_of, look_up, route_all, with_state
from viewlet.flow.increments.python_rows import types_of
from viewlet.store import Contents, Layout, RunRef, Snapshot, open_contents

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from viewlet.warehouse.warehouse import Warehouse


@dataclass(frozen=True)
class OpenedState:
    """The index of a state, opened in a task."""

    address: str
    refs: tuple[RunRef, ...]
    layout: Layout
    types: dict[str, pa.DataType]

    def contents(self, bag: str) -> Contents:
        return open_contents(self.address, self.refs, self.layout, self.types)

    @staticmethod
    def of(address: str, state: StageState, snapshot: Snapshot) -> OpenedState:
        assert state.table.index is not None
        found = snapshot.contents(state.table.index)
        return OpenedState(address, found.refs(), found.layout, dict(found.types))


@dataclass(frozen=True)
class Task:
    """A function for `mapInArrow` that translates shares."""

    where: str
    stage: Stage
    opened: OpenedState | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for part, data in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
                done = pickle.dumps(self._translated(pickle.loads(data)))
                yield piece_batch([(part, done)])

    def _translated(self, share: dict[str, Any]) -> dict[str, Any]:
        groups = _unpacked(self.stage, share)
        if self.stage.state is not None and self.opened is not None:
            groups = with_state(self.stage.state, groups, look_up(self.stage.state, groups.hashes(), self.opened))
        done = translate_groups(self.where, self.stage, groups).netted()
        old = None if done.old is None else pack(done.old)
        return {"written": {flow: pack(rows) for flow, rows in done.written.items()}, "old": old}


def can_share(stage: Stage) -> bool:
    """Whether the groups of a stage can be distributed: its state is looked up by key, and they share no clock."""
    keeps_time = getattr(stage.translate, "keeps_time", False)
    return bool(stage.key) and not keeps_time and (stage.state is None or bool(stage.state.route_by))


def translate_on_spark(
    warehouse: Warehouse, where: str, stage: Stage, read: dict[str, Rows], snapshot: Snapshot
) -> tuple[Translated, dict[str, int]]:
    """Translate a run on Spark; also return how many rows went to tasks and back."""
    from viewlet.spark.session.children import active

    state = stage.state
    is_full = state is not None and state.grouping == "full outer"
    groups = route_all(stage, read, keys_of(state, snapshot) if is_full and state is not None else None)
    opened = None if state is None else OpenedState.of(warehouse.store.address, state, snapshot)
    rows = groups.sizes() if state is None else groups.sizes() + count_rows(state, groups, snapshot)
    with active(warehouse.sessions.plain) as spark:
        bounds = cut(rows, partitions_for(spark.sparkContext.defaultParallelism))
        done = _run(spark, where, Task(where, stage, opened), [_packed(groups, *share) for share in bounds])
    back = _together(stage, done)
    return back, {"out": sum(len(grouped.rows) for grouped in groups.inputs.values()), "back": back.rows()}


def _run(spark: SparkSession, where: str, task: Task, shares: list[bytes]) -> list[dict[str, Any]]:
    from pyspark.errors import PythonException

    if not shares:
        return []
    frame = piece_frame(spark, list(enumerate(shares))).repartitionById(len(shares), "part")
    try:
        with tasks_errors():
            back = frame.mapInArrow(task, PIECES).toArrow().sort_by("part")
    except SparkFailed as error:
        if not isinstance(error.__cause__, PythonException):
            raise
        raised = re.findall(r"^\s*((?:[\w.]+: .+)|raised in .+)$", str(error.__cause__), re.MULTILINE)
        raise FlowError(f"{where} failed: {'; '.join(raised[-2:]) or error}") from error
    return [pickle.loads(data) for data in back["data"].to_pylist()]


def cut(rows: Positions, parts: int) -> list[tuple[int, int]]:
    """Split groups into ranges of about equal numbers of rows; each call counts as another row."""
    ends = np.concatenate([[0], (rows + 1).cumsum()])
    wanted = np.linspace(0, ends[-1], parts + 1)[1:-1]
    above = np.searchsorted(ends, wanted)
    nearest = np.where(wanted - ends[above - 1] < ends[above] - wanted, above - 1, above)
    return list(pairwise(np.unique(np.concatenate([[0], nearest, [len(rows)]])).tolist()))


def _packed(groups: Groups, start: int, stop: int) -> bytes:
    keys = {str(at): column.slice(start, stop - start) for at, column in enumerate(groups.keys)}
    inputs = {}
    for flow, grouped in groups.inputs.items():
        low, high = grouped.groups.searchsorted([start, stop])
        own = grouped.rows.take(np.arange(low, high))
        inputs[flow] = pack(own.with_columns({GROUP: from_numpy(grouped.groups[low:high] - start, pa.int64())}))
    own_keys = pack(Rows(keys, np.ones(stop - start, np.int64)))
    return pickle.dumps({"count": stop - start, "keys": own_keys, "inputs": inputs})


def _unpacked(stage: Stage, share: dict[str, Any]) -> Groups:
    inputs = {}
    for flow in stage.inputs:
        rows = unpack(share["inputs"][flow.flow])
        groups = values_of(rows[GROUP], "i8")
        inputs[flow.flow] = Grouped(rows.select([f.name for f in flow.fields]), groups)
    return Groups(tuple(unpack(share["keys"]).columns.values()), share["count"], inputs, None)


def _together(stage: Stage, done: list[dict[str, Any]]) -> Translated:
    """The results of all shares, in order."""
    written = {
        flow: Rows.concat([Rows.empty(types_of(fields)), *(unpack(share["written"][flow]) for share in done)])
        for flow, fields in stage.written_fields.items()
    }
    if stage.state is None:
        return Translated(written, None)
    nothing = Rows.empty(stage.state.table.types)
    return Translated(written, Rows.concat([nothing, *(unpack(share["old"]) for share in done)]))
