"""Defining a matrix program over tables: its inputs, axes and results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from viewlet import arguments
from viewlet.errors import UnknownName
from viewlet.matrix.algebra.ops import Program, shapes_in
from viewlet.matrix.algebra.sizes import Shape, show_shape
from viewlet.matrix.errors import ShapeError
from viewlet.matrix.program import MatrixProgram
from viewlet.matrix.tables.axes import AxisKind
from viewlet.matrix.tables.bind import axes_of, axis_kinds, axis_of, refuse_slices
from viewlet.matrix.tables.inputs import Input
from viewlet.matrix.tables.moment_inputs import Summed
from viewlet.matrix.tables.options import Settings
from viewlet.matrix.tables.resolve import Schemas, resolved
from viewlet.matrix.tables.results import Results
from viewlet.matrix.tables.view import MatrixView


@dataclass(frozen=True)
class ProgramDefinition:
    """A definition as given: a program, the sources of its matrices, and the outputs to show."""

    name: str
    program: MatrixProgram
    given: Mapping[str, Any]
    outputs: Sequence[str] | None
    is_wide: bool
    settings: Settings


def define_matrix(wanted: ProgramDefinition, sums: Summed, schemas: Schemas, position: int) -> MatrixView:
    """Validate a definition, without creating the program."""
    sources = {i.name: resolved(i.name, sums.sources[i.name], schemas) for i in sums.program.inputs}
    shapes = {i.name: i.shape for i in (*sums.program.inputs, *wanted.program.source.inputs)}
    inputs = tuple(Input(name, source, axes_of(name, shapes[name])) for name, source in sources.items())
    axes = axis_kinds(sums.program, inputs, schemas, sums.columns)
    refuse_slices(sums.program, axes)
    results = _results(wanted.program.source, axes, wanted.outputs, wanted.is_wide)
    return MatrixView(wanted.name, MatrixProgram(sums.program), inputs, axes, results, wanted.settings, position)


def _results(program: Program, axes: Mapping[str, AxisKind], outputs: Sequence[str] | None, is_wide: bool) -> Results:
    shapes = shapes_in(program)
    known = {name: _shown_shape(shapes[of]) for name, of in program.outputs}
    wanted = tuple(known) if outputs is None else arguments.texts("the outputs to show", outputs)
    if unknown := [name for name in wanted if name not in known]:
        raise UnknownName(f"the program has no output {unknown[0]}", hint=f"its outputs are {', '.join(known)}")
    found = {known[name] for name in wanted if known[name]}
    if len(found) > 1:
        differing = ", ".join(f"{name} ({show_shape(known[name])})" for name in wanted)
        raise ShapeError(f"a table shows outputs of one shape, not {differing}", hint="outputs=[…] picks some of them")
    shape = next(iter(found), ())
    names = [axis_of(dim) for dim in shape]
    if None in names:
        raise ShapeError(
            f"{wanted[0]} is {show_shape(shape)}, and has a size without labels", hint="show another output"
        )
    shown = tuple(str(name) for name in names)
    if is_wide and (len(wanted) != 1 or len(shown) != 2 or axes[shown[1]].fixed is None):
        raise ShapeError("a wide table shows one matrix whose columns are fixed", hint="leave out wide=True")
    results = Results(wanted, shown, _label_columns(shown, is_wide), is_wide)
    _refuse_same_names([f.name for f in results.fields(axes)])
    return results


def _refuse_same_names(columns: list[str]) -> None:
    names = [column.lower() for column in columns]
    if twice := [column for column, name in zip(columns, names, strict=True) if names.count(name) > 1]:
        raise ShapeError(
            f"two columns of the table would be called {twice[0]}", hint="give the size or the output another name"
        )


def _shown_shape(shape: Shape) -> Shape:
    """A shape without sizes of one."""
    return tuple(dim for dim in shape if dim != 1)


def _label_columns(axes: tuple[str, ...], is_wide: bool) -> tuple[str, ...]:
    """The names of label columns: that of the axis, or a generic one."""
    plain = ("row", "column")
    if len(axes) == 2 and axes[0] == axes[1] and not axes[0].isdigit() and not is_wide:
        return f"{axes[0]}_row", f"{axes[0]}_column"
    names = tuple(plain[i] if axis.isdigit() else axis for i, axis in enumerate(axes))
    return names[:1] if is_wide else names
