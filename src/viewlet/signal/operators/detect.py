"""Events in uniform signals: peaks and level crossings. If a sample that matters is missing, there is no event."""

from __future__ import annotations

import numpy as np

from viewlet.signal.plan.kinds import grid_of
from viewlet.signal.plan.nodes import Crossings, Peaks
from viewlet.signal.samples.ragged import Ragged, spread
from viewlet.signal.samples.uniform_runs import runs_of


def peaks(node: Peaks, signal: Ragged) -> Ragged:
    """Samples above all `radius` before them and not below any `radius` after them."""
    runs, values = runs_of(signal, grid_of(node.of), 1), signal.values[:, 0]
    place = spread(np.zeros(len(runs), dtype=np.int64), runs.counts)
    inside = (place >= node.radius) & (place + node.radius < np.repeat(runs.spans, runs.counts))
    at = np.flatnonzero(inside & (values > node.above))
    if len(at):
        highest = np.lib.stride_tricks.sliding_window_view(values, node.radius)
        at = at[(values[at] > highest[at - node.radius].max(axis=1)) & (values[at] >= highest[at + 1].max(axis=1))]
    is_peak = np.zeros(len(values), dtype=np.bool_)
    is_peak[at] = True
    return signal.filter(is_peak)


def crossings(node: Crossings, signal: Ragged) -> Ragged:
    """Samples on one side of the level, right after one on the other."""
    runs = runs_of(signal, grid_of(node.of), 1)
    above = signal.values[:, 0] >= node.level
    crosses = np.zeros(len(above), dtype=np.bool_)
    crosses[1:] = above[1:] & ~above[:-1] if node.direction == "rising" else above[:-1] & ~above[1:]
    crosses[runs.begin[:-1]] = False
    return signal.filter(crosses)
