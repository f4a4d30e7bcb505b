"""Signals as the warehouse keeps them: filled from tables and views, refreshed by epochs, checked from scratch."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from viewlet.columns.rows import Rows
from viewlet.errors import EvaluationError
from viewlet.plan.types import Field
from viewlet.program.codec import from_json as fields_from_json
from viewlet.program.codec import to_json as fields_to_json
from viewlet.signal import codec
from viewlet.signal.columns import Columns
from viewlet.signal.evaluate import evaluate
from viewlet.signal.evict import evict
from viewlet.signal.explain import explain
from viewlet.signal.intake import Keyed, merged, readings
from viewlet.signal.kept import Schema, Stored
from viewlet.signal.nodes import Node, Source
from viewlet.signal.online import Online
from viewlet.signal.ragged import Ragged, Spans
from viewlet.signal.refresh import refresh, unchanged
from viewlet.signal.series import Series
from viewlet.store import Layout, Transaction
from viewlet.warehouse.maintained import Maintained
from viewlet.warehouse.refresh import visible

if TYPE_CHECKING:
    from viewlet.warehouse.refresh import Refresh
    from viewlet.warehouse.warehouse import Warehouse

CLOSE = 1e-9
"""Of the greatest number of its group: how far a sample may be from one that is computed from scratch."""


@dataclass(frozen=True)
class SignalView(Maintained):
    """The result of a signal pipeline, a row for each sample."""

    kind: ClassVar[str] = "signal"
    name: str
    schema: Schema
    tolerance: float
    """A part of the greatest number around: changes below it are none."""
    closing: str | None
    """The table whose watermark lets state go."""
    position: int = 0

    @property
    def node(self) -> Node:
        return self.schema.node

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.schema.result.fields

    @cached_property
    def layout(self) -> Layout:
        return replace(self.schema.result.layout, feed=True)

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(source.table for source in self.schema.readings))

    @property
    def bags(self) -> tuple[str, ...]:
        return self.schema.bags

    def document(self) -> dict[str, Any]:
        return {
            **codec.to_json(self.node),
            "by": fields_to_json(self.schema.by),
            "time": fields_to_json((self.schema.time,)),
            "blocks": [self.schema.block, self.schema.result_block],
            "tolerance": self.tolerance,
            "closing": self.closing,
        }

    def fill(self, run: Refresh) -> dict[str, Any]:
        with self._named():
            given = {source: run.rows(source.table) for source in self.schema.readings}
            taken = {s: readings(s, columns, given[s]) for s, columns in self.schema.readings.items()}
            run.progress(f"{self.name}: {sum(map(len, taken.values())):,} readings")
            keys, online, series = self._evaluated(taken)
        for source, rows in taken.items():
            self._keep_readings(run, source, rows)
        self._emit(run, self.schema.result.rows(keys, series, np.ones(len(series.times), dtype=np.int64)))
        if self.schema.scans:
            checkpoints = self.schema.checkpoint_rows(keys, online.checkpoints, 1)
            run.keep(self.schema.checkpoints, checkpoints, self.schema.checkpoints_layout)
        return {"technique": "from all readings", "groups": len(keys)}

    def _evaluated(self, taken: Mapping[Source, Rows]) -> tuple[Rows, Online, Series]:
        """All groups, evaluated from scratch."""
        keyed = Keyed.of(self.schema.result, list(taken.values()))
        online, at = Online(self.node, self.tolerance), 0
        for source, rows in taken.items():
            groups, at = keyed.groups[at : at + len(rows)], at + len(rows)
            online.readings[source] = merged(source, keyed.keys, self.schema.readings[source], rows, groups)
        found = evaluate(self.node, Spans.everything(np.arange(len(keyed.keys))), online)
        return keyed.keys, online, Series(found.segments, found.times, found.values)

    def _keep_readings(self, run: Refresh, source: Source, rows: Rows) -> None:
        columns = self.schema.readings[source]
        run.keep(self.schema.readings_of(source), rows, columns.layout)
        run.keep(self.schema.reading_blocks_of(source), _blocks(columns, rows), columns.blocks_layout)

    def _emit(self, run: Refresh, rows: Rows) -> None:
        """Add to the result, whose rows have a block beside what users see."""
        run.deltas.add_unnetted(self.name, rows, self.layout)
        run.keep(self.schema.blocks, _blocks(self.schema.result, rows), self.schema.result.blocks_layout)

    def refresh(self, run: Refresh) -> dict[str, Any]:
        taken: dict[Source, Rows] = {}
        for source, columns in self.schema.readings.items():
            delta = run.delta(source.table)
            if delta is not None and len(rows := readings(source, columns, delta)):
                taken[source] = rows
                self._keep_readings(run, source, rows)
        if not taken:
            return {"technique": "nothing", "groups": 0}
        keyed = Keyed.of(self.schema.result, list(taken.values()))
        times = np.concatenate([self.schema.readings[source].times(rows) for source, rows in taken.items()])
        stored = Stored(self.schema, self.tolerance, keyed.keys, run)
        with self._named():
            difference = refresh(self.node, keyed.groups, times, stored, self.tolerance)
        changes = [(difference.gone, -1), (difference.come, 1)]
        parts = [self._rows(keyed.keys, difference.spans, samples, weight) for samples, weight in changes]
        self._emit(run, Rows.concat(parts))
        if self.schema.scans and len(changed := stored.changed_checkpoints()):
            run.keep(self.schema.checkpoints, changed, self.schema.checkpoints_layout)
        return {"technique": "rerun around changes", "groups": len(keyed.keys), "read": stored.samples_read}

    def _rows(self, keys: Rows, spans: Spans, samples: Ragged, weight: int) -> Rows:
        series = Series(spans.groups[samples.segments], samples.times, samples.values)
        return self.schema.result.rows(keys, series, np.full(len(series.times), weight, dtype=np.int64))

    def recompute(self, warehouse: Warehouse) -> Rows:
        with self._named():
            keys, _, series = self._evaluated(self._current(warehouse))
        rows = self.schema.result.rows(keys, series, np.ones(len(series.times), dtype=np.int64))
        return rows.select(self.schema.result.names)

    def _current(self, warehouse: Warehouse) -> dict[Source, Rows]:
        snapshot, found = warehouse.store.snapshot(), {}
        for source, columns in self.schema.readings.items():
            rows = visible(warehouse.catalog.find(source.table), snapshot.contents(source.table).consolidated())
            found[source] = readings(source, columns, rows)
        return found

    def differences(self, warehouse: Warehouse, found: Rows) -> Rows:
        """Rounding is compared with the greatest number of a group: where a signal crosses zero, it is all there is."""
        expected, columns = self.recompute(warehouse), self.schema.result
        keyed = Keyed.of(columns, [expected, found])
        parts = [(expected, keyed.groups[: len(expected)]), (found, keyed.groups[len(expected) :])]
        count = len(keyed.keys)
        samples = [Ragged.sorted(at, count, columns.times(rows), columns.values(rows)) for rows, at in parts]
        same_found, same_expected = unchanged(samples[1], samples[0], CLOSE)
        everything = Spans.everything(np.arange(count))
        missing = self._rows(keyed.keys, everything, samples[0].filter(~same_expected), 1)
        wrong = self._rows(keyed.keys, everything, samples[1].filter(~same_found), -1)
        return Rows.concat([missing, wrong]).select(columns.names)

    def explain(self, warehouse: Warehouse, *, verbose: bool = False) -> str:
        return explain(self, warehouse, verbose=verbose)

    def evict(self, transaction: Transaction, table: str, mark: int, own: Collection[str]) -> None:
        if table == self.closing:
            evict(self.schema, self.tolerance, transaction, mark)

    def _named(self) -> _Named:
        return _Named(self.name)


class _Named:
    """Errors of users' functions name the signal that they are in."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: Any) -> None:
        if isinstance(error, EvaluationError):
            error.view = self.name


def _blocks(columns: Columns, rows: Rows) -> Rows:
    """Which blocks rows are in: a row for each, as often as it has rows."""
    return rows.select((*columns.keys, columns.block)).consolidate()


def read(name: str, document: Mapping[str, Any], trusted: bool) -> SignalView:
    """The signal that a document describes."""
    node = codec.from_json(dict(document), trusted=trusted)
    by, (time,) = fields_from_json(document["by"]), fields_from_json(document["time"])
    schema = Schema(name, node, by, time, *document["blocks"])
    return SignalView(name, schema, document["tolerance"], document["closing"], document["position"])
