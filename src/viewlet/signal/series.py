"""Samples of all groups as arrays sorted by group and time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewlet.signal.kinds import kind_of
from viewlet.signal.nodes import Node
from viewlet.signal.ragged import Ints, Mask, Ragged, Spans, Values, spread


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

    def filter(self, kept: Mask) -> Series:
        """Some of the samples."""
        return Series(self.groups[kept], self.times[kept], self.values[kept])

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
