"""Uniform signals as runs: stretches without long gaps, one after the other in one array, with zeros between them.

A run ends where the next sample is further away than an operator can see, so that what it computes on the array of
all runs never mixes two of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewlet.signal.plan.kinds import Grid
from viewlet.signal.samples.ragged import Ints, Mask, Ragged, Values, spread


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
    index: Ints | None
    """The index of each sample; None if no sample is missing in any run."""

    def __len__(self) -> int:
        return len(self.segments)

    @property
    def counts(self) -> Ints:
        return np.diff(self.begin)

    def places(self, starts: Ints) -> Ints:
        """Where each sample is, if runs begin at some places."""
        if self.index is None:
            return spread(starts + self.lead, self.counts)
        return self.index + np.repeat(starts - self.first, self.counts)

    @property
    def lead(self) -> Ints:
        """How many samples are missing at the beginning of each run, where otherwise none are."""
        return self.spans - self.counts


def indexes(times: Ints, grid: Grid) -> Ints:
    """The index of each time on a grid."""
    return (times - grid.offset) // grid.period


def runs_of(signal: Ragged, grid: Grid, reach: int) -> Runs:
    """Runs in which each sample is at most `reach` after the one before."""
    there = np.flatnonzero(signal.lengths)
    begin, counts = signal.offsets[there], signal.lengths[there]
    first, last = indexes(signal.times[begin], grid), indexes(signal.times[begin + counts - 1], grid)
    if (last - first + 1 == counts).all():  # each segment is one run, without a look at its samples
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
    """Runs with their gaps filled, `pad` zeros before each and after the last."""

    values: Values
    starts: Ints
    """Where each run begins in `values`."""
    places: Ints | None
    """Where each sample is in `values`; None if they are all there is."""

    def has_sample(self, places: Ints) -> Mask:
        """Whether there is a sample at some places, and not a zero for one that is missing."""
        if self.places is None:
            return np.ones(len(places), dtype=np.bool_)
        known = np.zeros(len(self.values), dtype=np.bool_)
        known[self.places] = True
        return known[places]

    def of_samples(self, array: Values, ahead: int = 0) -> Values:
        """What an array as long as `values` has where samples are, or so many places ahead."""
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
    """The values with gaps on the line between their neighbours."""
    if laid.places is None or not len(laid.places):
        return laid.values
    everywhere = np.arange(len(laid.values))
    return np.stack([np.interp(everywhere, laid.places, column) for column in laid.values[laid.places].T], axis=1)
