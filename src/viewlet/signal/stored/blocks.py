"""Looks up samples in the store, by group and block of time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from viewlet.columns.rows import Rows, same
from viewlet.signal.samples.ragged import FOREVER, LATEST, Ints, Mask, Ragged, Spans, spread
from viewlet.signal.samples.series import Series
from viewlet.signal.stored.sample_rows import Columns
from viewlet.store import Contents

FEW = 16
"""If a span covers more blocks than this, the directory is asked which of them exist."""

AsSeries = Callable[[Rows, Ints], Series]
"""Converts rows and their groups to samples."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """The samples of a bag: `contents` holds them, `directory` lists the blocks of each group."""

    columns: Columns
    keys: Rows
    """The key of each group, one row each."""
    contents: Contents
    directory: Contents
    as_series: AsSeries

    def read(self, spans: Spans) -> Ragged:
        """The samples within spans."""
        groups, blocks = self._wanted(spans)
        probes = self.keys.take(groups).with_columns({self.columns.block: pa.array(blocks)})
        at, rows = found(self.contents, probes, self.columns.layout.key)
        near = self._is_near(spans, groups[at], self.columns.times(rows))
        at, rows = netted(rows.filter(near), at[near], self.columns.times(rows)[near])
        return self.as_series(rows, groups[at]).read(spans)

    def _is_near(self, spans: Spans, groups: Ints, times: Ints) -> Mask:
        """Which times lie between the first start and the last stop of their groups; blocks have many others."""
        start, stop = np.full(len(self.keys), FOREVER), np.full(len(self.keys), -FOREVER)
        np.minimum.at(start, spans.groups, spans.start)
        np.maximum.at(stop, spans.groups, spans.stop)
        return (times >= start[groups]) & (times < stop[groups])

    def _wanted(self, spans: Spans) -> tuple[Ints, Ints]:
        """The distinct blocks that spans overlap, with their groups."""
        first, last = spans.start // self.columns.span, (spans.stop - 1) // self.columns.span
        few = (last - first < FEW) & (spans.start > -LATEST) & (spans.stop < LATEST)
        near, far = np.flatnonzero(few), np.flatnonzero(~few)
        counts = np.maximum(last[near] - first[near] + 1, 0)
        groups, blocks = np.repeat(spans.groups[near], counts), spread(first[near], counts)
        if len(far):
            known = self._known(np.unique(spans.groups[far]))
            met = known.read(Spans(spans.groups[far], first[far], last[far] + 1))
            groups = np.concatenate([groups, spans.groups[far][met.segments]])
            blocks = np.concatenate([blocks, met.times])
        order = np.lexsort((blocks, groups))
        groups, blocks = groups[order], blocks[order]
        new = np.ones(len(order), dtype=np.bool_)
        new[1:] = (np.diff(groups) != 0) | (np.diff(blocks) != 0)
        return groups[new], blocks[new]

    def _known(self, groups: Ints) -> Series:
        """The existing blocks of groups."""
        probes = self.keys.take(groups)
        at, rows = found(self.directory, probes, self.columns.keys)
        blocks = rows[self.columns.block].to_numpy(zero_copy_only=False)
        return Series.sorted(groups[at], blocks, np.zeros((len(at), 0)))


def found(contents: Contents, probes: Rows, key: tuple[str, ...]) -> tuple[Ints, Rows]:
    """The rows with the keys of probes, and the probe of each; rows that only share a hash are left out."""
    at, rows = contents.lookup(key, probes.hashes(key))
    alike = same([probes[name] for name in key], at, [rows[name] for name in key], np.arange(len(rows)))
    return (at, rows) if alike.all() else (at[alike], rows.filter(alike))


def netted(rows: Rows, at: Ints, times: Ints) -> tuple[Ints, Rows]:
    """Rows netted across runs, and the probe of each."""
    order = np.lexsort((times, at))
    again = np.zeros(len(order), dtype=np.bool_)
    again[1:] = (np.diff(times[order]) == 0) & (np.diff(at[order]) == 0)
    if not again.any() and (rows.weights == 1).all():
        return at, rows
    again[:-1] |= again[1:]
    doubtful = np.zeros(len(order), dtype=np.bool_)
    doubtful[order] = again
    doubtful |= rows.weights != 1
    some = rows.filter(doubtful).with_columns({"": pa.array(at[doubtful])}).consolidate()
    left = np.concatenate([at[~doubtful], some[""].to_numpy(zero_copy_only=False)])
    return left, Rows.concat([rows.filter(~doubtful), some.select(rows.names)])
