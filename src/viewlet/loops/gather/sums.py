"""The values of vertices that are computed from sums along edges, until they converge.

Each vertex has two values: `shown`, computed from its last sum, and `read`, the one that its neighbours have used. A
round propagates the shown values of some vertices and updates the sums of their neighbours: it recomputes these or, if
few vertices changed, adds the differences (the δ of REX, section 3.3). A sum with added differences is rounded more
than once; such sums are marked, and recomputed before rounds end, so that no error remains.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from viewlet.columns.arrays import Mask, Positions, from_numpy, valid_mask, values_of
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.evaluate import compile_expr
from viewlet.columns.rows import Rows, Weights
from viewlet.loops.gather.gathering import SUM, Gathering
from viewlet.loops.graph.change import Change
from viewlet.loops.graph.edges import Edges
from viewlet.loops.graph.growing import Growing, Values
from viewlet.loops.graph.vertex_values import DENSE, Known, VertexValues, different
from viewlet.loops.graph.vertices import Vertices
from viewlet.plan.types import Field

_BITS = "i8"
"""Doubles are stored and compared by their bits."""

_ONE = np.int64(1)
FULL = 8
"""If more than 1 / FULL of the edges start at changed vertices, recomputing all sums is faster than following them."""


class VertexColumns:
    """Columns of vertices, each of which has at most one row."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self._kinds = [arrow_type(f.type) for f in fields]
        self._names = [f.name for f in fields]
        self._columns = [Growing(f"i{kind.bit_width // 8}") for kind in self._kinds]
        self._valid = [Growing(np.bool_) for _ in fields]
        self._present = Growing(np.bool_)

    @property
    def present(self) -> Mask:
        return self._present.now

    def grow(self, length: int) -> None:
        for part in (self._present, *self._columns, *self._valid):
            part.fill_up(length, 0)

    def change(self, vertices: Positions, columns: Sequence[pa.Array], weights: Weights) -> None:
        """Delete and insert rows."""
        self.present[vertices[weights < 0]] = False
        new = weights > 0
        self.present[vertices[new]] = True
        for array, values, valid in zip(columns, self._columns, self._valid, strict=True):
            values.now[vertices[new]] = values_of(array, values.now.dtype.str)[new]
            valid.now[vertices[new]] = valid_mask(array)[new]

    def arrays(self, vertices: Positions) -> dict[str, pa.Array]:
        parts = zip(self._names, self._columns, self._kinds, self._valid, strict=True)
        return {name: from_numpy(c.now[vertices], kind, v.now[vertices]) for name, c, kind, v in parts}


