"""Eviction by a watermark: readings and checkpoints that no later change can need.

A change at the watermark or later reaches back as far as the operators' windows, taps and gaps, or as many readings of
a group as an interpolation uses; filters resume from their last checkpoint before that. Older blocks of readings are
evicted: by deleting them or, if they are the larger part, by rewriting the rest, so that the store has at most twice
what is needed. The rows of the result stay, but its old blocks leave the directory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from viewlet.columns.arrays import values_of
from viewlet.columns.rows import Rows
from viewlet.signal.change.checkpoints import Checkpoints, Filters
from viewlet.signal.change.evaluate import Needs, needed
from viewlet.signal.change.reach import Widen, propagate, reach
from viewlet.signal.plan.nodes import Sample, Source
from viewlet.signal.samples.ragged import FOREVER, Ints, Mask, Spans
from viewlet.signal.samples.series import Series
from viewlet.signal.stored.blocks import found
from viewlet.signal.stored.kept import Schema
from viewlet.signal.stored.readings import Keyed
from viewlet.signal.stored.sample_rows import Columns
from viewlet.store import Layout, Transaction


def evict(schema: Schema, tolerance: float, transaction: Transaction, mark: int) -> None:
    """Evict the state that a watermark has passed."""
    directories = {s: transaction.contents(schema.reading_blocks_of(s)).consolidated() for s in schema.readings}
    results = transaction.contents(schema.blocks).consolidated()
    keyed = Keyed.of(schema.result, [*directories.values(), results])
    *parts, of_results = np.split(keyed.groups, np.cumsum([len(directory) for directory in directories.values()]))
    groups = dict(zip(directories, parts, strict=True))
    filters = Filters(schema.node, tolerance)
    if schema.scans:
        filters.checkpoints = schema.checkpoints_of(transaction.contents(schema.checkpoints), keyed.keys)
    changed = Spans(*_at(np.arange(len(keyed.keys)), mark))
    need = _needed_from(schema, filters, tolerance, changed, _Blocks.of(schema, directories, groups))
    for source, directory in directories.items():
        _drop_readings(schema, source, transaction, directory, need.wanted[source].start[groups[source]])
    _drop_blocks(schema, transaction, results, need.wanted[schema.node].start[of_results])
    if schema.scans:
        _drop_checkpoints(schema, filters, transaction, keyed.keys, need)


def _at(groups: Ints, mark: int) -> tuple[Ints, Ints, Ints]:
    return groups, np.full(len(groups), mark), np.full(len(groups), mark + 1)


def _needed_from(schema: Schema, filters: Filters, tolerance: float, changed: Spans, widen: Widen) -> Needs:
    """The needs of a change at the watermark, for each group."""
    reached = propagate(schema.node, changed, lambda node, spans: reach(node, spans, widen, tolerance))
    return needed(schema.node, reached[schema.node], filters.resume, widen)


@dataclass(frozen=True, slots=True)
class _Blocks:
    """The blocks of readings of each group, to extend spans: n blocks contain at least n readings."""

    known: Mapping[Source, Series]
    """A sample for each block of a group; its time is the block's number."""
    span: int

    @staticmethod
    def of(schema: Schema, directories: Mapping[Source, Rows], groups: Mapping[Source, Ints]) -> _Blocks:
        known = {}
        for source, directory in directories.items():
            numbers = values_of(directory[schema.readings[source].block], "i8")
            known[source] = Series.sorted(groups[source], numbers, np.zeros((len(numbers), 0)))
        return _Blocks(known, schema.block)

    def __call__(self, node: Sample, spans: Spans, before: int, after: int) -> Spans:
        """Extend spans by at least `before` readings before them; their end does not matter here."""
        assert isinstance(node.of, Source), "only pipelines that are bounded let go"
        known, start = self.known[node.of], spans.start
        if before:
            at = known.find(spans.groups, start // self.span) - before
            there = at >= known.groups.searchsorted(spans.groups)
            start = np.full(len(spans), -FOREVER)
            start[there] = known.times[at[there]] * self.span
        return Spans(spans.groups, start, np.full(len(spans), FOREVER))


def _drop_readings(schema: Schema, source: Source, transaction: Transaction, directory: Rows, horizon: Ints) -> None:
    """Drop the blocks that end before the horizon of their group."""
    columns, bag = schema.readings[source], schema.readings_of(source)
    passed = _is_passed(columns, directory, horizon)
    if not passed.any():
        return
    gone, rest = directory.filter(passed), directory.filter(~passed)
    contents, directories = transaction.contents(bag), schema.reading_blocks_of(source)
    if rest.weights.sum() < contents.rows // 2:
        _, rows = found(contents, rest, columns.layout.key)
        _replace(transaction, bag, rows.consolidate(), columns.layout)
        _replace(transaction, directories, rest, columns.blocks_layout)
    else:
        _, rows = found(contents, gone, columns.layout.key)
        transaction.append(bag, rows.negated(), columns.layout)
        transaction.append(directories, gone.negated(), columns.blocks_layout)


def _is_passed(columns: Columns, directory: Rows, horizon: Ints) -> Mask:
    """Which blocks end before the horizon of their group."""
    return (values_of(directory[columns.block], "i8") + 1) * columns.span <= horizon


def _drop_blocks(schema: Schema, transaction: Transaction, directory: Rows, horizon: Ints) -> None:
    """Drop the blocks of the result that no change can reach from its directory."""
    layout, passed = schema.result.blocks_layout, _is_passed(schema.result, directory, horizon)
    if np.count_nonzero(~passed) < transaction.contents(schema.blocks).rows // 2:
        _replace(transaction, schema.blocks, directory.filter(~passed), layout)
    elif passed.any():
        transaction.append(schema.blocks, directory.filter(passed).negated(), layout)


def _replace(transaction: Transaction, bag: str, rows: Rows, layout: Layout) -> None:
    """Replace the contents of a bag."""
    transaction.drop(bag)
    transaction.append(bag, rows, layout)


def _drop_checkpoints(schema: Schema, filters: Filters, transaction: Transaction, keys: Rows, need: Needs) -> None:
    """Drop the checkpoints before those that filters would resume from."""
    gone = {}
    for scan, checkpoints in filters.checkpoints.items():
        series = checkpoints.series
        older = series.times < need.past[scan].at[series.groups]
        gone[scan] = Checkpoints(scan, series.filter(older))
    rows = schema.checkpoint_rows(keys, gone, -1)
    if len(rows):
        transaction.append(schema.checkpoints, rows, schema.checkpoints_layout)
