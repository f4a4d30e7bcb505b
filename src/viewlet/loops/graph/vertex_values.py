"""What is known of each vertex, row or none, value or NULL; and what has changed of it since the last time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewlet.columns.arrays import Mask, Positions
from viewlet.loops.graph.growing import Growing, Values

_FEW = 64
"""One in so many vertices are few: they are sorted, rather than ticked off."""


DENSE = 8
"""Where more than one in so many vertices are concerned, going through all edges takes less time than finding theirs."""


@dataclass(frozen=True)
class Known:
    """What some vertices have: whether there is a row, and whether its value is one, or NULL."""

    vertices: Positions
    present: Mask
    valid: Mask
    values: Values

    def where(self, keep: Mask) -> Known:
        if keep.all():
            return self
        at = np.flatnonzero(keep)  # once: a mask is gone through for each array anew, at a multiple of the price
        return Known(self.vertices[at], self.present[at], self.valid[at], self.values[at])

    def differs(self, other: Known) -> Mask:
        """Which of the same vertices have another row."""
        is_same = (self.valid == other.valid) & (~self.valid | (self.values == other.values))
        differs: Mask = (self.present != other.present) | (self.present & ~is_same)
        return differs


class VertexValues:
    """A value for each vertex that has a row."""

    def __init__(self, dtype: str) -> None:
        self._present, self._valid, self._noted = Growing(np.bool_), Growing(np.bool_), Growing(np.bool_)
        self._values = Growing(dtype)
        self._before: list[Known] = []

    def __len__(self) -> int:
        return len(self._present)

    @property
    def present(self) -> Mask:
        return self._present.now

    @property
    def valid(self) -> Mask:
        return self._valid.now

    @property
    def values(self) -> Values:
        return self._values.now

    def grow(self, length: int) -> None:
        """Be there for so many vertices."""
        for part, value in ((self._present, False), (self._valid, False), (self._noted, False), (self._values, 0)):
            part.fill_up(length, value)

    def known(self, vertices: Positions) -> Known:
        """What some vertices have."""
        return Known(vertices, self.present[vertices], self.valid[vertices], self.values[vertices])

    def put(self, new: Known) -> None:
        """Let vertices have other rows."""
        self.note(new.vertices)
        self.present[new.vertices], self.valid[new.vertices] = new.present, new.valid
        self.values[new.vertices] = new.values

    def forget(self, vertices: Positions) -> None:
        """Let some vertices have no row."""
        self.note(vertices)
        self.present[vertices] = self.valid[vertices] = False

    def note(self, vertices: Positions) -> None:
        """Remember what vertices had, before it changes for the first time."""
        new = vertices[~self._noted.now[vertices]]
        if len(new):
            self._before.append(self.known(new))
            self._noted.now[new] = True

    def changes(self) -> tuple[Known, Known]:
        """What differs from the last time, as it was and as it is."""
        before, self._before = self._before, []
        if not before:
            return (self.known(np.empty(0, dtype=np.int64)),) * 2
        columns = zip(*((k.vertices, k.present, k.valid, k.values) for k in before), strict=True)
        old = Known(*map(np.concatenate, columns))
        self._noted.now[old.vertices] = False
        new = self.known(old.vertices)
        differs = old.differs(new)
        old, new = old.where(differs), new.where(differs)
        return old.where(old.present), new.where(new.present)


def different(vertices: Positions, count: int) -> Positions:
    """Each of some vertices once, of so many that there are, in order."""
    if len(vertices) < count // _FEW:
        return np.unique(vertices)
    is_there = np.zeros(count, dtype=np.bool_)
    is_there[vertices] = True
    return np.flatnonzero(is_there)
