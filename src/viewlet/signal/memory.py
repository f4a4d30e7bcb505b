"""Signals in memory: readings, results and checkpoints as arrays sorted by group and time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from viewlet.errors import RejectedEpoch
from viewlet.signal.evaluate import evaluate
from viewlet.signal.kinds import kind_of
from viewlet.signal.nodes import Node, Scan, Source, sources
from viewlet.signal.ragged import Ints, Mask, Ragged, Spans, Values, spread
from viewlet.signal.reach import lookbacks
from viewlet.signal.refresh import Difference, refresh
from viewlet.signal.scans import Recorded, States, spacing, state_size


@dataclass(frozen=True, slots=True)
class Series:
    """Samples of all groups, sorted by group and time."""

    groups: Ints
    times: Ints
    values: Values

    @staticmethod
    def sorted(groups: Ints, times: Ints, values: Values) -> Series:
        order = np.lexsort((times, groups))
        return Series(groups[order], times[order], values[order])

    def read(self, spans: Spans) -> Ragged:
        """The samples within spans."""
        start, stop = self.find(spans.groups, spans.start), self.find(spans.groups, spans.stop)
        at = spread(start, stop - start)
        return Ragged(np.concatenate([[0], np.cumsum(stop - start)]), self.times[at], self.values[at])

    def find(self, groups: Ints, times: Ints) -> Ints:
        """The position of the first sample of each group at or after a time, by bisection of all at once."""
        low = self.groups.searchsorted(groups, "left")
        high = self.groups.searchsorted(groups, "right")
        for _ in range(int((high - low).max(initial=0)).bit_length()):
            open_, middle = low < high, (low + high) // 2
            before = np.zeros(len(low), dtype=np.bool_)
            before[open_] = self.times[middle[open_]] < times[open_]
            low, high = np.where(before, middle + 1, low), np.where(open_ & ~before, middle, high)
        return low

    def without(self, groups: Ints, times: Ints) -> Series:
        """The samples at other times than some that are there."""
        at = self.find(groups, times)
        return Series(*(np.delete(column, at, axis=0) for column in (self.groups, self.times, self.values)))

    def with_more(self, groups: Ints, times: Ints, values: Values) -> Series:
        """These samples, and others."""
        at = self.find(groups, times)
        order = np.lexsort((times, groups))
        more = groups[order], times[order], values[order]
        parts = zip((self.groups, self.times, self.values), more, strict=True)
        return Series(*(np.insert(old, at[order], new, axis=0) for old, new in parts))

    def has(self, groups: Ints, times: Ints) -> Mask:
        at = np.minimum(self.find(groups, times), max(len(self.times) - 1, 0))
        if not len(self.times):
            return np.zeros(len(groups), dtype=np.bool_)
        return (self.groups[at] == groups) & (self.times[at] == times)


def nothing(node: Node) -> Series:
    """No samples of the kind that an operator gives."""
    kind = kind_of(node)
    shape = (0, len(kind.channels)) if kind.width is None else (0, len(kind.channels), kind.width)
    none = np.zeros(0, dtype=np.int64)
    return Series(none, none, np.zeros(shape, dtype=np.complex128 if kind.is_complex else np.float64))


class Checkpoints:
    """States of one filter, by group and time: those at its spacing, and the last one of each group."""

    def __init__(self, node: Scan) -> None:
        self.node, none = node, np.zeros(0, dtype=np.int64)
        self.series = Series(none, none, np.zeros((0, state_size(node))))

    def resume(self, spans: Spans) -> States:
        at = self.series.find(spans.groups, spans.start) - 1
        found = at >= self.series.groups.searchsorted(spans.groups)
        result = States.none(self.node, len(spans))
        result.at[found], result.states[found] = self.series.times[at[found]], self.series.values[at[found]]
        return result

    def record(self, groups: Ints, recorded: Recorded) -> None:
        own = groups[recorded.segments]
        known = self.series.has(own, recorded.at)
        kept = self.series.without(own[known], recorded.at[known]).with_more(own, recorded.at, recorded.states)
        last = np.ones(len(kept.groups), dtype=np.bool_)
        last[:-1] = np.diff(kept.groups) != 0
        grid = kind_of(self.node).grid
        assert grid is not None
        due = ((kept.times - grid.offset) // grid.period + 1) % spacing(self.node) == 0
        needed = last | due
        self.series = Series(kept.groups[needed], kept.times[needed], kept.values[needed])

    def forget(self, spans: Spans) -> None:
        start = self.series.find(spans.groups, spans.start)
        at = spread(start, self.series.find(spans.groups, spans.stop) - start)
        self.series = Series(
            *(np.delete(c, at, axis=0) for c in (self.series.groups, self.series.times, self.series.values))
        )


class Online:
    """A pipeline in memory: fed with changes of readings, it tells how its result changes."""

    def __init__(self, node: Node, tolerance: float = 1e-12) -> None:
        self.node, self.tolerance = node, tolerance
        self.readings: dict[Source, Series] = {source: nothing(source) for source in sources(node)}
        self.series = nothing(node)
        self.checkpoints: dict[Scan, Checkpoints] = {}
        self._lookbacks = lookbacks(node, tolerance)

    def read(self, source: Source, spans: Spans) -> Ragged:
        return self.readings[source].read(spans)

    def result(self, spans: Spans) -> Ragged:
        return self.series.read(spans)

    def resume(self, node: Scan, spans: Spans) -> States:
        known = self.checkpoints.get(node)
        return States.none(node, len(spans)) if known is None else known.resume(spans)

    def lookback(self, node: Scan) -> int:
        return self._lookbacks[node]

    def record(self, node: Scan, groups: Ints, recorded: Recorded) -> None:
        self.checkpoints.setdefault(node, Checkpoints(node)).record(groups, recorded)

    def forget(self, node: Scan, spans: Spans) -> None:
        if node in self.checkpoints:
            self.checkpoints[node].forget(spans)

    def update(self, changes: Mapping[Source, Changes]) -> Difference:
        """Takes in changes of readings; what becomes of the result."""
        for source, change in changes.items():
            self.readings[source] = change.applied(self.readings[source])
        groups = np.concatenate([change.groups for change in changes.values()])
        times = np.concatenate([change.times for change in changes.values()])
        difference = refresh(self.node, groups, times, self, self.tolerance)
        gone, come, spans = difference.gone, difference.come, difference.spans
        kept = self.series.without(spans.groups[gone.segments], gone.times)
        self.series = kept.with_more(spans.groups[come.segments], come.times, come.values)
        return difference


@dataclass(frozen=True, slots=True)
class Changes:
    """Readings that are deleted or put in; one that is put in where there is one replaces it."""

    groups: Ints
    times: Ints
    values: Values
    deleted: Mask

    def applied(self, series: Series) -> Series:
        known = series.has(self.groups, self.times)
        if (unknown := np.flatnonzero(self.deleted & ~known)).size:
            group, time = self.groups[unknown[0]], self.times[unknown[0]]
            raise RejectedEpoch(f"there is no reading of group {group} at {time} to delete")
        left = series.without(self.groups[known], self.times[known])
        new = ~self.deleted
        return left.with_more(self.groups[new], self.times[new], self.values[new])


def evaluate_all(node: Node, readings: Mapping[Source, Series]) -> Series:
    """A pipeline over all readings, from scratch."""
    online = Online(node)
    online.readings = dict(readings)
    groups = np.unique(np.concatenate([series.groups for series in readings.values()]))
    found = evaluate(node, Spans.everything(groups), online)
    return Series(groups[found.segments], found.times, found.values)
