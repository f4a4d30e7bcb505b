"""A matrix program in memory: its inputs, its matrices, and the contents of its table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from viewlet.columns.rows import Rows
from viewlet.errors import UnsupportedQuery
from viewlet.matrix.blocks.evaluate import Blocks
from viewlet.matrix.blocks.large import Large
from viewlet.matrix.delta.factors import Array
from viewlet.matrix.refresh.journal import Entry
from viewlet.matrix.refresh.maintained_program import MaintainedProgram, Record
from viewlet.matrix.refresh.updates import Replace, Update
from viewlet.matrix.tables.axes import Axis, Label
from viewlet.matrix.tables.durable import Contained, read_axes, read_journal, read_large, read_state
from viewlet.matrix.tables.entries import Difference, difference
from viewlet.matrix.tables.inputs import Input, Inputs, InputStep
from viewlet.matrix.tables.moments import moments_of
from viewlet.matrix.tables.read_blocks import Loaded, Tables, load
from viewlet.matrix.tables.results import ResultTable
from viewlet.matrix.tables.sources import Fixed, Long, Moments, Wide

if TYPE_CHECKING:
    from viewlet.matrix.tables.view import MatrixView

Read = Callable[[str], Rows]
"""Returns all rows of a table or view."""
Moved = Mapping[str, list[tuple[int, Label | None, Label | None]]]
"""By axis, the places whose label changes, with the old and the new label."""


@dataclass
class Live:
    """The state of a program between epochs."""

    inputs: Inputs
    matrices: MaintainedProgram
    showing: ResultTable
    shown: Mapping[str, Any]
    """The outputs exactly as in the table."""
    stale: set[str] = field(default_factory=set)
    """The statements re-evaluated since all were written; their later changes are not recorded."""

    def unwritten(self, entry: Entry) -> Entry:
        """The part of an update that must be recorded."""
        changes = {name: change for name, change in entry.changes.items() if name not in self.stale}
        self.stale.update(name for name, change in changes.items() if change is None)
        return replace(entry, changes=changes)


@dataclass(frozen=True)
class Followed:
    """The effects of an epoch on the matrices, the table and the labels."""

    record: Record
    rows: Rows
    moved: Moved


def started(view: MatrixView, tables: Tables, blocks: Blocks | None) -> tuple[Live, Rows, Moved]:
    """Start a program from its tables; return it, the rows of its table, and its labels."""
    inputs, step, arrays = _loaded(view, tables, blocks)
    given: dict[str, Any] = {**view.settings.start(), **arrays}
    matrices = view.program.start(blocks=blocks, **given)
    refuse_large(view, matrices)
    live = Live(inputs, matrices, _showing(view, inputs), outputs_of(view, matrices))
    rows = live.showing.first(step.moves, live.shown)
    return live, rows, inputs.apply(step)


@dataclass(frozen=True)
class Recomputed:
    """The results for the current tables, computed from the program as written."""

    showing: ResultTable
    values: Mapping[str, Any]
    rows: Rows


def from_scratch(view: MatrixView, tables: Tables, blocks: Blocks | None) -> Recomputed:
    """Compute the results of a program without using its state."""
    inputs, step, arrays = _loaded(view, tables, blocks)
    given: dict[str, Any] = {"dtype": view.settings.dtype, **arrays}
    showing, values = _showing(view, inputs), view.program.evaluate(blocks=blocks, **given)
    rows = showing.first(step.moves, values)
    inputs.apply(step)
    return Recomputed(showing, values, rows)


def resumed(view: MatrixView, read: Read, contained: Contained, blocks: Blocks | None) -> Live:
    """Restore a program from its bags and tables."""
    axes = read_axes(contained, view.state)
    large = {} if blocks is None else read_large(contained, view.state, blocks)
    there = {i.name: _labels(view, i, axes) for i in view.inputs if i.name in large}
    inputs, step, arrays = _begun(view, read, there, axes)
    inputs.apply(step)
    journal = read_journal(contained, view.state, blocks)
    arrays = {name: array.astype(view.settings.dtype) for name, array in arrays.items()}
    matrices = read_state(contained, view.state, {**arrays, **large}, journal, blocks)
    showing = _showing(view, inputs)
    stale = {name for entry in journal for name, change in entry.changes.items() if change is None}
    return Live(inputs, matrices, showing, showing.values(contained(view.name).consolidated()), stale)


def follow(view: MatrixView, live: Live, deltas: Mapping[str, Rows | None]) -> Followed | None:
    """Refresh a program with the changes of its tables; None if they do not affect it."""
    step = live.inputs.plan(_differences(view, live.inputs.inputs, deltas))
    updates: dict[str, Update] = {**step.updates, **_replaced(view, deltas)}
    if not updates:
        return None
    record = live.matrices.update(**updates)
    now = outputs_of(view, live.matrices)
    rows = live.showing.change(step.moves, live.shown, now)
    live.shown = now
    return Followed(record, rows, live.inputs.apply(step))


def outputs_of(view: MatrixView, matrices: MaintainedProgram) -> dict[str, Any]:
    return {name: matrices[name] for name in view.results.outputs}


def refuse_large(view: MatrixView, matrices: MaintainedProgram) -> None:
    """Refuse outputs in blocks: a table only shows matrices in memory."""
    outputs = dict(matrices.compiled.program.outputs)
    for name in view.results.outputs:
        if matrices.is_in_blocks(outputs[name]):
            raise UnsupportedQuery(
                f"{name} has more than {view.settings.resident:,} entries, and a table would show each in a row",
                hint="show a sum, a column or a product with a thin matrix: outputs=[…]",
            )


def _loaded(
    view: MatrixView, tables: Tables, blocks: Blocks | None
) -> tuple[Inputs, InputStep, dict[str, Array | Large]]:
    """Inputs and matrices from tables, large ones in blocks; the step is not applied yet."""
    loaded: dict[str, Loaded] = {}
    for given in view.inputs if blocks is not None else ():
        if isinstance(given.source, Wide):
            width = _width(view, given)
            if blocks is not None and blocks.is_large((tables.contents(given.source.table).total(), width)):
                loaded[given.name] = load(given, width, tables, blocks, view.settings.dtype)
    inputs, step, arrays = _begun(view, tables.rows, {name: found.labels for name, found in loaded.items()})
    assert blocks is not None or not loaded
    placed = {
        name: found.placed(name, inputs.places(name, step, found.labels), blocks)
        for name, found in loaded.items()
        if blocks
    }
    return inputs, step, {**arrays, **placed}


def _width(view: MatrixView, given: Input) -> int:
    return len(view.axes[given.axes[1]].fixed or ())


def _labels(view: MatrixView, given: Input, axes: Mapping[str, Axis]) -> list[Label]:
    axis = given.axes[0]
    return axes[axis].labels if axis in axes else list(view.axes[axis].fixed or ())


def _begun(
    view: MatrixView, read: Read, large: Mapping[str, list[Label]], order: Mapping[str, Axis] | None = None
) -> tuple[Inputs, InputStep, dict[str, Array]]:
    """Inputs and matrices from tables, given the labels of those in blocks; the step is not applied yet."""
    inputs = Inputs(view.inputs, view.axes)
    here = [i for i in view.inputs if not isinstance(i.source, Fixed) and i.name not in large]
    tables = {i.source.table: read(i.source.table) for i in here if not isinstance(i.source, Fixed)}
    differences = _differences(view, {i.name for i in here}, tables)
    elsewhere = {name: _only_labels(labels) for name, labels in large.items()}
    step = inputs.plan({**differences, **elsewhere}, order)
    arrays = inputs.arrays(step, large)
    for given in view.inputs:
        if isinstance(given.source, Moments):
            arrays[given.name] = moments_of(given.source, tables[given.source.table])
    return inputs, step, arrays


def _only_labels(labels: Sequence[Label]) -> Difference:
    """New rows without entries."""
    return Difference({label: at for at, label in enumerate(labels)}, {}, [], np.zeros((len(labels), 0)))


def _differences(view: MatrixView, names: Collection[str], deltas: Mapping[str, Rows | None]) -> dict[str, Difference]:
    found = {}
    for given in view.inputs:
        if given.name not in names or not isinstance(given.source, Wide | Long):
            continue
        if (delta := deltas.get(given.source.table)) is not None:
            width = _width(view, given) if isinstance(given.source, Wide) else 1
            found[given.name] = difference(given.name, given.source, delta, width)
    return found


def _replaced(view: MatrixView, deltas: Mapping[str, Rows | None]) -> dict[str, Update]:
    """The updates of moments, which are small and replaced as a whole."""
    found: dict[str, Update] = {}
    for given in view.inputs:
        if isinstance(given.source, Moments) and (delta := deltas.get(given.source.table)) is not None:
            found[given.name] = Replace(moments_of(given.source, delta.filter(delta.weights > 0)))
    return found


def _showing(view: MatrixView, inputs: Inputs) -> ResultTable:
    return ResultTable(view.results, view.axes, inputs.axes)
