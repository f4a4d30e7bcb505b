"""The row of each vertex, if it has one, with a value or NULL, and the changes since the last call."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewlet.columns.arrays import Mask, Positions
from viewlet.loops.graph.growing import Growing, Values

_FEW = 64
"""If fewer than 1 / _FEW of the vertices are given, they are deduplicated by sorting instead of by a bitmap."""


DENSE = 8
"""If more than 1 / DENSE of the vertices are affected, scanning all edges is faster than finding theirs."""


@dataclass(frozen=True)
class Known:
    """The rows of some vertices: whether there is one, whether its value is valid rather than NULL, and the value."""

    vertices: Positions
    present: Mask
    valid: Mask
    values: Values

    def where(self, keep: Mask) -> Known:
        if keep.all():
            return self
        at = np.flatnonzero(keep)  # once: indexing by a mask costs several times as much for each array
        return Known(self.vertices[at], self.present[at], self.valid[at], self.values[at])

    def differs(self, other: Known) -> Mask:
        """Which vertices, the same ones in both, have different rows."""
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
        """Extend to a number of vertices."""
        for part, value in ((self._present, False), (self._valid, False), (self._noted, False), (self._values, 0)):
            part.fill_up(length, value)

    def known(self, vertices: Positions) -> Known:
        """The rows of some vertices."""
        return Known(vertices, self.present[vertices], self.valid[vertices], self.values[vertices])

    def put(self, new: Known) -> None:
        """Replace the rows of vertices."""
        self.note(new.vertices)
        self.present[new.vertices], self.valid[new.vertices] = new.present, new.valid
        self.values[new.vertices] = new.values

    def forget(self, vertices: Positions) -> None:
        """Delete the rows of vertices."""
        self.note(vertices)
        self.present[vertices] = self.valid[vertices] = False

    def note(self, vertices: Positions) -> None:
        """Remember the rows of vertices before their first change."""
        new = vertices[~self._noted.now[vertices]]
        if len(new):
            self._before.append(self.known(new))
            self._noted.now[new] = True

    def changes(self) -> tuple[Known, Known]:
        """The rows that differ since the last call, old and new."""
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
    """The distinct vertices in order; `count` is the number of all vertices."""
    if len(vertices) < count // _FEW:
        return np.unique(vertices)
    is_there = np.zeros(count, dtype=np.bool_)
    is_there[vertices] = True
    return np.flatnonzero(is_there)
