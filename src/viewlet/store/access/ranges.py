"""Look-ups by equality and range: rows with broker = b and price > p, or only their sums, in logarithmic time.

The rows of a run are sorted by (hash of the equality columns, value of the ordered column), with the prefix sums S of
weights and sums beside them:

    Σ {rows of b with p < price ≤ q}  =  S[rows of b up to q]  −  S[rows of b up to p]

A prefix sum may overflow. It wraps around, and so does the difference, which is correct again: both are integers
modulo 2⁶⁴, as weights are.

The index is built in memory on first use and kept with the run, which never changes. Where a look-up needs few of the
rows and can find them by hash, only those are sorted, each time.
Values compare as in Spark, by their places in the order (columns/order.py); NULL is in no range.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, Positions, from_numpy, valid_mask, values_of
from viewlet.columns.exact.double_sums import ExactSums
from viewlet.columns.hash import Hashes, hash_rows
from viewlet.columns.order import Key, place_of
from viewlet.columns.rows import Rows, same
from viewlet.store.access.lanes import Lanes, LaneTotals, Totals
from viewlet.store.access.search import find
from viewlet.store.runs.layout import Layout, Names
from viewlet.store.runs.map_run import MapBody, Span, spread, to_rows

Values = Key


@dataclass(frozen=True, slots=True)
class Bound:
    """One end of a range for each probe; a NULL bound matches nothing."""

    values: pa.Array  # of the type of the ordered column
    inclusive: bool


Side = Literal["left", "right"]
LEFT: Side = "left"
RIGHT: Side = "right"


@dataclass(frozen=True, slots=True)
class Edge:
    """A bound as a place between values: just left or just right of all equal values."""

    values: Values
    side: Side


@dataclass(frozen=True, slots=True)
class Probes:
    """Hashes to look up and the edges of each range; `live` marks probes without a NULL bound, None if all are live."""

    hashes: Hashes
    low: Edge | None
    high: Edge | None
    live: Mask | None


def make_probes(hashes: Hashes, low: Bound | None, high: Bound | None, kind: pa.DataType) -> Probes:
    """Probes of an ordered column of the given type, which must be primitive or decimal."""
    assert pa.types.is_primitive(kind) or pa.types.is_decimal(kind), f"a column of {kind} cannot be the ordered one"
    live = None
    for bound in (low, high):
        if bound is None:
            continue
        assert bound.values.type == kind, f"a bound of {bound.values.type} for a column of {kind}"
        assert len(bound.values) == len(hashes), f"{len(bound.values)} bounds for {len(hashes)} probes"
        if bound.values.null_count:
            valid = valid_mask(bound.values)
            live = valid if live is None else live & valid
    start = None if low is None else Edge(place_of(low.values), "left" if low.inclusive else "right")
    stop = None if high is None else Edge(place_of(high.values), "right" if high.inclusive else "left")
    return Probes(hashes, start, stop, live)


class Hits(NamedTuple):
    """The probes whose hash occurs in a run, the number of that hash, and the index positions of the rows in range."""

    which: Positions
    numbers: Positions
    start: Positions
    stop: Positions


class RangeIndex:
    """Rows sorted by (hash, value), with a code for each:

        code = number of the hash · (rows + 1) + rank of the value among all rows

    An edge of a range is then found by two binary searches: for its rank among the values, and for its code.
    """

    def __init__(self, batch: pa.RecordBatch, layout: Layout, columns: Names, order: str, hashes: Hashes) -> None:
        self.batch, self._layout, self._columns = batch, layout, columns
        self._column = column = batch.column(layout.columns.index(order))
        values = place_of(column)
        by_value = np.argsort(values)
        self._given = hashes
        self._running: dict[Hashable, ExactSums] = {}
        self._lanes: dict[Names, Lanes] = {}
        if column.null_count:
            by_value = by_value[valid_mask(column)[by_value]]
        self._values, hashes = values[by_value], hashes[by_value]
        ranks = np.argsort(hashes, kind="stable")
        self.at: Positions = by_value[ranks]
        self._starts, self._hashes = _groups(hashes[ranks])
        self._width = len(ranks) + 1
        self._codes = np.repeat(np.arange(len(self._hashes)) * self._width, np.diff(self._starts)) + ranks

    @cached_property
    def _rows(self) -> Rows:
        return to_rows(self.batch, self._layout)

    @cached_property
    def _keys(self) -> list[pa.Array]:
        return [self._rows[name] for name in self._columns]

    @cached_property
    def _counted(self) -> list[Totals]:
        """The columns that add up: weights and sums."""
        return [self._rows.weights, *(values_of(self._rows[name], "i8") for name in self._layout.sums)]

    @cached_property
    def _prefix(self) -> Totals:
        """Prefix sums in index order, beginning with that of no rows."""
        result = np.zeros((len(self.at) + 1, len(self._counted)), dtype=np.int64)
        for i, values in enumerate(self._counted):
            np.cumsum(values[self.at], out=result[1:, i])
        return result

    @cached_property
    def _nulls(self) -> tuple[Hashes, Positions]:
        """The sorted hashes of the rows whose value is NULL, and those rows' positions."""
        at = np.flatnonzero(~valid_mask(self._column)) if self._column.null_count else self.at[:0]
        order = np.argsort(self._given[at], kind="stable")
        return self._given[at[order]], at[order]

    def rows(self, at: Positions) -> Rows:
        """Rows by their positions in the run."""
        return to_rows(self.batch.take(from_numpy(at, pa.int64())), self._layout)

    def without_value(self, hashes: Hashes) -> tuple[Positions, Rows] | None:
        """The rows of the given hashes whose value is NULL, and which hash each has; None if there are none."""
        found = find(self._nulls[0], hashes)
        return None if found is None else (found[0], self._rows.take(self._nulls[1][found[1]]))

    @cached_property
    def ordered(self) -> Values:
        """The values in index order."""
        return place_of(self._column)[self.at]

    @cached_property
    def is_mixed(self) -> bool:
        """Whether rows with different keys share a hash."""
        if len(self._hashes) == len(self.at) or not self._columns:
            return False
        after = np.delete(np.arange(len(self.at)), self._starts[:-1])
        return not same(self._keys, self.at[after], self._keys, self.at[after - 1]).all()

    def find(self, probes: Probes) -> Hits | None:
        """The rows in range for each probe; None if no probe's hash is here."""
        if not len(self._hashes):
            return None
        numbers = self._hashes.searchsorted(probes.hashes)
        numbers[numbers == len(self._hashes)] = 0
        here = self._hashes[numbers] == probes.hashes
        which = np.flatnonzero(here if probes.live is None else here & probes.live)
        if not len(which):
            return None
        numbers = numbers[which]
        start = self._starts[numbers] if probes.low is None else self._edge(probes.low, which, numbers)
        stop = self._starts[numbers + 1] if probes.high is None else self._edge(probes.high, which, numbers)
        return Hits(which, numbers, start, np.maximum(start, stop))

    def _edge(self, edge: Edge, which: Positions, numbers: Positions) -> Positions:
        """How many rows in index order come before an edge."""
        ranks = self._values.searchsorted(edge.values[which], edge.side)
        return self._codes.searchsorted(numbers * self._width + ranks)

    def pairs(self, hits: Hits | None) -> tuple[Positions, Positions] | None:
        """All pairs of a probe and a row in its range; None if there are none."""
        if hits is None:
            return None
        counts = hits.stop - hits.start
        return (np.repeat(hits.which, counts), self.at[spread(hits.start, counts)]) if counts.any() else None

    def keys_of(self, hits: Hits) -> list[pa.Array]:
        """The key of each hash found, valid only if no other key shares the hash."""
        first = pa.array(self.at[self._starts[hits.numbers]])
        return [column.take(first) for column in self._keys]

    def add(self, hits: Hits, totals: Totals) -> None:
        """Add the sums over the rows in range to each probe's totals."""
        totals[hits.which] += self._prefix[hits.stop] - self._prefix[hits.start]

    def lanes(self, columns: Names) -> Lanes:
        """The rows split into lanes by some integer columns."""
        if columns not in self._lanes:
            counted = np.stack([values[self.at] for values in self._counted], axis=1)
            self._lanes[columns] = Lanes([values_of(self._rows[name], "i4")[self.at] for name in columns], counted)
        return self._lanes[columns]

    def sums(self, name: Hashable, running: Callable[[Rows], ExactSums], hits: Hits) -> ExactSums:
        """Sums over the rows in range of whatever `running` adds up, cached under `name`."""
        if name not in self._running:
            self._running[name] = running(self._rows.take(self.at))
        return self._running[name].between(hits.start, hits.stop)

    def add_each(self, hits: Hits, keys: Sequence[pa.Array], totals: Totals, own_lane: Mask | None = None) -> None:
        """`add` row by row, comparing every key; restricted to one lane if `own_lane` is given."""
        found = self.pairs(hits)
        if found is None:
            return
        own = same(keys, found[0], self._keys, found[1])
        if own_lane is not None:
            own &= own_lane[found[1]]
        which, at = found[0][own], found[1][own]
        for i, values in enumerate(self._counted):
            np.add.at(totals[:, i], which, values[at])


