"""Runs a loop of handlers within an epoch: the deltas of its first rows and of its relation, then rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.differences import values_of_rows
from viewlet.columns.rows import Rows
from viewlet.engine.prepared import PreparedProgram, prepare
from viewlet.loops.definition.compiled import HandledState
from viewlet.loops.graph.deltas import delta_of
from viewlet.loops.handlers.dataflow import Dataflow, Places, deltas_of
from viewlet.loops.handlers.deltas import Delta, Row
from viewlet.loops.handlers.handlers import Handlers
from viewlet.loops.rounds.progress import report_round
from viewlet.loops.rounds.rounds import endless
from viewlet.loops.rounds.working import WorkingMaps
from viewlet.plan.types import BINARY, STRING, Field
from viewlet.warehouse.declare.users_code import from_text

ENTRIES = (Field("part", STRING), Field("key", BINARY), Field("value", BINARY))
"""The columns of the stored state of handlers."""
_HINT = "a handler that makes no deltas where little changes ends a loop; max_rounds allows more of them"


@dataclass(frozen=True)
class PreparedHandlers:
    """A state whose programs and handlers can be run."""

    compiled: HandledState

    @cached_property
    def programs(self) -> tuple[PreparedProgram, PreparedProgram]:
        """The programs of the relation and of the first rows."""
        return prepare(self.compiled.relation), prepare(self.compiled.firsts)

    @cached_property
    def handlers(self) -> Handlers:
        found = from_text(f"view {self.compiled.bag}", self.compiled.code)
        assert isinstance(found, Handlers)
        return found

    def dataflow(self) -> Dataflow:
        """The loop before its first round."""
        return Dataflow(self.handlers, Places(self.compiled.key_at, *self.compiled.on))


@dataclass
class Handling:
    """One epoch of a loop of handlers."""

    view: str
    state: PreparedHandlers
    maps: WorkingMaps
    last: int
    stops: bool = False
    """Whether rounds just end at the limit; otherwise it is an error."""
    sizes: dict[int, int] = field(default_factory=dict)

    def run(self, flow: Dataflow, changes: Mapping[str, Rows], *, initial: bool) -> None:
        """Apply the changes of the loop's inputs."""
        self.maps.begin_round()
        relation, firsts = (_deltas(delta_of(p, self.maps, changes, initial=initial)) for p in self.state.programs)
        for number, changed in enumerate(flow.follow(relation, firsts), 0 if initial else 1):
            self.sizes[number] = len(changed)
            report_round(self.view, self.sizes)
            if number >= self.last:
                if self.stops:
                    return
                rows = as_rows([(d.row, 1) for d in changed], self.state.compiled.fields)
                raise endless(self.view, self.sizes, {self.state.compiled.name: rows}, _HINT)

    def resumed(self) -> Dataflow:
        """The loop in its stored state."""
        flow = self.state.dataflow()
        there = self.maps.stored(self.state.compiled.entries).consolidated().select([f.name for f in ENTRIES])
        flow.resume(values_of_rows(there))
        return flow


def _deltas(rows: Rows) -> list[Delta]:
    netted = rows.consolidate()
    return deltas_of(list(zip(values_of_rows(netted), netted.weights.tolist(), strict=True)))


def as_rows(changes: Sequence[tuple[Row, int]], fields: Sequence[Field]) -> Rows:
    """Rows with weights, as columns."""
    columns: dict[str, Any] = {
        f.name: pa.array([row[at] for row, _ in changes], type=arrow_type(f.type)) for at, f in enumerate(fields)
    }
    return Rows(columns, np.array([sign for _, sign in changes], dtype=np.int64))
