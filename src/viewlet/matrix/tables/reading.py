"""Reading a matrix program: its matrices as arrays, with their labels."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from viewlet.errors import EvaluationError, UnknownName
from viewlet.matrix.tables.axes import Label
from viewlet.matrix.tables.live import Live, resumed
from viewlet.matrix.tables.shelf import blocks_of, scratch
from viewlet.matrix.tables.view import MatrixView, tables_of
from viewlet.matrix.tables.waiting import is_waiting

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse


class MatrixReading:
    """A matrix program at one committed epoch: the last one when this object was created."""

    def __init__(self, warehouse: Warehouse, name: str) -> None:
        found = warehouse.catalog.view(name)
        if not isinstance(found, MatrixView):
            raise UnknownName(f"{found.name} is a {found.kind}, not a matrix program")
        snapshot = warehouse.store.snapshot()
        if is_waiting(snapshot.contents, found.state):
            raise EvaluationError(
                f"{found.name} is not determined yet", hint=f"explain({found.name!r}) says what its tables lack"
            )
        self.name, self.epoch = found.name, snapshot.epoch
        self._view, self._tables, self._contained = found, tables_of(warehouse, snapshot), snapshot.contents
        bag = snapshot.contents(found.state.blocks) if found.state.has_blocks else None
        self._blocks = blocks_of(warehouse, found.settings.resident, bag)

    def __repr__(self) -> str:
        return f"<matrix {self.name} → {', '.join(self.outputs)} at epoch {self.epoch}>"

    def __getitem__(self, name: str) -> Any:
        """An output or input: a copy of the array, with rows and columns in the order of `labels`, or a number."""
        return self._live.matrices[name]

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self._view.program.source.outputs)

    def labels(self, axis: str) -> list[Label]:
        """The labels of a size, in the order of places."""
        if axis not in self._live.inputs.axes:
            raise UnknownName(f"{self.name} has no {axis}", hint=f"there are {', '.join(self._live.inputs.axes)}")
        return list(self._live.inputs.axes[axis].labels)

    def check(self) -> dict[str, float]:
        """The relative error of each output, compared with the program evaluated from scratch as written."""
        with scratch(self._live.matrices.blocks):
            return self._live.matrices.check()

    @cached_property
    def _live(self) -> Live:
        return resumed(self._view, self._tables.rows, self._contained, self._blocks)
