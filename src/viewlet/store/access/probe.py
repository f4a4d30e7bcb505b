"""Look-ups by key hash, run by run, reading only the columns that are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from viewlet.columns.arrays import Positions, values_of
from viewlet.columns.hash import Hashes, order_of
from viewlet.columns.rows import Rows, Weights
from viewlet.store.access.gathered import Gathered
from viewlet.store.access.search import find
from viewlet.store.contents import Contents
from viewlet.store.runs.layout import Names
from viewlet.store.runs.map_run import MapBody

Pairs = tuple[Positions, Rows]


@dataclass(frozen=True, slots=True)
class Sorted:
    """Rows in their original order, and the order that sorts the hashes of their key."""

    rows: Rows
    key: Names
    order: Positions
    hashes: Hashes

    @staticmethod
    def by(key: Names, rows: Rows) -> Sorted:
        hashes = rows.hashes(key)
        order = order_of(hashes)
        return Sorted(rows, key, order, hashes[order])

    @staticmethod
    def as_given(rows: Rows) -> Sorted:
        """Rows that nobody looks up: all get the same hash."""
        return Sorted(rows, (), np.arange(len(rows)), np.zeros(len(rows), dtype=np.uint64))

    @staticmethod
    def concat(parts: Sequence[Sorted]) -> Sorted:
        """The rows of all parts; each part is sorted, so sorting their concatenation only merges."""
        if len(parts) == 1:
            return parts[0]
        starts = np.cumsum([0, *(len(part) for part in parts[:-1])])
        hashes = np.concatenate([part.hashes for part in parts])
        order = np.concatenate([part.order + start for part, start in zip(parts, starts, strict=True)])
        merged = order_of(hashes)
        return Sorted(Rows.concat([part.rows for part in parts]), parts[0].key, order[merged], hashes[merged])

    def __len__(self) -> int:
        return len(self.rows)

    def negated(self) -> Sorted:
        return replace(self, rows=self.rows.negated())

    def are_distinct(self) -> bool:
        """Whether all hashes differ."""
        return bool((self.hashes[1:] != self.hashes[:-1]).all())

    def find_in_map(self, contents: Contents, wanted: Names) -> Iterator[Pairs]:
        """For each run of a map, the rows with the key hash of one of ours (`wanted` columns), and which of ours."""
        assert contents.part is None and contents.layout.key == self.key, f"{contents} is not looked up by {self.key}"
        columns = contents.layout.columns
        picked = [*map(columns.index, wanted), len(columns)]
        for body, pairs in self._find_in_runs(contents):
            which, at = self._in_our_order(*pairs)
            *found, weights = body.rows.take(at, picked).columns
            yield which, Rows(dict(zip(wanted, found, strict=True)), values_of(weights, "i8"))

    def _find_in_runs(self, contents: Contents) -> Iterator[tuple[MapBody, tuple[Positions, Positions]]]:
        """For each run with matches, which of our hashes match which of its rows."""
        large, small = contents.by_size
        for body in large:
            if (pairs := body.find(0, self.hashes, (0, len(body)))) is not None:
                yield body, pairs
        if small:
            gathered = Gathered.of(small)
            if (pairs := find(gathered.hashes, self.hashes)) is not None:
                for body, own, at in gathered.by_run(small[0], gathered.order[pairs[1]]):
                    yield body, (pairs[0][own], at)

    def weigh(self, contents: Contents, others: Iterable[Sorted], *, whole: bool = False) -> Weights:
        """The total weight of the rows in a map and in `others` that have each of our hashes; no row is read.

        `whole`: count only rows with the same fingerprint too, which are the same row.
        """
        total, names = np.zeros(len(self), dtype=np.int64), contents.layout.plain
        own = self.rows.fingerprints(names)[self.order] if whole else None
        large, small = contents.by_size
        for body in large:
            if (pairs := body.find(0, self.hashes, (0, len(body)), loosely=whole)) is not None:
                which, at = pairs
                same = True if own is None else own[which] == body.fingerprints[at]
                np.add.at(total, which, body.rows.last(at) * same)
        if small:
            gathered = Gathered.of(small)
            if (pairs := find(gathered.hashes, self.hashes)) is not None:
                which, at = pairs[0], gathered.order[pairs[1]]
                same = True if own is None else own[which] == gathered.fingerprints[at]
                np.add.at(total, which, gathered.weights[at] * same)
        for part in others:
            if (pairs := find(part.hashes, self.hashes)) is not None:
                which, at = pairs[0], part.order[pairs[1]]
                same = True if own is None else own[which] == part.rows.fingerprints(names)[at]
                np.add.at(total, which, part.rows.weights[at] * same)
        return self._as_given(total)

    def _as_given(self, values: Weights) -> Weights:
        """Values in hash order, put back into the rows' original order."""
        ours = np.empty_like(values)
        ours[self.order] = values
        return ours

    def find_in(self, others: Sorted, wanted: Names) -> Iterator[Pairs]:
        """`find_in_map` for rows in memory."""
        pairs = find(others.hashes, self.hashes)
        if pairs is not None:
            which, at = self._in_our_order(*pairs)
            yield which, others.rows.select(wanted).take(others.order[at])

    def _in_our_order(self, which: Positions, at: Positions) -> tuple[Positions, Positions]:
        """Pairs with our row numbers, in our order if each row found exactly one: taking all rows is free then."""
        if len(which) < len(self) or (which[1:] == which[:-1]).any():
            return self.order[which], at
        ours = np.empty_like(at)
        ours[self.order] = at
        return np.arange(len(self)), ours
