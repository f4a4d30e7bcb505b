"""Pipelines in memory: the same refresh as in a warehouse, on arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from viewlet.errors import RejectedEpoch
from viewlet.signal.change.checkpoints import Filters
from viewlet.signal.change.evaluate import evaluate
from viewlet.signal.change.refresh import Difference, refresh
from viewlet.signal.plan.nodes import Node, Source, sources
from viewlet.signal.samples.ragged import Ints, Mask, Ragged, Spans, Values
from viewlet.signal.samples.series import Series, nothing


class Online(Filters):
    """A pipeline in memory, which turns changes of readings into changes of its result."""

    def __init__(self, node: Node, tolerance: float = 1e-12) -> None:
        super().__init__(node, tolerance)
        self.readings: dict[Source, Series] = {source: nothing(source) for source in sources(node)}
        self.series = nothing(node)

    def read(self, source: Source, spans: Spans) -> Ragged:
        return self.readings[source].read(spans)

    def result(self, spans: Spans) -> Ragged:
        return self.series.read(spans)

    def update(self, changes: Mapping[Source, Changes]) -> Difference:
        """Apply changes of readings; return the change of the result."""
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
    """Deleted and inserted readings; an insertion replaces the reading at its time."""

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
    """Evaluate a pipeline over all readings, from scratch."""
    online = Online(node)
    online.readings = dict(readings)
    parts = [series.each_group() for series in readings.values()]
    groups = parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))
    found = evaluate(node, Spans.everything(groups), online)
    return Series(np.repeat(groups, found.lengths), found.times, found.values)
