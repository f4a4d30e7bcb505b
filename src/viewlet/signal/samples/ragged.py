"""Grouped signals as columns: the samples of all groups in one array, sorted by (segment, time), with offsets.

A segment is a piece of one group's signal: all of it offline, the times that a change reaches online. Operators process
all segments at once, so that a hundred thousand groups take a few calls of NumPy, not a hundred thousand.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

Ints = np.ndarray[Any, np.dtype[np.int64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]
Values = np.ndarray[Any, np.dtype[Any]]
"""float64 or complex128: a row for each sample, a column for each channel; a third axis if samples are arrays."""

FOREVER = 1 << 62
LATEST = 1 << 61
"""The bound on times of readings; spans that end beyond it have no end."""


@dataclass(frozen=True, slots=True)
class Spans:
    """For each segment, its group and a range of times [start, stop)."""

    groups: Ints
    start: Ints
    stop: Ints

    def __len__(self) -> int:
        return len(self.groups)

    @staticmethod
    def everything(groups: Ints) -> Spans:
        """All times of groups."""
        return Spans(groups, np.full(len(groups), -FOREVER), np.full(len(groups), FOREVER))

    def moved(self, start: int | Ints, stop: int | Ints) -> Spans:
        """Move the ends of spans; infinite ends stay infinite."""
        return Spans(self.groups, later(self.start, start), later(self.stop, stop))

    def hull(self, other: Spans) -> Spans:
        """The smallest spans that contain both."""
        return Spans(self.groups, np.minimum(self.start, other.start), np.maximum(self.stop, other.stop))

    def take(self, at: Any) -> Spans:
        return Spans(self.groups[at], self.start[at], self.stop[at])


def later(times: Ints, by: int | Ints) -> Ints:
    """Times plus `by`; FOREVER stays FOREVER."""
    if isinstance(by, int) and abs(by) >= LATEST:
        return np.full(len(times), FOREVER if by > 0 else -FOREVER)
    return np.where(np.abs(times) >= LATEST, times, times + by)


@dataclass(frozen=True)
class Ragged:
    """Samples of segments: those of segment i are at offsets[i] to offsets[i + 1], in the order of times."""

    offsets: Ints
    times: Ints
    values: Values

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Ints:
        return np.diff(self.offsets)

    @cached_property
    def segments(self) -> Ints:
        """The segment of each sample."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def filter(self, kept: Mask) -> Ragged:
        """The samples in a mask."""
        if kept.all():
            return self
        before = np.concatenate([[0], np.cumsum(kept)])
        return Ragged(before[self.offsets], self.times[kept], self.values[kept])

    def restrict(self, spans: Spans) -> Ragged:
        """The samples within spans, one for each segment."""
        start = bisect(self.times, self.offsets[:-1], self.offsets[1:], spans.start)
        stop = bisect(self.times, start, self.offsets[1:], spans.stop)
        return self if int((stop - start).sum()) == len(self.times) else pieces(self.times, self.values, start, stop)

    def with_values(self, values: Values) -> Ragged:
        return Ragged(self.offsets, self.times, values)

    @property
    def flat(self) -> Ragged:
        """The same with each number of an array as a channel of its own."""
        if self.values.ndim == 2:
            return self
        return self.with_values(self.values.reshape(len(self.times), int(np.prod(self.values.shape[1:]))))

    def shaped(self, like: Ragged) -> Ragged:
        """Undo `flat`: group channels into arrays, if the samples of `like` are arrays."""
        if like.values.ndim == 2:
            return self
        return self.with_values(self.values.reshape(len(self.times), *like.values.shape[1:]))

    @staticmethod
    def of(segments: Ints, count: int, times: Ints, values: Values) -> Ragged:
        """Samples of `count` segments, given in order."""
        return Ragged(offsets_of(segments, count), times, values)

    @staticmethod
    def sorted(segments: Ints, count: int, times: Ints, values: Values) -> Ragged:
        """Samples of `count` segments, given in any order."""
        order = np.lexsort((times, segments))
        return Ragged.of(segments[order], count, times[order], values[order])


def offsets_of(segments: Ints, count: int) -> Ints:
    """The offsets of segments, from the sorted segments of samples."""
    return np.searchsorted(segments, np.arange(count + 1)).astype(np.int64, copy=False)


def spread(start: Ints, counts: Ints) -> Ints:
    """The concatenation of the ranges start[i], start[i] + 1, …, of lengths counts[i]."""
    before = np.cumsum(counts) - counts
    return np.arange(int(counts.sum())) + np.repeat(start - before, counts)


def bisect(times: Ints, low: Ints, high: Ints, wanted: Ints) -> Ints:
    """Binary search in all ranges [low, high) at once: the first position with a time not before the wanted one."""
    result = high.copy()
    open_ = np.flatnonzero(low < high)
    open_ = open_[times[high[open_] - 1] >= wanted[open_]]  # all others are before the wanted time
    at_once = times[low[open_]] >= wanted[open_]
    result[open_[at_once]] = low[open_[at_once]]
    open_ = open_[~at_once]
    low, high, wanted = low[open_], high[open_] - 1, wanted[open_]
    while (high - low > 1).any():  # invariant: times[low] is before, times[high] is not
        middle = (low + high) >> 1
        before = times[middle] < wanted
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    result[open_] = high
    return result


def pieces(times: Ints, values: Values, start: Ints, stop: Ints) -> Ragged:
    """Ranges of arrays as segments; adjacent ranges need no copy."""
    counts = stop - start
    offsets = np.concatenate([[0], np.cumsum(counts)])
    if (start[1:] == stop[:-1]).all() and len(start):
        whole = slice(int(start[0]), int(stop[-1]))
        return Ragged(offsets, times[whole], values[whole])
    at = spread(start, counts)
    return Ragged(offsets, times[at], values[at])
