"""Uniform signals as runs: stretches without long gaps, one after the other in one array, with zeros between them.

A run ends where the next sample is further away than an operator can see, so that what it computes on the array of
all runs never mixes two of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewlet.signal.kinds import Grid
from viewlet.signal.ragged import Ints, Ragged, Values


@dataclass(frozen=True, slots=True)
class Runs:
    """Where the runs of a ragged signal begin and end, among its samples and by index."""

    segments: Ints
    """The segment of each run."""
    begin: Ints
    """The position of its first sample; a last entry is the number of samples."""
    first: Ints
    """The index of its first sample."""
    spans: Ints
    """From its first index to its last, both counted."""
    index: Ints
    """The index of each sample."""

    def __len__(self) -> int:
        return len(self.segments)

    @property
    def counts(self) -> Ints:
        return np.diff(self.begin)


def indexes(times: Ints, grid: Grid) -> Ints:
    """The index of each time on a grid."""
    return (times - grid.offset) // grid.period


def runs_of(signal: Ragged, grid: Grid, reach: int) -> Runs:
    """Runs in which each sample is at most `reach` after the one before."""
    index, segments = indexes(signal.times, grid), signal.segments
    new = np.ones(len(index), dtype=np.bool_)
    new[1:] = (np.diff(index) > reach) | (np.diff(segments) != 0)
    begin = np.flatnonzero(new)
    ends = np.concatenate([begin[1:], [len(index)]])[: len(begin)] - 1
    spans = index[ends] - index[begin] + 1
    return Runs(segments[begin], np.concatenate([begin, [len(index)]]), index[begin], spans, index)


@dataclass(frozen=True, slots=True)
class Dense:
    """Runs with their gaps filled, `pad` zeros before each and after the last."""

    values: Values
    starts: Ints
    """Where each run begins in `values`."""
    places: Ints
    """Where each sample is in `values`."""


def dense(signal: Ragged, runs: Runs, pad: int) -> Dense:
    """The values of all runs in one array, with zeros where samples are missing."""
    widths = runs.spans + pad
    starts = np.cumsum(widths) - widths + pad
    places = runs.index + np.repeat(starts - runs.first, runs.counts)
    size = int(widths.sum()) + pad
    if len(places) == size:
        return Dense(signal.values, starts, places)
    values = np.zeros((size, *signal.values.shape[1:]), dtype=signal.values.dtype)
    values[places] = signal.values
    return Dense(values, starts, places)


def interpolated(laid: Dense) -> Values:
    """The values with gaps on the line between their neighbours."""
    if not len(laid.places):
        return laid.values
    everywhere = np.arange(len(laid.values))
    return np.stack([np.interp(everywhere, laid.places, column) for column in laid.values[laid.places].T], axis=1)
