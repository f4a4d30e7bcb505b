"""Matrix programs as a kind of maintained view: over tables and views, with a table of results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.differences import differences as by_rows
from viewlet.columns.rows import Rows
from viewlet.errors import EvaluationError
from viewlet.matrix.program import MatrixProgram
from viewlet.matrix.tables.axes import AxisKind
from viewlet.matrix.tables.check import differences
from viewlet.matrix.tables.document import from_document, to_document
from viewlet.matrix.tables.durable import Bags, is_full, write_entry, write_labels, write_matrices
from viewlet.matrix.tables.explain import explain
from viewlet.matrix.tables.inputs import Input
from viewlet.matrix.tables.live import Live, Moved, Recomputed, follow, from_scratch, resumed, started
from viewlet.matrix.tables.options import Settings
from viewlet.matrix.tables.read_blocks import Tables
from viewlet.matrix.tables.resolve import reads_only_what_is_there
from viewlet.matrix.tables.results import Results
from viewlet.matrix.tables.shelf import blocks_of, follow_store, keep_blocks, scratch
from viewlet.matrix.tables.sources import Fixed
from viewlet.matrix.tables.waiting import is_waiting, lacks_rows, waiting, write_nothing
from viewlet.plan.types import Field
from viewlet.store import Snapshot
from viewlet.warehouse.declare.catalog import Catalog
from viewlet.warehouse.maintained import Maintained
from viewlet.warehouse.refresh import visible

if TYPE_CHECKING:
    from viewlet.warehouse.refresh import Refresh
    from viewlet.warehouse.warehouse import Warehouse

Result = TypeVar("Result")


@dataclass(frozen=True)
class MatrixView(Maintained):
    """The outputs of a matrix program over tables and views, maintained in factors."""

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
        """The bags of its state."""
        moving = tuple(name for name, kind in self.axes.items() if kind.fixed is None)
        return Bags(self.name, moving, has_blocks=self.settings.resident is not None)

    @property
    def bags(self) -> tuple[str, ...]:
        return (self.name, *self.state.all)

    def fill(self, run: Refresh) -> dict[str, Any]:
        try:
            return self._begin(run)
        except EvaluationError as error:
            if not lacks_rows(self, _tables(run)):
                raise
            run.emit(self._nothing)
            write_nothing(run.keep, self.state, self.axes)
            return waiting(error)

    @property
    def _nothing(self) -> Rows:
        return Rows.empty({f.name: arrow_type(f.type) for f in self.fields})

    def _begin(self, run: Refresh) -> dict[str, Any]:
        """Evaluate the program from its tables and store its state."""
        tables = _tables(run)
        blocks = blocks_of(run.warehouse, self.settings.resident, None)
        live, rows, moved = self._blamed(lambda: started(self, tables, blocks))
        run.emit(rows)
        self._write_labels(run, {axis: moved.get(axis, []) for axis in self.state.axes})
        write_matrices(run.keep, self.state, live.matrices)
        self._keep_blocks(run, live)
        run.remember(live)
        return {"technique": technique(live)}

    def refresh(self, run: Refresh) -> dict[str, Any]:
        if is_waiting(run.before, self.state):
            return self._try(run)
        live = self._live(run)
        followed = self._blamed(lambda: follow(self, live, {name: run.delta(name) for name in self.reads}))
        run.remember(live)
        if followed is None:
            return {"technique": "nothing that it reads of its tables changed", "steps": {}}
        run.emit(followed.rows)
        self._write_labels(run, followed.moved)
        if is_full(run.before, self.state):
            run.transaction.drop(self.state.matrices)
            run.transaction.drop(self.state.since)
            live.matrices.rewrite()
            if self.state.has_blocks:
                run.transaction.drop(self.state.blocks)
            write_matrices(run.keep, self.state, live.matrices)
            live.stale.clear()
        else:
            write_entry(run.keep, self.state, run.warehouse.store.epoch + 1, live.unwritten(followed.record.entry))
        self._keep_blocks(run, live)
        return {"technique": technique(live), "steps": followed.record.outcomes}

    def _try(self, run: Refresh) -> dict[str, Any]:
        """Evaluate the program if there are enough rows now; else keep waiting, since it has had no result so far."""
        try:
            return {**self._begin(run), "steps": {}}
        except EvaluationError as error:
            return {**waiting(error), "steps": {}}

    def _live(self, run: Refresh) -> Live:
        """The program after the last epoch, from memory or restored."""
        contents = run.before(self.state.blocks) if self.state.has_blocks else None
        if run.memory is None:
            blocks = blocks_of(run.warehouse, self.settings.resident, contents)
            return resumed(self, run.rows_before, run.before, blocks)
        live: Live = run.memory
        if contents is not None and live.matrices.blocks is not None:
            follow_store(live.matrices.blocks, run.warehouse, contents)
        return live

    def _keep_blocks(self, run: Refresh, live: Live) -> None:
        if live.matrices.blocks is not None:
            used = [buffer.base.name for buffer in live.matrices.large.values()]
            keep_blocks(live.matrices.blocks, run.transaction, self.state.blocks, used)

    def recompute(self, warehouse: Warehouse) -> Rows:
        found = self._from_scratch(warehouse)
        return self._nothing if found is None else found.rows

    def differences(self, warehouse: Warehouse, found: Rows) -> Rows:
        wanted = self._from_scratch(warehouse)
        if wanted is None:
            return by_rows(self.recompute(warehouse), found, self.fields)
        return differences(wanted, found, self.settings.tolerance)

    def _from_scratch(self, warehouse: Warehouse) -> Recomputed | None:
        """The results from scratch; None if the program waits for rows and there are still not enough."""
        with scratch(blocks_of(warehouse, self.settings.resident, None)) as blocks:
            try:
                return from_scratch(self, tables_of(warehouse), blocks)
            except EvaluationError:
                if is_waiting(warehouse.store.snapshot().contents, self.state):
                    return None
                raise

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
        """Run a function; errors name the program."""
        try:
            return work()
        except EvaluationError as error:
            error.view = self.name
            raise


def _tables(run: Refresh) -> Tables:
    """The tables after an epoch."""
    return Tables(run.rows, run.after, run.find, run.warehouse.store.address)


def technique(live: Live) -> str:
    chosen = live.matrices.compiled.chosen
    return f"{chosen.strategy}, {chosen.model} model"


def tables_of(warehouse: Warehouse, snapshot: Snapshot | None = None) -> Tables:
    """Tables and views at a snapshot, or at the last committed epoch."""
    snapshot, find = snapshot or warehouse.store.snapshot(), warehouse.catalog.find
    return Tables(
        lambda name: visible(find(name), snapshot.contents(name).consolidated()),
        snapshot.contents,
        find,
        warehouse.store.address,
    )


def read(name: str, document: Mapping[str, Any], trusted: bool) -> MatrixView:
    """Decode a program; documents contain no code."""
    return MatrixView(name, **from_document(name, document), position=document["position"])
