"""Computes a signal's rows from all readings, or reruns it around changes, for all groups or some of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from viewlet.columns.rows import Rows
from viewlet.signal.change.evaluate import evaluate, unseen
from viewlet.signal.change.online import Online
from viewlet.signal.change.refresh import refresh
from viewlet.signal.plan.nodes import Node
from viewlet.signal.samples.ragged import Ragged, Spans
from viewlet.signal.samples.series import Series
from viewlet.signal.stored.kept import Bags, Schema, Stored
from viewlet.signal.stored.readings import Keyed, merged


@dataclass(frozen=True, slots=True)
class RowChanges:
    """The changes of a result's rows and checkpoints; the numbers of groups and of readings read."""

    result: Rows
    checkpoints: Rows | None
    groups: int
    read: int

    @staticmethod
    def together(parts: Sequence[RowChanges]) -> RowChanges:
        """The combined changes of disjoint sets of groups."""
        checkpoints = [part.checkpoints for part in parts if part.checkpoints is not None]
        return RowChanges(
            Rows.concat([part.result for part in parts]),
            Rows.concat(checkpoints) if checkpoints else None,
            sum(part.groups for part in parts),
            sum(part.read for part in parts),
        )


def fill(
    schema: Schema, tolerance: float, taken: Sequence[Rows], done: Callable[[Node, Ragged], None] = unseen
) -> RowChanges:
    """All samples, from the readings of each source."""
    keyed = Keyed.of(schema.result, taken)
    online, at = Online(schema.node, tolerance), 0
    for (source, columns), rows in zip(schema.readings.items(), taken, strict=True):
        groups, at = keyed.groups[at : at + len(rows)], at + len(rows)
        online.readings[source] = merged(source, keyed.keys, columns, rows, groups)
    everything = Spans.everything(np.arange(len(keyed.keys)))
    samples = evaluate(schema.node, everything, online, done)
    checkpoints = schema.checkpoint_rows(keyed.keys, online.checkpoints, 1) if schema.scans else None
    return RowChanges(rows_of(schema, keyed.keys, everything, samples, 1), checkpoints, len(keyed.keys), at)


def rerun(schema: Schema, tolerance: float, bags: Bags, changed: Sequence[Rows]) -> RowChanges:
    """The difference that changed readings cause; `changed` are rows with their keys and times."""
    keyed = Keyed.of(schema.result, changed)
    times = np.concatenate([schema.result.times(rows) for rows in changed])
    stored = Stored(schema, tolerance, keyed.keys, bags)
    difference = refresh(schema.node, keyed.groups, times, stored, tolerance)
    parts = [
        rows_of(schema, keyed.keys, difference.spans, samples, weight)
        for samples, weight in ((difference.gone, -1), (difference.come, 1))
    ]
    checkpoints = stored.changed_checkpoints() if schema.scans else None
    return RowChanges(Rows.concat(parts), checkpoints, len(keyed.keys), stored.samples_read)


def rows_of(schema: Schema, keys: Rows, spans: Spans, samples: Ragged, weight: int) -> Rows:
    """Samples within spans as rows of the result."""
    series = Series(spans.groups[samples.segments], samples.times, samples.values)
    return schema.result.rows(keys, series, np.full(len(series.times), weight, dtype=np.int64))
