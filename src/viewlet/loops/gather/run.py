"""Runs a gathering step within an epoch: the programs of its views, then rounds until values converge.

The graph stays in memory between epochs. Stored are the current values of vertices and those that neighbours have read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from viewlet.columns.arrays import Positions
from viewlet.columns.rows import Rows
from viewlet.engine.prepared import PreparedProgram, prepare
from viewlet.loops.definition.compiled import CompiledUntil, GatheredState
from viewlet.loops.gather.sums import Sums
from viewlet.loops.gather.until import PairsUntil
from viewlet.loops.graph.deltas import Read, delta_of
from viewlet.loops.rounds.checkpoints import Checkpoints, Done
from viewlet.loops.rounds.progress import report_round
from viewlet.loops.rounds.rounds import endless
from viewlet.loops.rounds.working import WorkingMaps
from viewlet.store import Layout


@dataclass(frozen=True)
class PreparedGathering:
    """A gathering state whose programs can be run."""

    compiled: GatheredState
    condition: CompiledUntil

    @cached_property
    def programs(self) -> tuple[PreparedProgram | None, ...]:
        """The programs of the edges, their sources' columns, the vertices' own columns, and the first rows."""
        state = self.compiled
        found = (state.edges, state.sources, state.own, state.initial)
        return tuple(None if program is None else prepare(program) for program in found)

    @cached_property
    def until(self) -> PairsUntil:
        return PairsUntil(self.condition)

    def may_round(self, *, is_error: bool) -> bool:
        """Whether rounds may add differences to sums: small changes are held back, and rounds have no limit."""
        return self.until.holds_back and is_error

    @property
    def layout(self) -> Layout:
        names = tuple(f.name for f in self.compiled.fields)
        return Layout(columns=names, key=names)

    def visible(self, rows: Rows) -> Rows:
        """Keys and values as columns of the state."""
        arrays = list(rows.columns.values())
        if self.compiled.key_at:
            arrays.reverse()
        return rows.replaced(dict(zip([f.name for f in self.compiled.fields], arrays, strict=True)))

    def keyed(self, rows: Rows) -> Rows:
        """Rows of the state with the key first."""
        names = [f.name for f in self.compiled.fields]
        return rows.select(names[::-1] if self.compiled.key_at else names)


@dataclass
class Gatherer:
    """One epoch of a gathering state."""

    view: str
    state: PreparedGathering
    maps: WorkingMaps
    last: int
    is_error: bool
    hands_on: bool = True
    """Whether an epoch starts with the changes that the last one left; else these wait for their vertex to change."""
    checkpoints: Checkpoints | None = None
    resumed_at: int | None = None
    """The last round of an interrupted run that this one resumes from."""
    sizes: dict[int, int] = field(default_factory=dict)
    """How many rows each round changed."""
    in_full: list[int] = field(default_factory=list)
    """The rounds that were evaluated on all edges, because their changes reached many."""
    _is_written: bool = False

    def start(self, rows: Mapping[str, Rows]) -> Sums:
        """Compute all values from scratch."""
        sums = Sums(self.state.compiled.gathering)
        edges, sources, own, first = self._deltas(self.maps, rows, initial=True)
        assert edges is not None
        sums.change(edges, sources, own)
        if first is not None:
            sums.begin(first)
        self._take_up(sums)
        self._settle_everyone(sums)
        return sums

    def _settle_everyone(self, sums: Sums) -> None:
        everyone = np.arange(len(sums.vertices))
        sums.add_up(everyone)
        sums.keep_pending(everyone, pending=False)
        self._settle(sums, everyone[sums.differs(everyone)])

    def _take_up(self, sums: Sums) -> bool:
        """Restore the values that neighbours had read in an interrupted run; return whether there was one."""
        done = Done() if self.checkpoints is None else self.checkpoints.done()
        found = done.moved.get(self.state.compiled.name)
        if found is not None:
            self.sizes.update(done.sizes)
            self.resumed_at, self._is_written = max(done.sizes), True
            sums.begin(found.filter(found.weights > 0))
        return found is not None

    def go_on(self, sums: Sums, changes: Mapping[str, Rows]) -> Sums:
        """Apply an epoch's changes."""
        edges, sources, own, _ = self._deltas(self.maps, changes, initial=False)
        assert edges is not None
        reached = [sums.change(edges, sources, own)]
        if self.hands_on and self._take_up(sums):
            self._settle_everyone(sums)
            return sums
        if self.hands_on and not self.state.until.holds_back:
            reached.append(sums.hand_on(sums.pending))
        self._settle(sums, sums.add_up(sums.each(reached)))
        return sums

    def resumed(self, rows: Read, shown: Rows, read: Rows, reads: tuple[str, ...]) -> Sums:
        """The graph and its values before the epoch, built from stored rows."""
        sums = Sums(self.state.compiled.gathering)
        there = {bag: found for bag in reads if len(found := rows(bag))}
        edges, sources, own, _ = self._deltas(self.maps.aside(), there, initial=True)
        assert edges is not None
        sums.change(edges, sources, own)
        sums.resume(self.state.keyed(shown), self.state.keyed(read))
        return sums

    def _deltas(self, maps: WorkingMaps, changes: Mapping[str, Rows], *, initial: bool) -> list[Rows | None]:
        """The deltas of the views, and the first rows if `initial`."""
        maps.begin_round()
        *views, first = self.state.programs
        found = [None if ready is None else delta_of(ready, maps, changes, initial=initial) for ready in views]
        is_first = initial and first is not None
        return [*found, delta_of(first, maps.aside(), changes, initial=True) if first and is_first else None]

    def _settle(self, sums: Sums, made: Positions) -> None:
        """Run rounds until the condition holds, then again with the sums recomputed that differences were added to."""
        self._rounds(sums, made)
        while len(rounded := sums.rounded):
            self._rounds(sums, sums.add_up(rounded))

    def _rounds(self, sums: Sums, made: Positions) -> None:
        while True:
            moving = self._moving(sums, made)
            if not len(moving) or self._ends(sums, moving):
                return
            writes = self.checkpoints is not None and self.checkpoints.is_due
            before = sums.read_rows(moving) if writes and self._is_written else None
            made = sums.spread(moving, by_difference=self.state.may_round(is_error=self.is_error))
            self.in_full += [len(self.sizes)] if sums.is_in_full else []
            if writes:
                self._write_down(sums, moving, before)

    def _write_down(self, sums: Sums, moving: Positions, before: Rows | None) -> None:
        """Write a checkpoint of the values that neighbours have read: first all, then the changes of a round."""
        assert self.checkpoints is not None
        if before is None:
            rows = sums.read_rows(np.arange(len(sums.vertices)))
        else:
            rows = Rows.concat([before.negated(), sums.read_rows(moving)])
        self.checkpoints.write(self.sizes, {self.state.compiled.name: rows})
        self._is_written = True

    def _moving(self, sums: Sums, made: Positions) -> Positions:
        """The vertices whose changes are propagated; the others stay pending."""
        sums.keep_pending(made, pending=False)
        made = made[sums.differs(made)]
        sums.keep_pending(made, pending=True)
        if not self.state.until.holds_back or not len(made):
            return made
        return made[~self.state.until.held(self._pairs(sums, made))]

    def _ends(self, sums: Sums, moving: Positions) -> bool:
        until, number = self.state.until, len(self.sizes) + 1
        self.sizes[number] = sums.rows_of(moving)
        report_round(self.view, self.sizes)
        if until.is_done(self._pairs(sums, moving)) and until.is_done(self._pairs(sums, sums.pending)):
            return True
        if number >= self.last and self.is_error:
            rows = self.state.visible(sums.shown_rows(moving))
            hint = "UNTIL a condition that can be met, or MAX n to stop there"
            raise endless(self.view, self.sizes, {self.state.compiled.name: rows}, hint)
        return number >= self.last

    def _pairs(self, sums: Sums, vertices: Positions) -> Rows:
        return sums.pairs(vertices, key_at=self.state.compiled.key_at)
