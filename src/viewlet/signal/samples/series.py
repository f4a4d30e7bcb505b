"""Samples of all groups as arrays sorted by group and time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from viewlet.signal.plan.kinds import kind_of
from viewlet.signal.plan.nodes import Node
from viewlet.signal.samples.ragged import Ints, Mask, Ragged, Spans, Values, bisect, pieces

SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


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
        return pieces(
            self.times, self.values, self.find(spans.groups, spans.start), self.find(spans.groups, spans.stop)
        )

    def find(self, groups: Ints, times: Ints) -> Ints:
        """The position of the first sample of each group at or after a time."""
        low, high = (self.groups.searchsorted(groups, side) for side in SIDES)
        return bisect(self.times, low, high, times)

    def each_group(self) -> Ints:
        """The distinct groups."""
        if len(self.groups) and self.groups[0] == self.groups[-1]:
            return self.groups[:1]
        new = np.ones(len(self.groups), dtype=np.bool_)
        new[1:] = np.diff(self.groups) != 0
        return self.groups[new]

    def filter(self, kept: Mask) -> Series:
        """The samples in a mask."""
        return Series(self.groups[kept], self.times[kept], self.values[kept])

    def without(self, groups: Ints, times: Ints) -> Series:
        """All samples except those at these times, which must exist."""
        at = self.find(groups, times)
        return Series(*(np.delete(column, at, axis=0) for column in (self.groups, self.times, self.values)))

    def with_more(self, groups: Ints, times: Ints, values: Values) -> Series:
        """The samples and further ones."""
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
    """An empty series of an operator's kind."""
    kind = kind_of(node)
    shape = (0, len(kind.channels)) if kind.width is None else (0, len(kind.channels), kind.width)
    none = np.zeros(0, dtype=np.int64)
    return Series(none, none, np.zeros(shape, dtype=np.complex128 if kind.is_complex else np.float64))
