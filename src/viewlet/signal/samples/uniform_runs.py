"""Uniform signals as runs: pieces without long gaps, laid out in one array with zeros between them.

A run ends where the next sample is beyond an operator's reach, so computing on the array of all runs never mixes runs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewlet.signal.plan.kinds import Grid
from viewlet.signal.samples.ragged import Ints, Mask, Ragged, Values, spread


@dataclass(frozen=True, slots=True)
class Runs:
    """The positions and indexes of the runs of a ragged signal."""

    segments: Ints
    """The segment of each run."""
    begin: Ints
    """The position of each run's first sample; a last entry is the number of samples."""
    first: Ints
    """The index of each run's first sample."""
    spans: Ints
    """The number of indexes from each run's first to its last."""
    index: Ints | None
    """The index of each sample; None if no sample is missing in any run."""

    def __len__(self) -> int:
        return len(self.segments)

    @property
    def counts(self) -> Ints:
        return np.diff(self.begin)

    def places(self, starts: Ints) -> Ints:
        """The position of each sample, if runs start at these positions."""
        if self.index is None:
            return spread(starts + self.lead, self.counts)
        return self.index + np.repeat(starts - self.first, self.counts)

    @property
    def lead(self) -> Ints:
        """How many samples are missing at the start of each run, if none are missing elsewhere."""
        return self.spans - self.counts


def indexes(times: Ints, grid: Grid) -> Ints:
    """The index of each time on a grid."""
    return (times - grid.offset) // grid.period


def runs_of(signal: Ragged, grid: Grid, reach: int) -> Runs:
    """Runs in which each sample is at most `reach` after the one before."""
    there = np.flatnonzero(signal.lengths)
    begin, counts = signal.offsets[there], signal.lengths[there]
    first, last = indexes(signal.times[begin], grid), indexes(signal.times[begin + counts - 1], grid)
    if (last - first + 1 == counts).all():  # each segment is one run without missing samples
        return Runs(there, np.append(begin, len(signal.times)), first, counts, None)
    index, segments = indexes(signal.times, grid), signal.segments
    new = np.ones(len(index), dtype=np.bool_)
    new[1:] = (np.diff(index) > reach) | (np.diff(segments) != 0)
    begin = np.flatnonzero(new)
    ends = np.append(begin[1:], len(index)) - 1
    spans = index[ends] - index[begin] + 1
    return Runs(segments[begin], np.append(begin, len(index)), index[begin], spans, index)


@dataclass(frozen=True, slots=True)
class Dense:
    """Runs in one array, with zeros for missing samples and `pad` zeros before each run and after the last."""

    values: Values
    starts: Ints
    """The start of each run in `values`."""
    places: Ints | None
    """The position of each sample in `values`; None if there is nothing else."""

    def has_sample(self, places: Ints) -> Mask:
        """Whether these positions hold samples rather than padding."""
        if self.places is None:
            return np.ones(len(places), dtype=np.bool_)
        known = np.zeros(len(self.values), dtype=np.bool_)
        known[self.places] = True
        return known[places]

    def of_samples(self, array: Values, ahead: int = 0) -> Values:
        """The entries of an array like `values` at the samples, or `ahead` of them."""
        if self.places is None:
            return array[ahead : ahead + len(self.values)]
        return array[self.places + ahead]


def dense(signal: Ragged, runs: Runs, pad: int) -> Dense:
    """The values of all runs in one array, with zeros where samples are missing."""
    widths = runs.spans + pad
    starts = np.cumsum(widths) - widths + pad
    size = int(widths.sum()) + pad
    if len(signal.times) == size:
        return Dense(signal.values, starts, None)
    places = runs.places(starts)
    values = np.zeros((size, *signal.values.shape[1:]), dtype=signal.values.dtype)
    values[places] = signal.values
    return Dense(values, starts, places)


def interpolated(laid: Dense) -> Values:
    """The values with gaps filled by linear interpolation."""
    if laid.places is None or not len(laid.places):
        return laid.values
    everywhere = np.arange(len(laid.values))
    return np.stack([np.interp(everywhere, laid.places, column) for column in laid.values[laid.places].T], axis=1)
