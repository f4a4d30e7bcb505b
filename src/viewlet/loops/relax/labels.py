"""The best value of each vertex so far, the edge that offered it, and what an epoch changed of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from viewlet.columns.arrays import Mask, Positions
from viewlet.loops.relax.growing import Growing, Values

NO_EDGE = -1
"""Edges have numbers from 0 on; the first row n is known as −2 − n."""
_MOST_FEW = 64


@dataclass(frozen=True)
class Offers:
    """Values that are offered to vertices, each along an edge."""

    targets: Positions
    edges: Positions
    values: Values
    valid: Mask

    def __len__(self) -> int:
        return len(self.targets)

    def where(self, keep: Mask) -> Offers:
        return self if keep.all() else Offers(self.targets[keep], self.edges[keep], self.values[keep], self.valid[keep])

    @staticmethod
    def concat(parts: Sequence[Offers]) -> Offers:
        columns = zip(*((p.targets, p.edges, p.values, p.valid) for p in parts), strict=True)
        return Offers(*map(np.concatenate, columns))


@dataclass(frozen=True)
class Known:
    """What some vertices have: whether there is a row, and whether its value is one, or NULL."""

    vertices: Positions
    present: Mask
    valid: Mask
    values: Values

    def where(self, keep: Mask) -> Known:
        return Known(self.vertices[keep], self.present[keep], self.valid[keep], self.values[keep])

    def differs(self, other: Known) -> Mask:
        """Which of the same vertices have another row."""
        is_same = (self.valid == other.valid) & (~self.valid | (self.values == other.values))
        differs: Mask = (self.present != other.present) | (self.present & ~is_same)
        return differs


class Labels:
    """A value for each vertex that an offer has reached."""

    def __init__(self, dtype: str, *, is_greatest: bool) -> None:
        self._present, self._valid, self._noted = Growing(np.bool_), Growing(np.bool_), Growing(np.bool_)
        self._values, self._edges = Growing(dtype), Growing(np.int64)
        self._is_greatest = is_greatest
        limits = np.iinfo(dtype)
        self._worst = limits.min if is_greatest else limits.max
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

    @property
    def edges(self) -> Positions:
        return self._edges.now

    def grow(self, length: int) -> None:
        for part, value in ((self._present, False), (self._valid, False), (self._noted, False), (self._values, 0)):
            part.fill_up(length, value)
        self._edges.fill_up(length, NO_EDGE)

    def renumber(self, numbers: Positions, *, is_first: bool) -> None:
        """Edges, or first rows, have other numbers."""
        known = self.edges < NO_EDGE if is_first else self.edges > NO_EDGE
        self.edges[known] = numbers[-2 - self.edges[known] if is_first else self.edges[known]]

    def improve(self, offers: Offers) -> Positions:
        """Take the offers that are better than what is known; the vertices that they are made to."""
        offers = offers.where(self._is_better(offers))
        if not len(offers):
            return offers.targets
        changed = _different(offers.targets, len(self))
        self._note(changed)
        self.values[changed[~(self.present[changed] & self.valid[changed])]] = self._worst
        solid = offers.where(offers.valid)
        (np.maximum if self._is_greatest else np.minimum).at(self.values, solid.targets, solid.values)
        self.present[changed] = True
        self.valid[solid.targets] = True
        taken = offers.valid == self.valid[offers.targets]
        taken &= ~offers.valid | (offers.values == self.values[offers.targets])
        self.edges[offers.targets[taken]] = offers.edges[taken]
        return changed

    def forget(self, vertices: Positions) -> None:
        """Let some vertices have no value."""
        self._note(vertices)
        self.present[vertices] = self.valid[vertices] = False
        self.edges[vertices] = NO_EDGE

    def forget_all(self) -> None:
        self.forget(np.flatnonzero(self.present))

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

    def _is_better(self, offers: Offers) -> Mask:
        """A value is better than NULL, and a row, if only with NULL, than none."""
        there = self.present[offers.targets]
        is_known = there & self.valid[offers.targets]
        values = self.values[offers.targets]
        beats = offers.values > values if self._is_greatest else offers.values < values
        better: Mask = ~there | (offers.valid & (~is_known | beats))
        return better

    def _note(self, vertices: Positions) -> None:
        """Remember what vertices had, before it changes for the first time."""
        new = vertices[~self._noted.now[vertices]]
        if len(new):
            self._before.append(self.known(new))
            self._noted.now[new] = True

    def known(self, vertices: Positions) -> Known:
        return Known(vertices, self.present[vertices], self.valid[vertices], self.values[vertices])


def _different(vertices: Positions, count: int) -> Positions:
    """Each vertex once."""
    if len(vertices) < count // _MOST_FEW:
        return np.unique(vertices)
    is_there = np.zeros(count, dtype=np.bool_)
    is_there[vertices] = True
    return np.flatnonzero(is_there)
