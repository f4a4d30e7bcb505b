"""The best value of each vertex so far, and the edge that offered it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from viewlet.columns.arrays import Mask, Positions
from viewlet.loops.graph.growing import Growing, Values
from viewlet.loops.graph.vertex_values import VertexValues, different

NO_EDGE = -1
"""Edges are numbered from 0; first row n is represented as −2 − n."""


@dataclass(frozen=True)
class Offers:
    """Values offered to vertices, each along an edge."""

    targets: Positions
    edges: Positions
    values: Values
    valid: Mask

    def __len__(self) -> int:
        return len(self.targets)

    def where(self, keep: Mask) -> Offers:
        if keep.all():
            return self
        at = np.flatnonzero(keep)
        return Offers(self.targets[at], self.edges[at], self.values[at], self.valid[at])

    @staticmethod
    def concat(parts: Sequence[Offers]) -> Offers:
        some = [part for part in parts if len(part)]
        if len(some) < 2:
            return some[0] if some else parts[0]
        columns = zip(*((p.targets, p.edges, p.values, p.valid) for p in parts), strict=True)
        return Offers(*map(np.concatenate, columns))


class Labels(VertexValues):
    """The best value of each vertex reached, and the edge that offered it."""

    def __init__(self, dtype: str, *, is_greatest: bool) -> None:
        super().__init__(dtype)
        self._edges = Growing(np.int64)
        self._is_greatest = is_greatest
        self.best = np.maximum if is_greatest else np.minimum
        limits = np.iinfo(dtype)
        self._worst = limits.min if is_greatest else limits.max

    @property
    def edges(self) -> Positions:
        return self._edges.now

    def grow(self, length: int) -> None:
        super().grow(length)
        self._edges.fill_up(length, NO_EDGE)

    def renumber(self, numbers: Positions, *, is_first: bool) -> None:
        """Renumber edges, or first rows."""
        known = self.edges < NO_EDGE if is_first else self.edges > NO_EDGE
        self.edges[known] = numbers[-2 - self.edges[known] if is_first else self.edges[known]]

    def improve(self, offers: Offers) -> Positions:
        """Accept the offers that improve values; return the vertices improved."""
        offers = offers.where(self.is_better(offers.targets, offers.values, offers.valid))
        if not len(offers):
            return offers.targets
        changed = different(offers.targets, len(self))
        self.note(changed)
        self.values[changed[~(self.present[changed] & self.valid[changed])]] = self._worst
        solid = offers.where(offers.valid)
        self.best.at(self.values, solid.targets, solid.values)
        self.present[changed] = True
        self.valid[solid.targets] = True
        taken = offers.valid == self.valid[offers.targets]
        taken &= ~offers.valid | (offers.values == self.values[offers.targets])
        best = np.flatnonzero(taken)
        self.edges[offers.targets[best]] = offers.edges[best]
        return changed

    def take(self, vertices: Positions, values: Values) -> None:
        """Replace the values of vertices by better ones."""
        self.note(vertices)
        self.values[vertices] = values

    def take_best(self, targets: Positions, values: Values) -> Positions:
        """Accept the values that are better, without naming edges; return the vertices improved."""
        better = np.flatnonzero(self.is_better(targets, values, np.ones(len(values), np.bool_)))
        changed = different(targets[better], len(self))
        self.note(changed)
        self.values[changed[~(self.present[changed] & self.valid[changed])]] = self._worst
        self.best.at(self.values, targets[better], values[better])
        self.present[changed] = self.valid[changed] = True
        return changed

    def is_ahead(self, offered: Values, known: Values) -> Mask:
        """Which values are better than others."""
        ahead: Mask = offered > known if self._is_greatest else offered < known
        return ahead

    def forget(self, vertices: Positions) -> None:
        """Delete the values of vertices."""
        super().forget(vertices)
        self.edges[vertices] = NO_EDGE

    def forget_all(self) -> None:
        self.forget(np.flatnonzero(self.present))

    @property
    def are_complete(self) -> bool:
        """Whether every vertex has a value."""
        return bool(self.present.all() and self.valid.all())

    def is_better(self, targets: Positions, offered: Values, valid: Mask) -> Mask:
        """Which offers are better: any value beats NULL, and any row, even with NULL, beats none."""
        beats = self.is_ahead(offered, self.values[targets])
        if self.are_complete:
            return beats & valid
        there = self.present[targets]
        is_known = there & self.valid[targets]
        better: Mask = ~there | (valid & (~is_known | beats))
        return better