def _groups(ordered: Hashes) -> tuple[Positions, Hashes]:
    """The start of each distinct hash among sorted ones, followed by the end of the last; and the distinct hashes."""
    begins = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    starts = np.flatnonzero(begins)
    return np.append(starts, len(ordered)), ordered[starts]


def index_of(body: MapBody, layout: Layout, columns: Names, order: str, span: Span, wanted: Hashes) -> RangeIndex:
    """An index of a span of a run that can serve `wanted`: the cached one, or a new one of all rows or of theirs."""
    name = (columns, order, span)
    index = body.ranges.get(name)
    if index is not None:
        return index
    few = _few(body, layout, columns, span, wanted)
    if few is not None:
        hashes = body.hashes_at(few, layout.lookups.index(columns))
        return RangeIndex(body.rows.take(few), layout, columns, order, hashes)
    start, stop = span
    batch = body.rows.slice(start, stop)
    if columns in layout.lookups:
        hashes = body.hashes(span, layout.lookups.index(columns))
    else:
        hashes = hash_rows([batch.column(layout.columns.index(name)) for name in columns], len(batch))
    index = body.ranges[name] = RangeIndex(batch, layout, columns, order, hashes)
    return index


_MANY, _LARGE = 8, 64  # how many small indexes cost as much as one of all rows; rows per group from which that one pays


