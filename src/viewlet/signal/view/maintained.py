"""Signals as a kind of maintained view: filled, refreshed by epochs, checked from scratch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeGuard

import numpy as np

from viewlet.columns.rows import Rows
from viewlet.engine.cluster.runner import SparkEngine
from viewlet.engine.engine import Cluster, Engine
from viewlet.errors import EvaluationError
from viewlet.formatting import plural
from viewlet.plan.types import Field
from viewlet.program.codec import from_json as fields_from_json
from viewlet.program.codec import to_json as fields_to_json
from viewlet.progress import report
from viewlet.signal.change.made import RowChanges, fill, rerun, rows_of
from viewlet.signal.change.refresh import unchanged
from viewlet.signal.plan import codec
from viewlet.signal.plan.nodes import Node, in_order
from viewlet.signal.plan.show import show_node
from viewlet.signal.samples.ragged import Ragged, Spans
from viewlet.signal.stored.evict import evict
from viewlet.signal.stored.kept import Schema
from viewlet.signal.stored.readings import Keyed, readings
from viewlet.signal.view.explain import explain
from viewlet.signal.view.on_spark import TaskBags, on_spark
from viewlet.store import Layout, Transaction
from viewlet.warehouse.maintained import Maintained
from viewlet.warehouse.refresh import visible

if TYPE_CHECKING:
    from viewlet.warehouse.refresh import Refresh
    from viewlet.warehouse.warehouse import Warehouse

CLOSE = 1e-9
"""How far a sample may differ from one computed from scratch, relative to the greatest number of its group."""


@dataclass(frozen=True)
class SignalView(Maintained):
    """The result of a signal pipeline, with a row for each sample."""

    kind: ClassVar[str] = "signal"
    name: str
    schema: Schema
    tolerance: float
    """Changes of a sample below this fraction of it are ignored."""
    closing: str | None
    """The table whose watermark evicts state."""
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
        taken = [readings(s, columns, run.rows(s.table)) for s, columns in self.schema.readings.items()]
        report(f"view {self.name}", f"{sum(map(len, taken)):,} readings")
        self._keep_readings(run, taken)
        work = partial(fill, self.schema, self.tolerance)
        if not _is_spark(run.engine):
            work = partial(work, done=self._report)
        made = self._made(run, work, taken)
        return {"technique": "from all readings", "groups": made.groups}

    def _report(self, node: Node, samples: Ragged) -> None:
        """Report progress after each operator of a fill."""
        operators = in_order(self.node)
        text = f"{show_node(node, next(iter(self.schema.readings)).clock)}: {plural(len(samples.times), 'sample')}"
        report(f"view {self.name}", text, (operators.index(node) + 1) / len(operators))

    def refresh(self, run: Refresh) -> dict[str, Any]:
        taken = []
        for source, columns in self.schema.readings.items():
            delta = run.delta(source.table)
            taken.append(columns.nothing() if delta is None else readings(source, columns, delta))
        if not any(map(len, taken)):
            return {"technique": "nothing", "groups": 0}
        self._keep_readings(run, taken)
        bags = TaskBags.of(run.engine.address, self.schema, run) if _is_spark(run.engine) else run
        changed = [rows.select((*self.schema.result.keys, self.schema.time.name)) for rows in taken]
        made = self._made(run, partial(rerun, self.schema, self.tolerance, bags), changed)
        return {"technique": "rerun around changes", "groups": made.groups, "read": made.read}

    def _keep_readings(self, run: Refresh, taken: Sequence[Rows]) -> None:
        for (source, columns), rows in zip(self.schema.readings.items(), taken, strict=True):
            run.keep(self.schema.readings_of(source), rows, columns.layout)
            run.keep(self.schema.reading_blocks_of(source), columns.blocks(rows), columns.blocks_layout)

    def _made(self, run: Refresh, work: Callable[[Sequence[Rows]], RowChanges], given: Sequence[Rows]) -> RowChanges:
        """Run the work on the run's engine and store its changes; stored rows have a block beside visible columns."""
        schema = self.schema
        with self._named():
            made = on_spark(run.engine, work, given, schema.result.keys) if _is_spark(run.engine) else work(given)
        run.deltas.add_unnetted(self.name, made.result, self.layout)
        run.keep(schema.blocks, schema.result.blocks(made.result), schema.result.blocks_layout)
        if made.checkpoints is not None:
            run.keep(schema.checkpoints, made.checkpoints, schema.checkpoints_layout)
        return made

    def recompute(self, warehouse: Warehouse) -> Rows:
        snapshot, taken = warehouse.store.snapshot(), []
        for source, columns in self.schema.readings.items():
            rows = visible(warehouse.catalog.find(source.table), snapshot.contents(source.table).consolidated())
            taken.append(readings(source, columns, rows))
        with self._named():
            return fill(self.schema, self.tolerance, taken).result.select(self.schema.result.names)

    def differences(self, warehouse: Warehouse, found: Rows) -> Rows:
        """Rounding is judged relative to the greatest number of a group, since near zero it would dominate."""
        expected, columns = self.recompute(warehouse), self.schema.result
        keyed = Keyed.of(columns, [expected, found])
        parts = [(expected, keyed.groups[: len(expected)]), (found, keyed.groups[len(expected) :])]
        count = len(keyed.keys)
        samples = [Ragged.sorted(at, count, columns.times(rows), columns.values(rows)) for rows, at in parts]
        same_found, same_expected = unchanged(samples[1], samples[0], CLOSE)
        everything = Spans.everything(np.arange(count))
        missing = rows_of(self.schema, keyed.keys, everything, samples[0].filter(~same_expected), 1)
        wrong = rows_of(self.schema, keyed.keys, everything, samples[1].filter(~same_found), -1)
        return Rows.concat([missing, wrong]).select(columns.names)

    def explain(self, warehouse: Warehouse, *, verbose: bool = False) -> str:
        return explain(self, warehouse, verbose=verbose)

    def evict(
        self, transaction: Transaction, table: str, mark: int, own: Collection[str], cluster: Cluster | None = None
    ) -> None:
        if table == self.closing:
            evict(self.schema, self.tolerance, transaction, mark)

    def _named(self) -> _Named:
        return _Named(self.name)


class _Named:
    """Makes errors of user functions name the signal."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: Any) -> None:
        if isinstance(error, EvaluationError):
            error.view = self.name


def _is_spark(engine: Engine) -> TypeGuard[SparkEngine]:
    return engine.name == "spark"


def read(name: str, document: Mapping[str, Any], trusted: bool) -> SignalView:
    """Decode a signal."""
    node = codec.from_json(dict(document), trusted=trusted)
    by, (time,) = fields_from_json(document["by"]), fields_from_json(document["time"])
    schema = Schema(name, node, by, time, *document["blocks"])
    return SignalView(name, schema, document["tolerance"], document["closing"], document["position"])
