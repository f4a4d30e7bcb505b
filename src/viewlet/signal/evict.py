"""What a watermark lets go: readings and checkpoints that no change can ask for any more.

A change at the watermark or later reaches back so far as the operators' windows, taps and gaps do; filters begin at
their last checkpoint before that. Older blocks of readings go: taken away from what is kept, or, where they are most of
it, by keeping the rest alone, so that the store has no more than twice what is needed. The result's own rows stay.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from viewlet.columns.arrays import values_of
from viewlet.columns.rows import Rows
from viewlet.signal.blocks import found
from viewlet.signal.checkpoints import Checkpoints, Filters
from viewlet.signal.evaluate import Needs, needed
from viewlet.signal.intake import Keyed
from viewlet.signal.kept import Schema
from viewlet.signal.nodes import Source
from viewlet.signal.ragged import Ints, Spans
from viewlet.signal.reach import carry, reach
from viewlet.store import Layout, Transaction


def evict(schema: Schema, tolerance: float, transaction: Transaction, mark: int) -> None:
    """Drop what a watermark has passed."""
    directories = {s: transaction.contents(schema.reading_blocks_of(s)).consolidated() for s in schema.readings}
    keyed = Keyed.of(schema.result, list(directories.values()))
    filters = Filters(schema.node, tolerance)
    if schema.scans:
        filters.checkpoints = schema.checkpoints_of(transaction.contents(schema.checkpoints), keyed.keys)
    need = _needed_from(schema, filters, tolerance, Spans(*_at(np.arange(len(keyed.keys)), mark)))
    first = 0
    for source, directory in directories.items():
        groups, first = keyed.groups[first : first + len(directory)], first + len(directory)
        _drop_readings(schema, source, transaction, directory, need.wanted[source].start[groups])
    if schema.scans:
        _drop_checkpoints(schema, filters, transaction, keyed.keys, need)


def _at(groups: Ints, mark: int) -> tuple[Ints, Ints, Ints]:
    return groups, np.full(len(groups), mark), np.full(len(groups), mark + 1)


def _needed_from(schema: Schema, filters: Filters, tolerance: float, changed: Spans) -> Needs:
    """What a change at the watermark would ask for, of each group."""
    reached = carry(schema.node, changed, lambda node, spans: reach(node, spans, _never, tolerance))
    return needed(schema.node, reached[schema.node], filters.resume, _never)


def _never(*_: Any) -> Spans:
    raise AssertionError("only pipelines whose interpolations are bounded let go")


def _drop_readings(schema: Schema, source: Source, transaction: Transaction, directory: Rows, horizon: Ints) -> None:
    """Drop the blocks that end before the horizon of their group."""
    columns, bag = schema.readings[source], schema.readings_of(source)
    passed = (values_of(directory[columns.block], "i8") + 1) * columns.span <= horizon
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


def _replace(transaction: Transaction, bag: str, rows: Rows, layout: Layout) -> None:
    """Keep some rows alone."""
    transaction.drop(bag)
    transaction.append(bag, rows, layout)


def _drop_checkpoints(schema: Schema, filters: Filters, transaction: Transaction, keys: Rows, need: Needs) -> None:
    """Drop the checkpoints before those that would be gone on from."""
    gone = {}
    for scan, checkpoints in filters.checkpoints.items():
        series = checkpoints.series
        older = series.times < need.past[scan].at[series.groups]
        gone[scan] = Checkpoints(scan, series.filter(older))
    rows = schema.checkpoint_rows(keys, gone, -1)
    if len(rows):
        transaction.append(schema.checkpoints, rows, schema.checkpoints_layout)
