"""Sweeps: rounds over all edges, for when most vertices change and edges pass values on unchanged.

Each vertex takes the best value that arrives. The edge that it took it from is found once, after the sweep: its source
has the same value and got it in an earlier round, so these edges form trees without cycles. If the source has improved
since, the vertex will improve, too.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from viewlet.columns.arrays import Positions
from viewlet.loops.graph.edges import Arrivals
from viewlet.loops.graph.growing import Values
from viewlet.loops.graph.vertex_values import DENSE
from viewlet.loops.relax.labels import Labels


class Sweep:
    """Consecutive rounds over all edges."""

    def __init__(self, arrivals: Arrivals, labels: Labels, after: int = 0) -> None:
        self._arrivals, self._labels = arrivals, labels
        self.last = after
        """The number of its last round; rounds of earlier sweeps have lower numbers."""
        self.changed = np.arange(len(labels))
        """The vertices that the last round changed."""
        self._sources = arrivals.sources.astype(np.intp)
        self._offered = np.empty(len(self._sources), dtype=labels.values.dtype)
        self._changed_in = np.zeros(len(labels), dtype=np.int32)
        """The round in which each vertex got its value; 0 if before the sweep."""

    def rounds(self) -> Iterator[Positions]:
        """Run rounds while they change many vertices; yield these."""
        while DENSE * len(self.changed) > len(self._labels):
            self.changed = self._round_over_all()
            if len(self.changed):
                yield self.changed

    def round_of(self, vertices: Positions) -> Values:
        """The rounds in which vertices got their values."""
        return self._changed_in[vertices]

    def take_up(self, targets: Positions, values: Values, rounds: Values) -> Positions:
        """Accept values of an interrupted run with the numbers of their rounds; return the vertices improved."""
        changed = self._labels.take_best(targets, values)
        is_taken = values == self._labels.values[targets]
        self._changed_in[targets[is_taken]] = rounds[is_taken]
        self.last = int(rounds.max())
        return changed

    def _round_over_all(self) -> Positions:
        labels, arrivals = self._labels, self._arrivals
        offered = np.take(labels.values, self._sources, out=self._offered, mode="clip")
        best = labels.best.reduceat(offered, arrivals.starts)
        better = labels.is_ahead(best, labels.values[arrivals.vertices])
        changed = arrivals.vertices[better]
        labels.take(changed, best[better])
        self.last += 1
        self._changed_in[changed] = self.last
        return changed

    def name_edges(self, targets: Positions) -> None:
        """Find the edges that vertices got their values from, given the targets of edges."""
        arrivals, values, rounds = self._arrivals, self._labels.values, self._changed_in
        later = np.flatnonzero(np.take(rounds, self._sources, mode="clip") < arrivals.of_target(rounds))
        sources, edges = arrivals.sources[later], arrivals.edges[later]
        named = edges[values[sources] == values[targets[edges]]]
        self._labels.edges[targets[named]] = named