def _few(body: MapBody, layout: Layout, columns: Names, span: Span, wanted: Hashes) -> Positions | None:
    """The rows of a span with one of the wanted hashes, if they are a small part of it and few per hash."""
    if columns not in layout.lookups or not columns:
        return None
    found = body.find(layout.lookups.index(columns), np.unique(wanted), span)
    rows = np.zeros(0, dtype=np.int64) if found is None else found[1]
    is_small = len(rows) * _MANY < span[1] - span[0] and len(rows) <= _LARGE * len(wanted)
    return rows if is_small else None


def add_ranges(indexes: Sequence[RangeIndex], probes: Probes, keys: Sequence[pa.Array], layout: Layout) -> Rows:
    """One row of sums per probe, over the rows in range that have the probe's keys."""
    totals = np.zeros((len(probes.hashes), 1 + len(layout.sums)), dtype=np.int64)
    found = []
    for index in indexes:
        hits = index.find(probes)
        if hits is not None and index.is_mixed:
            index.add_each(hits, keys, totals)
        elif hits is not None:
            found.append((index, hits))
    for index, hits in _with_own_keys(found, keys):
        index.add(hits, totals)
    sums = {name: from_numpy(totals[:, i + 1], pa.int64()) for i, name in enumerate(layout.sums)}
    return Rows(sums, np.ascontiguousarray(totals[:, 0]))


def add_ranges_by_lane(
    indexes: Sequence[RangeIndex], probes: Probes, keys: Sequence[pa.Array], layout: Layout, lanes: Names
) -> tuple[Positions, Rows]:
    """The same per combination of the `lanes` columns: a row for each nonzero total, and which probe it belongs to."""
    totals = LaneTotals(len(probes.hashes), lanes, layout.sums)
    found = [(index, hits) for index in indexes if (hits := index.find(probes)) is not None]
    for index, hits in _with_own_keys([(index, hits) for index, hits in found if not index.is_mixed], keys):
        held = index.lanes(lanes)
        for number, lane in enumerate(held.found):
            totals.of(lane)[hits.which] += held.between(number, hits.start, hits.stop)
    for index, hits in ((index, hits) for index, hits in found if index.is_mixed):
        held = index.lanes(lanes)
        for number, lane in enumerate(held.found):
            index.add_each(hits, keys, totals.of(lane), held.rows_of(number, index.at, len(index.batch)))
    return totals.rows()


def _with_own_keys(found: list[tuple[RangeIndex, Hits]], keys: Sequence[pa.Array]) -> list[tuple[RangeIndex, Hits]]:
    """Only the hits whose keys equal the probe's. One comparison covers all runs, since each has a fixed cost."""
    if not found or not keys:
        return found
    which = np.concatenate([hits.which for _, hits in found])
    there = [pa.concat_arrays(parts) for parts in zip(*(index.keys_of(hits) for index, hits in found), strict=True)]
    if all(_are_same(key, which, other) for key, other in zip(keys, there, strict=True)):
        return found
    own = same(keys, which, there, np.arange(len(which)))
    masks = np.split(own, np.cumsum([len(hits.which) for _, hits in found])[:-1])
    return [(index, Hits(*(part[mask] for part in hits))) for (index, hits), mask in zip(found, masks, strict=True)]


def _are_same(key: pa.Array, which: Positions, other: pa.Array) -> bool:
    """Whether all keys are certainly equal, as is usual: a quick check by Arrow, which cannot judge NaN and zeros."""
    flat = not pa.types.is_floating(key.type) and not pa.types.is_nested(key.type)
    return flat and key.take(pa.array(which)).equals(other)
