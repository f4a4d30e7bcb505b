"""Runs a relaxation within an epoch: the programs of edges and first rows, then rounds.

The graph stays in memory between epochs. Only the result and the programs' maps are stored: a new process rebuilds the
graph when an epoch first changes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from viewlet.columns.arrays import Positions
from viewlet.columns.rows import Rows
from viewlet.engine.prepared import PreparedProgram, prepare
from viewlet.errors import EvaluationError
from viewlet.loops.definition.compiled import RelaxedState
from viewlet.loops.graph.deltas import Read, delta_of
from viewlet.loops.relax.network import Network
from viewlet.loops.rounds.checkpoints import Checkpoints, Done
from viewlet.loops.rounds.progress import report_round
from viewlet.loops.rounds.rounds import endless
from viewlet.loops.rounds.working import WorkingMaps

_HINT = "each time around some cycle of edges the value gets better: take such edges away, or out of the step"


@dataclass(frozen=True)
class PreparedRelaxation:
    """A relaxation whose programs can be run."""

    compiled: RelaxedState

    @cached_property
    def edges(self) -> PreparedProgram:
        return prepare(self.compiled.edges)

    @cached_property
    def firsts(self) -> PreparedProgram:
        return prepare(self.compiled.firsts)

    @property
    def programs(self) -> tuple[PreparedProgram, PreparedProgram]:
        return self.edges, self.firsts


@dataclass
class Relaxing:
    """One epoch of a relaxation."""

    view: str
    state: PreparedRelaxation
    reads: tuple[str, ...]
    maps: WorkingMaps
    checkpoints: Checkpoints | None = None
    resumed_at: int | None = None
    """The last round of an interrupted run that this one resumes from."""
    sizes: dict[int, int] = field(default_factory=dict)
    """How many rows each round changed."""
    _is_written: bool = False

    def start(self, rows: Mapping[str, Rows]) -> tuple[Network, Rows]:
        """Build the graph from all rows, resuming from an interrupted run; return it and the state."""
        network = Network(self.state.compiled.offering)
        found = self._found_before()
        edges, firsts = self.deltas(self.maps, rows, initial=True)
        self._count(network, network.follow(edges, firsts, found), 0)
        return network, self.visible(network.changes())

    def go_on(self, network: Network | None, changes: Mapping[str, Rows], before: Read) -> tuple[Network, Rows]:
        """Apply an epoch's changes; return the graph and the change of the state."""
        if network is None:
            network = self.resumed(before)
        found = self._found_before()
        edges, firsts = self.deltas(self.maps, changes, initial=False)
        try:
            self._count(network, network.follow(edges, firsts, found), 1)
        except EvaluationError:  # perhaps on a row that is no longer reachable
            network.begins_again = True
            self._count(network, network.solve(), 0)
        return network, self.visible(network.changes())

    def _found_before(self) -> Rows | None:
        """The values that an interrupted run had found."""
        done = Done() if self.checkpoints is None else self.checkpoints.done()
        found = done.moved.get(self.state.compiled.name)
        self.resumed_at = None if found is None else max(done.sizes)
        return found

    def resumed(self, before: Read) -> Network:
        """The graph before the epoch."""
        there = {bag: rows for bag in self.reads if len(rows := before(bag))}
        network = Network(self.state.compiled.offering)
        for _ in network.follow(*self.deltas(self.maps.aside(), there, initial=True)):
            pass
        network.changes()
        return network

    def visible(self, rows: Rows) -> Rows:
        """Keys and values as columns of the state."""
        arrays = list(rows.columns.values())
        arrays = [*arrays[1:], *arrays[:1]] if self.state.compiled.key_at else arrays
        return rows.replaced(dict(zip([f.name for f in self.state.compiled.fields], arrays, strict=True)))

    def deltas(self, maps: WorkingMaps, changes: Mapping[str, Rows], *, initial: bool) -> Iterator[Rows]:
        """The deltas of the edges and of the first rows."""
        maps.begin_round()
        for ready in self.state.programs:
            yield delta_of(ready, maps, changes, initial=initial)

    def _count(self, network: Network, rounds: Iterator[Positions], first: int) -> None:
        self.sizes.clear()
        for number, changed in enumerate(rounds, first if self.resumed_at is None else self.resumed_at + 1):
            self.sizes[number] = len(changed)
            self._write_down(network, changed)
            report_round(self.view, self.sizes)
            if number > len(network.vertices) + 1:  # longer than any path without a cycle
                rows = self.visible(network.rows(changed[:3]))
                raise endless(self.view, self.sizes, {self.state.compiled.name: rows}, _HINT)

    def _write_down(self, network: Network, changed: Positions) -> None:
        """Write a checkpoint of the values of vertices: first of all, then of those that a round changed."""
        if self.checkpoints is not None and self.checkpoints.is_due:
            vertices = changed if self._is_written else np.flatnonzero(network.labels.present)
            self.checkpoints.write(self.sizes, {self.state.compiled.name: network.found(vertices)})
            self._is_written = True


def rounds(relaxing: Relaxing, rows: Read) -> Iterator[Rows]:
    """The rows of each round, from the start."""
    network = Network(relaxing.state.compiled.offering)
    there = {bag: found for bag in relaxing.reads if len(found := rows(bag))}
    for changed in network.follow(*relaxing.deltas(relaxing.maps, there, initial=True)):
        yield relaxing.visible(network.rows(np.sort(changed)))
