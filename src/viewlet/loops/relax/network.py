"""A graph whose vertices have the best value that a path offers them, maintained as edges change.

New edges offer their targets a value. When the edge is deleted that a vertex has its value from, the vertex and the
tree below it lose their values, and their incoming edges offer them new ones. From there on both cases are the same:
improved vertices make offers to their neighbours until nothing improves. If too many values would be lost, all are
recomputed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, Positions, from_numpy, valid_mask, values_of
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.evaluate import compile_expr
from viewlet.columns.hash import Hashes, hash_rows
from viewlet.columns.rows import Rows
from viewlet.loops.graph.change import Change
from viewlet.loops.graph.edges import Edges
from viewlet.loops.graph.growing import Values
from viewlet.loops.graph.matching import found_among
from viewlet.loops.graph.vertex_values import DENSE, Known, different
from viewlet.loops.graph.vertices import Vertices
from viewlet.loops.relax.labels import NO_EDGE, Labels, Offers
from viewlet.loops.relax.offering import Offering
from viewlet.loops.relax.sweep import Sweep
from viewlet.plan.expr import Column

_FEW, _PART = 1000, 4
"""If more vertices lose their values than _FEW plus 1 / _PART of all, all values are recomputed."""


class Network:
    """A graph, and the best value of each vertex."""

    def __init__(self, offering: Offering) -> None:
        self.offering = offering
        self._kind = arrow_type(offering.kind)
        self._dtype = f"i{self._kind.bit_width // 8}"
        self._evaluate = None if offering.value is None else compile_expr(offering.value)
        self.vertices = Vertices(arrow_type(offering.key))
        self.edges = Edges([arrow_type(f.type) for f in offering.columns])
        self.firsts = Edges([] if offering.value is None else [self._kind])
        self.labels = Labels(self._dtype, is_greatest=offering.is_greatest)
        self.begins_again = False
        """Whether the last run recomputed all values."""
        self._sweep: Sweep | None = None
        self._last_swept = 0
        """The number of sweeps over all edges in this epoch."""

    def follow(self, edges: Rows, firsts: Rows, known: Rows | None = None) -> Iterator[Positions]:
        """Apply changes of the edges and of the first rows; yield the vertices that each round changes.

        `known`: the values that an interrupted run had found, as `found` returned them; they are offered, too.
        """
        self._compact()
        self._last_swept = 0
        changed = self._numbered(edges, firsts)
        gone, new = self.edges.change(changed[0])
        first_gone, first_new = self.firsts.change(changed[1])
        self.labels.grow(len(self.vertices))
        lost = np.concatenate([self._bereft(gone, self.edges), self._bereft(first_gone, self.firsts)])
        taken = self._lose(lost)
        self.begins_again = taken is None
        if taken is None:
            yield from self.solve(known)
        else:
            arriving, first = self.edges.arriving(taken), self.firsts.arriving(taken)
            offers = [self._along(arriving), self._along(new), self._first(first), self._first(first_new)]
            yield from self._rounds(offers, known)

    def solve(self, known: Rows | None = None) -> Iterator[Positions]:
        """Recompute all values from the current edges."""
        self.labels.forget_all()
        yield from self._rounds([self._first(self.firsts.all())], known)

    def changes(self) -> Rows:
        """The changes since the last call: the key of each row, then its value."""
        old, new = self.labels.changes()
        return Rows.concat([self._rows(old).negated(), self._rows(new)])

    def rows(self, vertices: Positions) -> Rows:
        """The current rows of vertices."""
        return self._rows(self.labels.known(vertices))

    def found(self, vertices: Positions) -> Rows:
        """The values of vertices with hashes of the edges, or first rows, that offered them, for checkpoints.

        During a sweep the edge is not known yet; the number of the round is recorded instead.
        """
        labels, named = self.labels.known(vertices), self.labels.edges[vertices]
        rounds = np.zeros(len(vertices), np.int32) if self._sweep is None else self._sweep.round_of(vertices)
        contents, is_named, is_first = np.zeros(len(vertices), dtype=np.uint64), rounds == 0, named < NO_EDGE
        along, first = np.flatnonzero(is_named & ~is_first), np.flatnonzero(is_named & is_first)
        contents[along] = self._contents(named[along], self.edges)
        contents[first] = self._contents(self._name(named[first], self.firsts), self.firsts)
        columns = {
            "key": self.vertices.keys(vertices),
            "value": from_numpy(labels.values, self._kind, labels.valid),
            "edge": from_numpy(contents, pa.uint64()),
            "round": from_numpy(rounds, pa.int32()),
        }
        return Rows(columns, np.ones(len(vertices), dtype=np.int64))

    def _contents(self, edges: Positions, store: Edges) -> Hashes:
        """Hashes of edges, or of first rows."""
        ends = [self.vertices.keys(some[edges]) for some in (store.sources, store.targets)]
        columns = [*ends, *store.columns(edges)]
        return hash_rows(columns, len(edges), seed=int(store is self.firsts))

    def _offered_before(self, known: Rows) -> Offers:
        """The values of an interrupted run as offers, along edges with the same hashes."""
        (targets,), wanted = self.vertices.number([known["key"]]), values_of(known["edge"], "u8")
        edges, firsts = (store.arriving(different(targets, len(self.vertices))) for store in (self.edges, self.firsts))
        names = np.concatenate([edges, self._name(firsts, self.firsts)])
        contents = np.concatenate([self._contents(edges, self.edges), self._contents(firsts, self.firsts)])
        at, is_there = found_among(wanted, contents)
        values = known["value"]
        offers = Offers(targets, names[at], values_of(values, self._dtype), valid_mask(values))
        return offers.where(is_there)

    def _swept_before(self, known: Rows) -> Positions:
        """Accept the values that an interrupted run had found in sweeps; return the vertices improved."""
        (targets,) = self.vertices.number([known["key"]])
        sweep = Sweep(self.edges.arrivals(), self.labels)
        changed = sweep.take_up(targets, values_of(known["value"], self._dtype), values_of(known["round"], "i4"))
        sweep.name_edges(self.edges.targets)
        self._last_swept = sweep.last
        return changed

    def _begun(self, offers: Sequence[Offers], known: Rows | None) -> Positions:
        """Accept the first offers and the values of an interrupted run; return the vertices improved."""
        if known is None:
            return self.labels.improve(Offers.concat(offers))
        is_swept = values_of(known["round"], "i4") > 0
        changed = self.labels.improve(Offers.concat([*offers, self._offered_before(known.filter(~is_swept))]))
        if is_swept.any():
            changed = different(
                np.concatenate([changed, self._swept_before(known.filter(is_swept))]), len(self.vertices)
            )
        return changed

    def _rounds(self, first: Sequence[Offers], known: Rows | None) -> Iterator[Positions]:
        changed = self._begun(first, known)
        while len(changed):
            yield changed
            if (sweep := self._sweep_after(len(changed))) is not None:
                yield from sweep.rounds()
                changed = sweep.changed
                sweep.name_edges(self.edges.targets)
                self._sweep, self._last_swept = None, sweep.last
            changed = self.labels.improve(self._along(self._from(changed)))

    def _from(self, vertices: Positions) -> Positions:
        """The edges that start at vertices; for most vertices all edges, as further offers do no harm."""
        return self.edges.all() if 2 * len(vertices) > len(self.vertices) else self.edges.leaving(vertices)

    def _sweep_after(self, count: int) -> Sweep | None:
        """A sweep over all edges, if so many vertices have changed that it is cheaper."""
        if DENSE * count <= len(self.vertices) or not (self._passes_on and self._all_have_values):
            return None
        self._sweep = Sweep(self.edges.arrivals(), self.labels, self._last_swept)
        return self._sweep

    @property
    def _all_have_values(self) -> bool:
        """Whether every vertex with an edge has a value."""
        labels, count = self.labels, len(self.vertices)
        has_edge = self.edges.has_edge("source", count) | self.edges.has_edge("target", count)
        return labels.are_complete or bool((labels.present & labels.valid | ~has_edge).all())

    def _numbered(self, *changes: Rows) -> list[Change]:
        """Changes with numbers of vertices; a first row is a loop at its vertex."""
        (source, target, *own), (key, *value) = (list(rows.columns.values()) for rows in changes)
        sources, targets, keys = self.vertices.number([source, target, key])
        firsts = Change(keys, keys, value, changes[1].weights)
        return [Change(sources, targets, own, changes[0].weights), firsts.netted(len(self.vertices))]

    def _bereft(self, gone: Positions, store: Edges) -> Positions:
        """The vertices whose values came from deleted edges."""
        targets = store.targets[gone]
        is_bereft = self.labels.edges[targets] == self._name(gone, store)
        return different(targets[is_bereft], len(self.vertices))

    def _lose(self, vertices: Positions) -> Positions | None:
        """Delete the values of vertices and of the trees below them; return all, or None if there are too many."""
        lost, count = [vertices], len(vertices)
        while len(vertices):
            self.labels.forget(vertices)
            edges = self.edges.leaving(vertices)
            targets = self.edges.targets[edges]
            below = self.labels.present[targets] & (self.labels.edges[targets] == edges)
            vertices = targets[below]
            lost.append(vertices)
            count += len(vertices)
            if count > len(self.vertices) // _PART + _FEW:
                return None
        return np.concatenate(lost)

    def _along(self, edges: Positions) -> Offers:
        """The offers of edges whose sources have a value."""
        if not self.labels.present.all() and not (is_known := self.labels.present[self.edges.sources[edges]]).all():
            edges = edges[np.flatnonzero(is_known)]
        values, valid = self._values(self.edges.sources[edges], edges)
        return Offers(self.edges.targets[edges], edges, values, valid)

    @property
    def _passes_on(self) -> bool:
        """Whether edges offer the value at their source unchanged."""
        return self.offering.known is None or isinstance(self.offering.value, Column)

    def _values(self, sources: Positions, edges: Positions) -> tuple[Values, Mask]:
        values, valid = self.labels.values[sources], self.labels.valid[sources]
        known = self.offering.known
        if known is None or self._evaluate is None or self._passes_on:
            return values, valid
        columns = {known.name: from_numpy(values, self._kind, valid)}
        columns |= {f.name: self.edges.column(at, edges) for at, f in enumerate(self.offering.columns)}
        found = self._evaluate(Rows(columns, np.ones(len(edges), dtype=np.int64)))
        return values_of(found, self._dtype), valid_mask(found)

    def _first(self, firsts: Positions) -> Offers:
        """The offers of first rows."""
        targets, numbers = self.firsts.targets[firsts], self._name(firsts, self.firsts)
        if self.offering.value is None:
            return Offers(targets, numbers, np.zeros(len(firsts), self._dtype), np.ones(len(firsts), np.bool_))
        first = self.firsts.column(0, firsts)
        return Offers(targets, numbers, values_of(first, self._dtype), valid_mask(first))

    def _name(self, edges: Positions, store: Edges) -> Positions:
        """The numbers that represent edges, or first rows, in labels."""
        return edges if store is self.edges else -2 - edges

    def _compact(self) -> None:
        for store in (self.edges, self.firsts):
            numbers = store.compacted()
            if numbers is not None:
                self.labels.renumber(self._name(numbers, store), is_first=store is self.firsts)

    def _rows(self, known: Known) -> Rows:
        keys = self.vertices.keys(known.vertices)
        columns = {"key": keys}
        if self.offering.value is not None:
            columns["value"] = from_numpy(known.values, self._kind, known.valid)
        return Rows(columns, np.ones(len(keys), dtype=np.int64))
