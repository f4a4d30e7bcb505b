"""The contents of a bag: the sum of its runs.

A partition is a range of the 64-bit hash (of a map's key, or of a table's whole row), so the same runs can be cut into
any number of partitions. A partition of a map's run is contiguous.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cached_property
from math import ceil

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Positions, concat_batches, valid_mask, values_of
from viewlet.columns.exact.double_sums import ExactSums
from viewlet.columns.hash import Hashes, hash_rows, order_of
from viewlet.columns.rows import Rows, Weights
from viewlet.store.access.affected_ranges import AffectedRanges, around
from viewlet.store.access.gathered import is_small
from viewlet.store.access.nearest import Places, nearest
from viewlet.store.access.ranges import Bound, RangeIndex, add_ranges, add_ranges_by_lane, index_of, make_probes
from viewlet.store.access.ranked import around_shares
from viewlet.store.access.session_intervals import sessions_met
from viewlet.store.runs.add_rows import add_together
from viewlet.store.runs.layout import Layout, Names
from viewlet.store.runs.map_run import MapBody, Span, to_rows
from viewlet.store.runs.narrow import StoredColumns, taken
from viewlet.store.runs.runs import Run, RunRef, Types

_Pairs = Sequence[tuple[StoredColumns | pa.RecordBatch, tuple[Positions, Positions] | None]]
"""For each run its rows, and the pairs of matching probes and rows, or None."""
_NOWHERE: Positions = np.zeros(0, dtype=np.int64)
_NO_HASHES: Hashes = np.zeros(0, dtype=np.uint64)
_KEPT = 1024  # look-ups of up to this many probes are cached
_MANY = 64  # more probes than this are sorted first, so that the search walks memory in order


class Contents:
    """The contents of a map, looked up by hash or scanned."""

    def __init__(self, layout: Layout, runs: Sequence[Run], types: Types, part: tuple[int, int] | None = None) -> None:
        self.layout, self.runs, self.types, self.part = layout, tuple(runs), types, part
        self._looked_up: tuple[tuple[Names, bool], Hashes, _Pairs] | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.runs)} runs of {', '.join(self.layout.columns)})"

    @cached_property
    def rows(self) -> int:
        """An upper bound of the number of rows: rows of different runs may cancel out."""
        if self.part is None:
            return sum(run.ref.rows for run in self.runs)
        return sum(stop - start for start, stop in self._spans)

    @property
    def bytes(self) -> int:
        return sum(run.ref.size for run in self.runs)

    def total(self) -> int:
        """The sum of all weights, which is the number of rows with multiplicity."""
        return int(sum(run.map.weights(span).sum() for run, span in zip(self.runs, self._spans, strict=True)))

    is_sorted = True
    """Whether rows can be looked up."""

    def refs(self) -> tuple[RunRef, ...]:
        """The references of the runs, for `open_contents` in another process."""
        return tuple(run.ref for run in self.runs)

    def partition(self, i: int, n: int) -> Contents:
        """The rows whose hash lies in the i-th of n equal ranges."""
        assert self.part is None and 0 <= i < n, f"no partition {i} of {n} of {self}"
        return type(self)(self.layout, self.runs, self.types, (i, n))

    @cached_property
    def _spans(self) -> list[Span]:
        """The rows of each run that belong to the partition."""
        return [run.map.span(self.part) for run in self.runs]

    @cached_property
    def by_size(self) -> tuple[list[MapBody], list[MapBody]]:
        """The runs searched one by one, and the small ones searched together, if there are several."""
        bodies = [run.map for run in self.runs]
        small = [body for body in bodies if is_small(body)] if self.layout.fingerprints else []
        return (bodies, []) if len(small) < 2 else ([body for body in bodies if not is_small(body)], small)

    def lookup(self, columns: Names, hashes: Hashes, *, loosely: bool = False) -> tuple[Positions, Rows]:
        """All rows whose hash over some columns is among the given ones, and which of those it is.

        `loosely`: rows with other hashes may be included; the caller compares the columns.
        """
        order = order_of(hashes) if len(hashes) > _MANY else None
        at, rows = self._take(self._pairs(columns, hashes if order is None else hashes[order], loosely=loosely))
        return at if order is None else order[at], rows

    def count(self, columns: Names, hashes: Hashes) -> int:
        """How many rows `lookup` would return, without reading them."""
        return sum(len(pair[1]) for _, pair in self._pairs(columns, hashes) if pair is not None)

    def counts(self, columns: Names, hashes: Hashes) -> Positions:
        """The same for each hash."""
        order = order_of(hashes)
        result = np.zeros(len(hashes), dtype=np.int64)
        for _, pair in self._pairs(columns, hashes[order]):
            if pair is not None:
                result[order] += np.bincount(pair[0], minlength=len(hashes))
        return result

    def _pairs(self, columns: Names, probes: Hashes, *, loosely: bool = False) -> _Pairs:
        """The matching probes and rows of each run. The last look-up is cached: the next view often repeats it."""
        assert columns in self.layout.lookups, f"{columns} is neither key nor index: {self.layout.lookups}"
        if self._looked_up is not None:
            known, others, found = self._looked_up
            if known == (columns, loosely) and np.array_equal(others, probes):
                return found
        which = self.layout.lookups.index(columns)
        found = [
            (run.map.rows, run.map.find(which, probes, span, loosely=loosely))
            for run, span in zip(self.runs, self._spans, strict=True)
        ]
        if len(probes) <= _KEPT:
            self._looked_up = (columns, loosely), probes, found
        return found

    def within(
        self, columns: Names, order: str, hashes: Hashes, low: Bound | None, high: Bound | None
    ) -> tuple[Positions, Rows]:
        """All rows whose hash over some columns equals a probe's and whose `order` is within the probe's bounds.

        Each comes with its probe's number. With no columns, every row has the same hash, that of nothing.
        """
        probes = make_probes(hashes, low, high, self.types[order])
        indexes = self._ranges(columns, order, hashes)
        return self._take([(index.batch, index.pairs(index.find(probes))) for index in indexes])

    def add_within(
        self,
        columns: Names,
        order: str,
        keys: Sequence[pa.Array],
        low: Bound | None,
        high: Bound | None,
        length: int,
    ) -> Rows:
        """One row for each of `length` probes: weights and sums of the rows with its keys within its bounds, added up.

        The columns are the layout's sums; probes that find nothing get zeros. NULL is a key like any other: callers for
        whom NULL equals nothing leave such probes out.
        """
        probes = make_probes(hash_rows(keys, length), low, high, self.types[order])
        return add_ranges(self._ranges(columns, order, probes.hashes), probes, keys, self.layout)

    def add_within_lanes(
        self,
        columns: Names,
        order: str,
        keys: Sequence[pa.Array],
        low: Bound | None,
        high: Bound | None,
        length: int,
        lanes: Names,
    ) -> tuple[Positions, Rows]:
        """The same for each combination of the `lanes` columns with a nonzero total, with the probe's number."""
        probes = make_probes(hash_rows(keys, length), low, high, self.types[order])
        indexes = self._ranges(columns, order, probes.hashes)
        return add_ranges_by_lane(indexes, probes, keys, self.layout, lanes)

    def first(
        self, columns: Names, hashes: Hashes, order: str, *, descending: bool, count: int = 1
    ) -> tuple[Positions, Rows]:
        """For each given hash over some columns, its `count` rows with the least values, including ties with the last.

        `descending`: those with the greatest. Groups whose values are all NULL, and groups that share a hash, come
        whole.
        """
        places = Places(hashes, None, before=descending)
        found = nearest(self._ranges(columns, order, hashes), columns, places, count)
        return self._and_whole(columns, hashes, None if found is None else (found.which, found.rows))

    def leading(
        self, columns: Names, hashes: Hashes, order: str, *, descending: bool, count: int
    ) -> tuple[Positions, Rows]:
        """The `first` rows of some groups, given by hash, and their rows whose `order` is NULL."""
        at, rows = self.first(columns, hashes, order, descending=descending, count=count)
        which, nulls = self.without_value(columns, order, hashes)
        missing = ~np.isin(which, at[~valid_mask(rows[order])])
        return np.concatenate([at, which[missing]]), Rows.concat([rows, nulls.filter(missing)])

    def around_shares(
        self, columns: Names, hashes: Hashes, order: str, shares: Sequence[float]
    ) -> tuple[Positions, Rows]:
        """A few weighted rows that stand for each group, given by hash, if only percentiles at `shares` are asked for.

        Groups whose values are all NULL, and groups that share a hash, come whole.
        """
        indexes = self._ranges(columns, order, hashes)
        return self._and_whole(columns, hashes, around_shares(indexes, columns, order, hashes, shares, self.layout))

    def _and_whole(
        self, columns: Names, hashes: Hashes, found: tuple[Positions, Rows] | None
    ) -> tuple[Positions, Rows]:
        """The rows found for some groups, and all rows of the groups for which none were found."""
        everything = np.arange(len(hashes))
        others = everything if found is None else np.setdiff1d(everything, found[0])
        at, rows = self._of_groups(columns, hashes[others])
        if found is None:
            return others[at], rows
        return np.concatenate([found[0], others[at]]), Rows.concat([found[1], rows])

    def _of_groups(self, columns: Names, hashes: Hashes) -> tuple[Positions, Rows]:
        """All rows of some groups; without columns everything is one group, whether or not that is a look-up."""
        if columns or not len(hashes):
            return self.lookup(columns, hashes) if len(hashes) else (_NOWHERE, self.nothing())
        rows = self.scan()
        return np.zeros(len(rows), dtype=np.int64), rows

    def without_value(self, columns: Names, order: str, hashes: Hashes) -> tuple[Positions, Rows]:
        """The rows of some groups, given by hash, whose `order` is NULL, and the group of each."""
        found = [index.without_value(hashes) for index in self._ranges(columns, order, hashes)]
        parts = [part for part in found if part is not None]
        if not parts:
            return _NOWHERE, self.nothing()
        return np.concatenate([which for which, _ in parts]), Rows.concat([rows for _, rows in parts])

    def affected_ranges(
        self, columns: Names, order: str, changes: Rows, before: int | None, after: int | None
    ) -> AffectedRanges | None:
        """How far changes reach in the order of a column: a number of rows before and after each, or all rows (None).

        The result is None if groups share a hash, which makes it unknown.
        """
        indexes = self._ranges(columns, order, changes.hashes(columns))
        return around(indexes, columns, order, changes, before, after)

    def sessions_met(
        self, columns: Names, ends: tuple[str, str], spans: Rows, own: tuple[str, str]
    ) -> AffectedRanges | None:
        """How far spans reach in groups of sessions: each together with all sessions that it overlaps.

        The rows are in the order of the first of `own`. None if groups share a hash.
        """
        indexes = self._ranges(columns, own[0], spans.hashes(columns))
        return sessions_met(indexes, columns, ends, spans, own)

    def inside(self, columns: Names, order: str, affected: AffectedRanges) -> tuple[Positions, Rows]:
        """The rows in some ranges, and the range of each."""
        indexes = self._ranges(columns, order, affected.hashes)
        return self._take([(index.batch, index.pairs(index.find(affected.probes))) for index in indexes])

    def beside(
        self, columns: Names, order: str, affected: AffectedRanges, count: int, *, before: bool
    ) -> tuple[Positions, Rows]:
        """The `count` rows just before or after each range, including ties with the last."""
        indexes = self._ranges(columns, order, affected.hashes)
        found = nearest(indexes, columns, affected.outside(before=before), count) if count else None
        return (_NOWHERE, self.nothing()) if found is None else (found.which, found.rows)

    def count_outside(
        self, columns: Names, order: str, affected: AffectedRanges, keys: Sequence[pa.Array], *, before: bool
    ) -> Weights:
        """How many rows of its group come before or after each range."""
        indexes = self._ranges(columns, order, affected.hashes)
        probes = affected.outside(before=before).probes(np.arange(len(affected)))
        return add_ranges(indexes, probes, keys, self.layout).weights

    def sums_outside(
        self,
        columns: Names,
        order: str,
        affected: AffectedRanges,
        name: Hashable,
        running: Callable[[Rows], ExactSums],
        *,
        before: bool,
    ) -> ExactSums:
        """Sums over the rows of its group before or after each range; no two groups may share a hash."""
        indexes = self._ranges(columns, order, affected.hashes)
        probes = affected.outside(before=before).probes(np.arange(len(affected)))
        found = [(index, hits) for index in indexes if (hits := index.find(probes)) is not None]
        return ExactSums.merge([(hits.which, index.sums(name, running, hits)) for index, hits in found], len(affected))

    def _ranges(self, columns: Names, order: str, hashes: Hashes) -> list[RangeIndex]:
        """For each run an index by some columns and the order of another, usable for the given hashes."""
        strangers = {*columns, order}.difference(self.layout.plain)
        assert not strangers, f"{sorted(strangers)} do not tell rows apart: {self.layout}"
        return [
            index_of(run.map, self.layout, columns, order, span, hashes)
            for run, span in zip(self.runs, self._spans, strict=True)
        ]

    def _take(self, found: _Pairs) -> tuple[Positions, Rows]:
        """The rows found in each batch, concatenated, and the probe of each."""
        pairs = [(rows, pair) for rows, pair in found if pair is not None]
        if not pairs:
            return _NOWHERE, self.nothing()
        which = [pair[0] for _, pair in pairs]
        batches = [taken(rows, pair[1]) for rows, pair in pairs]
        if len(pairs) == 1:
            return which[0], to_rows(batches[0], self.layout)
        return np.concatenate(which), to_rows(concat_batches(batches), self.layout)

    def scan(self) -> Rows:
        """All rows of all runs; a row may occur several times, with weights that add up."""
        parts = [run.map.piece(span, self.layout) for run, span in zip(self.runs, self._spans, strict=True)]
        return Rows.concat(parts) if parts else self.nothing()

    def hashes(self) -> Hashes:
        """The hash of the key of each row of `scan`."""
        parts = [run.map.hashes(span) for run, span in zip(self.runs, self._spans, strict=True)]
        return parts[0] if len(parts) == 1 else np.concatenate([_NO_HASHES, *parts])

    def consolidated(self) -> Rows:
        """All rows netted: each once, with weights and sums added up, and without those that cancel out."""
        if len(self.runs) == 1 and self.layout.form == "map" and self.part is None:
            return self.runs[0].map.as_rows(self.layout)
        rows = self.scan()
        if len(self.runs) == 1 and self.layout.form == "map":
            return rows
        return add_together(rows, self.hashes(), self.layout)[0] if len(rows) else rows

    def projected(self, columns: Names) -> Rows:
        """Some columns of all rows, netted; no other column is read."""
        parts = [self._part_of_run(run, columns, *span) for run, span in zip(self.runs, self._spans, strict=True)]
        return Rows.concat([self.nothing().select(columns), *parts]).consolidate()

    def batches(self, columns: Names, size: int) -> Iterator[Rows]:
        """Some columns of all rows, in pieces of about `size` rows; a row may occur in several pieces.

        Deleted rows occur in none: if any weight is not positive, rows are netted first, one range of hashes at a time.
        """
        runs = list(zip(self.runs, self._spans, strict=True))
        if len(runs) == 1 or all((run.map.weights(span) > 0).all() for run, span in runs):
            for run, (begin, end) in runs:
                for start in range(begin, end, size):
                    yield self._part_of_run(run, columns, start, min(start + size, end))
            return
        count = max(1, ceil(self.rows / size))
        for part in (self.partition(i, count) for i in range(count)) if self.part is None else (self,):
            rows = part.consolidated().select(columns)
            yield from (rows.slice(start, size) for start in range(0, len(rows), size))

    def _part_of_run(self, run: Run, columns: Names, start: int, stop: int) -> Rows:
        places = [*map(self.layout.columns.index, columns), len(self.layout.columns)]
        *found, weights = run.map.rows.slice(start, stop, places).columns
        return Rows(dict(zip(columns, found, strict=True)), values_of(weights, "i8"))

    def nothing(self) -> Rows:
        """No rows, with the columns of this bag."""
        return Rows.empty(self.types)


def span_of(hashes: Hashes, part: tuple[int, int] | None) -> Span:
    """The slice of sorted hashes that lies in the i-th of n equal ranges."""
    if part is None:
        return 0, len(hashes)
    i, n = part
    start = int(hashes.searchsorted(np.uint64((i << 64) // n)))
    stop = len(hashes) if i + 1 == n else int(hashes.searchsorted(np.uint64(((i + 1) << 64) // n)))
    return start, stop
