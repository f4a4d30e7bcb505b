"""Checkpoints: states of operators by group and time."""

from __future__ import annotations

import numpy as np

from viewlet.signal.change.reach import lookbacks
from viewlet.signal.operators.scans import Recorded, States, is_due, state_size
from viewlet.signal.plan.nodes import Node, Scan
from viewlet.signal.samples.ragged import Ints, Spans, spread
from viewlet.signal.samples.series import Series


class Checkpoints:
    """The checkpoints of one operator: those at its spacing, and the last one of each group."""

    def __init__(self, node: Scan, series: Series | None = None) -> None:
        none = np.zeros(0, dtype=np.int64)
        self.node = node
        self.series = Series(none, none, np.zeros((0, state_size(node)))) if series is None else series

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
        last, once = np.ones((2, len(kept.groups)), dtype=np.bool_)
        last[:-1] = np.diff(kept.groups) != 0
        once[:-1] = last[:-1] | (np.diff(kept.times) != 0)  # several segments of a group may record the same one
        self.series = kept.filter(once & (last | is_due(self.node, kept.times)))

    def forget(self, spans: Spans) -> None:
        start = self.series.find(spans.groups, spans.start)
        kept = np.ones(len(self.series.times), dtype=np.bool_)
        kept[spread(start, self.series.find(spans.groups, spans.stop) - start)] = False
        self.series = self.series.filter(kept)


class Filters:
    """The checkpoints of all operators of a pipeline, with the interface of `Inputs`."""

    def __init__(self, node: Node, tolerance: float) -> None:
        self.node, self.tolerance = node, tolerance
        self.checkpoints: dict[Scan, Checkpoints] = {}
        self._lookbacks = lookbacks(node, tolerance)

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