class Sums:
    """A graph, and the values of its vertices."""

    def __init__(self, gathering: Gathering) -> None:
        self.gathering = gathering
        self.vertices = Vertices(arrow_type(gathering.key.type))
        self.edges = Edges([arrow_type(f.type) for f in gathering.edges])
        self.sources, self.own = VertexColumns(gathering.sources or ()), VertexColumns(gathering.own or ())
        self.shown, self.read = VertexValues(_BITS), VertexValues(_BITS)
        self._is_pending, self._places = Growing(np.bool_), Growing(np.int64)
        """Which vertices have a shown value that their neighbours have not read; scratch space for positions."""
        self._offer, self._apply = compile_expr(gathering.offer), compile_expr(gathering.apply)
        self._offered, self._is_offered = Growing(np.float64), Growing(np.bool_)
        """What each vertex offers, if this is the same along all its edges."""
        self._totals, self._is_number, self._arrives = Growing(np.float64), Growing(np.bool_), Growing(np.bool_)
        """The sum at each vertex; whether it is a number rather than NULL; whether anything arrives at the vertex."""
        self._offered_more, self._is_rounded = Growing(np.float64), Growing(np.bool_)
        """Scratch space for changes of offers; which sums such differences were added to."""
        self.is_in_full = False
        """Whether the last round was evaluated on all edges rather than on those of changed vertices."""

    # ——— changes of the graph

    def change(self, edges: Rows, sources: Rows | None, own: Rows | None) -> Positions:
        """Apply changes of the graph; return the vertices whose sums they affect."""
        self.edges.compacted()
        columns = [list(rows.columns.values()) if rows is not None else [] for rows in (edges, sources, own)]
        keys = [*columns[0][:2], *columns[1][:1], *columns[2][:1]]
        starts, ends, *others = self.vertices.number(keys)
        self._grow()
        self.edges.change(Change(starts, ends, columns[0][2:], edges.weights))
        reached = [ends]
        if sources is not None:
            self.sources.change(others[0], columns[1][1:], sources.weights)
            self.offer_anew(others[0])
            reached.append(self._reached(different(others[0], len(self.vertices))))
        if own is not None:
            self.own.change(others[-1], columns[2][1:], own.weights)
            reached.append(others[-1])
        return different(np.concatenate(reached), len(self.vertices))

    def _reached(self, vertices: Positions) -> Positions:
        """The targets of the vertices' edges; if these are most edges, the targets of all."""
        if self._have_many_edges(vertices):
            return np.flatnonzero(self.edges.has_edge("target", len(self.vertices)))
        return different(self.edges.targets[self.edges.leaving(vertices)], len(self.vertices))

    def _have_many_edges(self, vertices: Positions) -> bool:
        """Whether so many edges start at these vertices that scanning all edges is faster than looking theirs up."""
        if 2 * len(vertices) > len(self.vertices):
            return True
        return FULL * self.edges.count_leaving(vertices) > len(self.edges)

    def begin(self, first: Rows) -> Positions:
        """Replace the values that neighbours have read by these rows; return all vertices."""
        self.read.forget(np.flatnonzero(self.read.present))
        self.put(self.read, first)
        everyone = np.arange(len(self.vertices))
        self.offer_anew(everyone)
        return everyone

    def put(self, store: VertexValues, rows: Rows) -> None:
        """Store rows, keys first, as values of vertices."""
        keys, values = rows.columns.values()
        (numbers,) = self.vertices.number([keys])
        self._grow()
        there = np.ones(len(numbers), dtype=np.bool_)
        store.put(Known(numbers, there, valid_mask(values), values_of(values, _BITS)))

    def resume(self, shown: Rows, read: Rows) -> None:
        """Restore the values of the last epoch."""
        self.put(self.shown, shown)
        self.put(self.read, read)
        everyone = np.arange(len(self.vertices))
        self.offer_anew(everyone)
        self._is_pending.now[:] = self.differs(everyone)
        self.shown.changes()
        self.read.changes()

    def _grow(self) -> None:
        length = len(self.vertices)
        for store in (self.sources, self.own, self.shown, self.read):
            store.grow(length)
        for part in (self._offered, self._is_offered, self._is_pending, self._places):
            part.fill_up(length, 0)
        for part in (self._totals, self._is_number, self._arrives, self._offered_more, self._is_rounded):
            part.fill_up(length, 0)

    # ——— rounds

    def add_up(self, vertices: Positions) -> Positions:
        """Recompute the sums of vertices; return those whose shown values change."""
        self._totals.now[vertices], self._is_number.now[vertices], self._arrives.now[vertices] = self._sums(vertices)
        self._is_rounded.now[vertices] = False
        return self._show(vertices)

    def _show(self, vertices: Positions) -> Positions:
        """Compute the shown values of vertices from their sums; return those that change."""
        there = self._arrives.now[vertices] if self.gathering.own is None else self.own.present[vertices]
        if self.gathering.own is not None and not self.gathering.keeps_all:
            there = there & self._arrives.now[vertices]
        new = (
            self._applied(vertices)
            if there.all()
            else self._with_none(vertices[~there], self._applied(vertices[there]))
        )
        new = new.where(new.differs(self.shown.known(new.vertices)))
        self.shown.put(new)
        return new.vertices

    def _applied(self, vertices: Positions) -> Known:
        """The values of vertices from their sums; all of them have rows."""
        sums = from_numpy(self._totals.now[vertices], pa.float64(), self._is_number.now[vertices])
        made = self._apply(Rows({SUM: sums, **self.own.arrays(vertices)}, _each_once(vertices)))
        return Known(vertices, np.ones(len(vertices), np.bool_), valid_mask(made), values_of(made, _BITS))

    def _with_none(self, vertices: Positions, others: Known) -> Known:
        """The same with further vertices that have no row."""
        absent = np.zeros(len(vertices), np.bool_)
        return Known(
            np.concatenate([vertices, others.vertices]),
            np.concatenate([absent, others.present]),
            np.concatenate([absent, others.valid]),
            np.concatenate([np.zeros(len(vertices), np.int64), others.values]),
        )

    def _sums(self, vertices: Positions) -> tuple[Values, Mask, Mask]:
        """The sums at vertices; which of these are numbers; at which vertices anything arrives."""
        count = len(vertices)
        if DENSE * count > len(self.vertices) and self._is_plain:
            return self._all_sums(vertices)
        edges = self.edges.all() if 2 * count > len(self.vertices) else self.edges.arriving(vertices)
        is_readable = self.read.present
        if self.gathering.sources is not None:
            is_readable = is_readable & self.sources.present
        if not is_readable.all():
            edges = edges[is_readable[self.edges.sources[edges]]]
        values, valid = self._along(edges, self.edges.sources[edges])
        places = self._places.now
        places[vertices] = np.arange(count)
        if 2 * count > len(self.vertices) and count < len(self.vertices):
            is_other = np.ones(len(self.vertices), dtype=np.bool_)
            is_other[vertices] = False
            places[is_other] = count  # sums at other vertices are computed, too, and cut off
        at = places[self.edges.targets[edges]]
        arrives = np.bincount(at, minlength=count)[:count] > 0
        if valid.all():
            return np.bincount(at, values, count)[:count], arrives, arrives
        known = np.bincount(at[valid], minlength=count)[:count] > 0
        return np.bincount(at[valid], values[valid], count)[:count], known, arrives

    @property
    def _is_plain(self) -> bool:
        """Whether all edges are single and offer the value of their source, which is a number."""
        if self.gathering.edges or not self.edges.are_single:
            return False
        offers = self.read.present & self._is_offered.now
        if self.gathering.sources is not None:
            offers &= self.sources.present
        return bool((offers | ~self.edges.has_edge("source", len(self.vertices))).all())

    def _all_sums(self, vertices: Positions) -> tuple[Values, Mask, Mask]:
        """The same, by summing at all vertices with a matrix product."""
        length, arrivals = len(self.vertices), self.edges.arrivals()
        sums = np.zeros(length)
        sums[arrivals.vertices] = arrivals.matrix @ self._offered.now[: arrivals.matrix.shape[1]]
        arrives = self.edges.has_edge("target", length)
        if len(vertices) < length:
            sums, arrives = sums[vertices], arrives[vertices]
        return sums, arrives, arrives

    def _along(self, edges: Positions, starts: Positions) -> tuple[Values, Mask]:
        """What edges offer, times their counts."""
        if self.gathering.edges:
            own = {f.name: self.edges.column(at, edges) for at, f in enumerate(self.gathering.edges)}
            values, valid = self._evaluated(starts, own)
        else:
            values, valid = self._offered.now[starts], self._is_offered.now[starts]
        counts = self.edges.counts[edges]
        return (values if (counts == 1).all() else values * counts), valid

    def offer_anew(self, vertices: Positions) -> None:
        """Compute what vertices offer from their read values."""
        if self.gathering.edges:
            return
        there = vertices[self.read.present[vertices]]
        if self.gathering.sources is not None:
            there = there[self.sources.present[there]]
        self._offered.now[there], self._is_offered.now[there] = self._evaluated(there, {})

    def _evaluated(self, starts: Positions, columns: dict[str, pa.Array]) -> tuple[Values, Mask]:
        known = from_numpy(self.read.values[starts], pa.float64(), self.read.valid[starts])
        rows = {self.gathering.known.name: known, **self.sources.arrays(starts), **columns}
        found = self._offer(Rows(rows, _each_once(starts)))
        return values_of(found, "f8"), valid_mask(found)

    def hand_on(self, vertices: Positions) -> Positions:
        """Let neighbours read the shown values of vertices; return the vertices whose sums this affects."""
        self._let_read(vertices)
        return self._reached(vertices)

    def _let_read(self, vertices: Positions) -> None:
        self.read.put(self.shown.known(vertices))
        self.keep_pending(vertices, pending=False)
        self.offer_anew(vertices)

    def spread(self, vertices: Positions, *, by_difference: bool) -> Positions:
        """Propagate the shown values of vertices and update sums: all of them, or those affected, whichever is faster.

        `by_difference`: differences may be added to sums, which leaves them rounded.
        """
        self.is_in_full = self._have_many_edges(vertices)
        if self.is_in_full or not by_difference:
            return self.add_up(self.hand_on(vertices))
        edges = self.edges.leaving(vertices)
        before = self._offers(vertices, edges)
        self._let_read(vertices)
        change = self._difference(before, self._offers(vertices, edges))
        if change is None:
            return self.add_up(self._reached(vertices))
        return self._show(self._add_along(vertices, edges, change))

    def _offers(self, vertices: Positions, edges: Positions) -> tuple[Values, Mask]:
        """What vertices offer, or each of their edges if edges have columns; and which offers are numbers."""
        if self.gathering.edges:
            starts = self.edges.sources[edges]
            values, valid = self._along(edges, starts)
        else:
            starts, values, valid = vertices, self._offered.now[vertices], self._is_offered.now[vertices]
        is_offered = valid & self.read.present[starts]
        if self.gathering.sources is not None:
            is_offered &= self.sources.present[starts]
        return np.where(is_offered, values, 0.0), is_offered

    @staticmethod
    def _difference(before: tuple[Values, Mask], after: tuple[Values, Mask]) -> Values | None:
        """The change of offers; None if other ones are numbers now, or if it is not finite."""
        change: Values = after[0] - before[0]
        return change if np.array_equal(before[1], after[1]) and np.isfinite(change).all() else None

    def _add_along(self, vertices: Positions, edges: Positions, change: Values) -> Positions:
        """Add the changes of offers, by vertex or by edge, to the sums at the targets; return the targets."""
        targets = self.edges.targets[edges]
        if not self.gathering.edges:
            self._offered_more.now[vertices] = change
            change = self._offered_more.now[self.edges.sources[edges]]
            change = change if self.edges.are_single else change * self.edges.counts[edges]
        np.add.at(self._totals.now, targets, change)
        reached = different(targets, len(self.vertices))
        self._is_rounded.now[reached] = True
        return reached

    @property
    def rounded(self) -> Positions:
        """The vertices with differences added to their sums since these were last recomputed."""
        return np.flatnonzero(self._is_rounded.now)

    def differs(self, vertices: Positions) -> Mask:
        """Which vertices have a shown value that differs from the read one."""
        return self.shown.known(vertices).differs(self.read.known(vertices))

    def each(self, some: Sequence[Positions]) -> Positions:
        """The union of sets of vertices."""
        return different(np.concatenate(some), len(self.vertices))

    @property
    def pending(self) -> Positions:
        """The vertices whose shown value neighbours have not read."""
        return np.flatnonzero(self._is_pending.now)

    def held(self) -> dict[str, float]:
        """The number of pending vertices, and the greatest difference of their shown and read values."""
        vertices = self.pending
        both = self.shown.present[vertices] & self.read.present[vertices]
        shown, read = (store.values[vertices[both]].view(np.float64) for store in (self.shown, self.read))
        return {"rows": len(vertices), "most": float(np.abs(shown - read).max(initial=0.0))}

    def keep_pending(self, vertices: Positions, *, pending: bool) -> None:
        """Mark whether neighbours have yet to read the shown values of vertices."""
        self._is_pending.now[vertices] = pending

    def rows_of(self, vertices: Positions) -> int:
        """The number of rows in the change of vertices, counting old and new ones."""
        return int(self.shown.present[vertices].sum() + self.read.present[vertices].sum())

    def pairs(self, vertices: Positions, *, key_at: int) -> Rows:
        """The shown and the read rows of vertices, side by side."""
        keys = self.vertices.keys(vertices)
        columns: list[pa.Array] = []
        for store in (self.shown, self.read):
            known = store.known(vertices)
            both = [_where(keys, known.present), from_numpy(known.values, pa.float64(), known.valid & known.present)]
            columns += both[::-1] if key_at else both
        return Rows({f"c{at}": c for at, c in enumerate(columns)}, np.ones(len(keys), dtype=np.int64))

    def shown_rows(self, vertices: Positions) -> Rows:
        return self._rows(self.shown.known(vertices))

    def read_rows(self, vertices: Positions) -> Rows:
        """The read rows of vertices that have one."""
        known = self.read.known(vertices)
        return self._rows(known.where(known.present))

    def changes(self, store: VertexValues) -> Rows:
        """The changes of values since the last call: keys, then values."""
        old, new = store.changes()
        return Rows.concat([self._rows(old).negated(), self._rows(new)])

    def _rows(self, known: Known) -> Rows:
        keys = self.vertices.keys(known.vertices)
        values = from_numpy(known.values, pa.float64(), known.valid)
        return Rows({"key": keys, "value": values}, np.ones(len(keys), dtype=np.int64))


def _each_once(vertices: Positions) -> Weights:
    """A weight of one for each vertex, as a view of a single number."""
    return np.broadcast_to(_ONE, len(vertices))


def _where(keys: pa.Array, present: Mask) -> pa.Array:
    """Keys, but NULL where there is no row."""
    if present.all():
        return keys
    return pc.if_else(pa.array(present), keys, pa.scalar(None, type=keys.type))
