"""Defining a matrix program over tables: what its inputs and axes are, and how its results are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from viewlet import arguments
from viewlet.errors import UnknownName
from viewlet.matrix.errors import ShapeError
from viewlet.matrix.ops import Program, shapes_in
from viewlet.matrix.program import MatrixProgram
from viewlet.matrix.sizes import Shape, show_shape
from viewlet.matrix.tables.axes import AxisKind
from viewlet.matrix.tables.bind import axes_of, axis_kinds, axis_of, refuse_slices
from viewlet.matrix.tables.inputs import Input
from viewlet.matrix.tables.resolve import Schemas, sources_of
from viewlet.matrix.tables.results import Results
from viewlet.matrix.tables.settings import Settings
from viewlet.matrix.tables.view import MatrixView

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse


def define_matrix(
    warehouse: Warehouse,
    name: str,
    program: MatrixProgram,
    given: Mapping[str, Any],
    outputs: Sequence[str] | None,
    is_wide: bool,
    settings: Settings,
    more: Schemas | None = None,
) -> MatrixView:
    """The program over its tables, checked, without creating anything; `more` are tables that are yet to be."""
    schemas = {**warehouse.catalog.schemas(), **(more or {})}
    sources = sources_of(program, given, schemas)
    inputs = tuple(Input(i.name, sources[i.name], axes_of(i.name, i.shape)) for i in program.source.inputs)
    axes = axis_kinds(program.source, inputs, schemas)
    refuse_slices(program.source, axes)
    results = _results(program.source, axes, outputs, is_wide)
    return MatrixView(name, program, inputs, axes, results, settings, warehouse.next_position())


def _results(program: Program, axes: Mapping[str, AxisKind], outputs: Sequence[str] | None, is_wide: bool) -> Results:
    shapes = shapes_in(program)
    known = {name: _shown_shape(shapes[of]) for name, of in program.outputs}
    wanted = tuple(known) if outputs is None else arguments.texts("the outputs to show", outputs)
    if unknown := [name for name in wanted if name not in known]:
        raise UnknownName(f"the program has no output {unknown[0]}", hint=f"its outputs are {', '.join(known)}")
    found = {known[name] for name in wanted if known[name]}
    if len(found) > 1:
        told = ", ".join(f"{name} ({show_shape(known[name])})" for name in wanted)
        raise ShapeError(f"a table shows outputs of one shape, not {told}", hint="outputs=[…] picks some of them")
    shape = next(iter(found), ())
    names = [axis_of(dim) for dim in shape]
    if None in names:
        raise ShapeError(f"{wanted[0]} is {show_shape(shape)}, a size without labels", hint="show another output")
    shown = tuple(str(name) for name in names)
    if is_wide and (len(wanted) != 1 or len(shown) != 2 or axes[shown[1]].fixed is None):
        raise ShapeError("a wide table shows one matrix whose columns stay", hint="show it long")
    return Results(wanted, shown, _label_columns(shown, is_wide), is_wide)


def _shown_shape(shape: Shape) -> Shape:
    """Without the sizes that are one."""
    return tuple(dim for dim in shape if dim != 1)


def _label_columns(axes: tuple[str, ...], is_wide: bool) -> tuple[str, ...]:
    """The columns of labels: called by their axis, or by what they are."""
    plain = ("row", "column")
    if len(axes) == 2 and axes[0] == axes[1] and not axes[0].isdigit() and not is_wide:
        return f"{axes[0]}_row", f"{axes[0]}_column"
    names = tuple(plain[i] if axis.isdigit() else axis for i, axis in enumerate(axes))
    return names[:1] if is_wide else names
