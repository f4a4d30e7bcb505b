"""A matrix program of a warehouse: its matrices come from tables and views, its results are a table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from viewlet.columns.rows import Rows
from viewlet.errors import EvaluationError
from viewlet.matrix.program import MatrixProgram
from viewlet.matrix.sources import Fixed
from viewlet.matrix.tables.axes import AxisKind
from viewlet.matrix.tables.check import differences
from viewlet.matrix.tables.document import from_document, to_document
from viewlet.matrix.tables.durable import Bags, is_full, write_entry, write_labels, write_matrices
from viewlet.matrix.tables.explain import explain
from viewlet.matrix.tables.inputs import Input
from viewlet.matrix.tables.live import Live, Moved, follow, from_scratch, resumed, started
from viewlet.matrix.tables.resolve import reads_only_what_is_there
from viewlet.matrix.tables.results import Results
from viewlet.matrix.tables.settings import Settings
from viewlet.plan.types import Field
from viewlet.store import Snapshot
from viewlet.warehouse.catalog import Catalog
from viewlet.warehouse.maintained import Maintained
from viewlet.warehouse.refresh import visible

if TYPE_CHECKING:
    from viewlet.warehouse.refresh import Refresh
    from viewlet.warehouse.warehouse import Warehouse

Result = TypeVar("Result")


@dataclass(frozen=True)
class MatrixView(Maintained):
    """The outputs of a matrix program over tables and views, kept fresh in factors."""

    kind: ClassVar[str] = "matrix"
    name: str
    program: MatrixProgram
    inputs: tuple[Input, ...]
    axes: Mapping[str, AxisKind]
    results: Results
    settings: Settings
    position: int = 0

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return self.results.fields(self.axes)

    @cached_property
    def reads(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(i.source.table for i in self.inputs if not isinstance(i.source, Fixed)))

    @property
    def state(self) -> Bags:
        """Where its state is kept."""
        return Bags(self.name, tuple(name for name, kind in self.axes.items() if kind.fixed is None))

    @property
    def bags(self) -> tuple[str, ...]:
        return (self.name, *self.state.all)

    def fill(self, run: Refresh) -> dict[str, Any]:
        live, rows, moved = self._blamed(lambda: started(self, run.rows))
        run.emit(rows)
        self._write_labels(run, {axis: moved.get(axis, []) for axis in self.state.axes})
        write_matrices(run.keep, self.state, live.matrices)
        return {"technique": technique(live)}

    def refresh(self, run: Refresh) -> dict[str, Any]:
        live: Live = run.memory or resumed(self, run.rows_before, run.before)
        followed = self._blamed(lambda: follow(self, live, {name: run.delta(name) for name in self.reads}))
        run.remember(live)
        if followed is None:
            return {"technique": "nothing that it reads of its tables changed", "steps": {}}
        run.emit(followed.rows)
        self._write_labels(run, followed.moved)
        if is_full(run.before, self.state):
            run.transaction.drop(self.state.matrices)
            run.transaction.drop(self.state.since)
            write_matrices(run.keep, self.state, live.matrices)
            live.stale.clear()
        else:
            write_entry(run.keep, self.state, run.warehouse.store.epoch + 1, live.unwritten(followed.record.entry))
        return {"technique": technique(live), "steps": followed.record.outcomes}

    def recompute(self, warehouse: Warehouse) -> Rows:
        return from_scratch(self, reader(warehouse)).rows

    def differences(self, warehouse: Warehouse, found: Rows) -> Rows:
        return differences(from_scratch(self, reader(warehouse)), found, self.settings.tolerance)

    def explain(self, warehouse: Warehouse, *, verbose: bool = False) -> str:
        return explain(warehouse, self)

    def document(self) -> dict[str, Any]:
        return to_document(self)

    def narrowed(self, warehouse: Warehouse, catalog: Catalog, redefined: Collection[str], columns: str) -> MatrixView:
        if reads_only_what_is_there(self, catalog):
            return self
        return super().narrowed(warehouse, catalog, redefined, columns)

    def renamed(self, warehouse: Warehouse, to: str) -> MatrixView:
        return replace(self, name=to)

    def _write_labels(self, run: Refresh, moved: Moved) -> None:
        for axis in self.state.axes:
            if axis in moved:
                write_labels(run.keep, self.state, axis, self.axes[axis], moved[axis])

    def _blamed(self, work: Callable[[], Result]) -> Result:
        """An error in a program names it."""
        try:
            return work()
        except EvaluationError as error:
            error.view = self.name
            raise


def technique(live: Live) -> str:
    chosen = live.matrices.compiled.chosen
    return f"{chosen.strategy}, {chosen.model} model"


def reader(warehouse: Warehouse, snapshot: Snapshot | None = None) -> Callable[[str], Rows]:
    """All rows of tables and views, at the last committed epoch or another."""
    snapshot = snapshot or warehouse.store.snapshot()
    return lambda name: visible(warehouse.catalog.find(name), snapshot.contents(name).consolidated())


def read(name: str, document: Mapping[str, Any], trusted: bool) -> MatrixView:
    """The program that a document describes; it holds operators and numbers, and no code."""
    return MatrixView(name, **from_document(name, document), position=document["position"])
