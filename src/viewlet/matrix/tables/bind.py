"""Binds the sizes of a program to axes, whose labels all matrices with that size share."""

from __future__ import annotations

from collections.abc import Mapping

from viewlet.errors import UnsupportedQuery, shortened
from viewlet.matrix.algebra.ops import Program, Slice, shapes_in
from viewlet.matrix.algebra.sizes import Dim, Shape, show_shape, symbol_of
from viewlet.matrix.errors import ShapeError
from viewlet.matrix.tables.axes import AxisKind
from viewlet.matrix.tables.inputs import Input
from viewlet.matrix.tables.resolve import Schemas, is_array, label_column
from viewlet.matrix.tables.sources import Fixed, Long, Moments, Wide
from viewlet.plan.types import BIGINT, INTEGRAL, STRING, Type


def axes_of(name: str, shape: Shape) -> tuple[str, str]:
    rows, columns = (axis_of(dim) for dim in shape)
    if rows is None or columns is None:
        raise ShapeError(f"{name} is {show_shape(shape)}", hint="a size is a number, or a name")
    return rows, columns


def axis_of(dim: Dim) -> str | None:
    """The name of an axis; one of fixed size is named by its size."""
    return str(dim) if isinstance(dim, int) else symbol_of(dim)


def axis_kinds(
    program: Program, inputs: tuple[Input, ...], schemas: Schemas, columns: Mapping[str, AxisKind]
) -> dict[str, AxisKind]:
    """The kind of each axis, on which all matrices must agree; `columns`: axes known to be columns of tables."""
    sizes = {d for shape in shapes_in(program).values() for d in shape if isinstance(d, int)}
    kinds = {**{str(size): AxisKind(BIGINT, tuple(range(size))) for size in sizes}, **columns}
    said: dict[str, str] = {}
    for given in inputs:
        for axis, kind in zip(given.axes, _kinds_of(given, schemas), strict=True):
            if kind is None:
                continue
            there = kinds.setdefault(axis, kind)
            if not _agree(there, kind):
                raise _disagreement(axis, said.get(axis, "the program"), given.name, there, kind)
            kinds[axis] = there if there.fixed is not None or kind.fixed is None else kind
            said.setdefault(axis, given.name)
    for given in inputs:
        _refuse_unsteady(given, kinds)
    return kinds


def _refuse_unsteady(given: Input, kinds: Mapping[str, AxisKind]) -> None:
    """Refuse constant arrays on axes whose labels change."""
    moving = [axis for axis in given.axes if axis not in kinds or kinds[axis].fixed is None]
    if isinstance(given.source, Fixed) and moving:
        raise ShapeError(
            f"{given.name} is a constant array, but the size {moving[0]} may change",
            hint="give the size as a number, or keep the matrix in a table",
        )


def _kinds_of(given: Input, schemas: Schemas) -> tuple[AxisKind | None, AxisKind | None]:
    """The kinds of a matrix's axes; None if it does not determine one."""
    match given.source:
        case Wide(table, _, row):
            if row is None:
                raise UnsupportedQuery(
                    f"{given.name}: a wide matrix needs a column that identifies its rows",
                    hint='Wide(table, columns, row="id"); only sums over all rows need none',
                )
            return AxisKind(label_column(table, schemas[table], row).type), _columns_kind(given, given.source, schemas)
        case Long(table, row, column):
            types = (label_column(table, schemas[table], name).type for name in (row, column))
            down, across = (None if a.isdigit() else AxisKind(t) for a, t in zip(given.axes, types, strict=True))
            return down, across
        case Moments() | Fixed():
            return None, None


def _columns_kind(given: Input, source: Wide, schemas: Schemas) -> AxisKind | None:
    """The columns as the labels of a named axis; None if they are entries of an array, whose length is unknown."""
    axis, is_counted = given.axes[1], given.axes[1].isdigit()
    if is_array(source, schemas):
        if not is_counted:
            raise ShapeError(
                f"{given.name} takes its rows from an array column, whose entries have no names for {axis}",
                hint="give their number: (…, 300)",
            )
        return None
    count = len(source.columns)
    return AxisKind(BIGINT, tuple(range(count))) if is_counted else AxisKind(STRING, tuple(source.columns))


def _agree(there: AxisKind, kind: AxisKind) -> bool:
    same = _comparable(there.type) == _comparable(kind.type)
    return same and (there.fixed is None or kind.fixed is None or there.fixed == kind.fixed)


def _comparable(kind: Type) -> str:
    """A name shared by types whose labels can be equal."""
    return "whole number" if kind.name in INTEGRAL else "text" if kind.name in ("string", "varchar") else str(kind)


def _disagreement(axis: str, first: str, second: str, there: AxisKind, kind: AxisKind) -> ShapeError:
    labels = [
        f"{len(k.fixed)} labels, {shortened(list(k.fixed))}" if k.fixed is not None else f"labels of type {k.type}"
        for k in (there, kind)
    ]
    return ShapeError(
        f"{axis} has {labels[0]} in {first}, and {labels[1]} in {second}", hint="give one of them another name"
    )


def refuse_slices(program: Program, axes: Mapping[str, AxisKind]) -> None:
    """Refuse slices of axes whose labels come from rows of tables, which have no order."""
    shapes = shapes_in(program)
    for statement in program.statements:
        if isinstance(statement.op, Slice):
            spans = zip(shapes[statement.op.of], (statement.op.rows, statement.op.columns), strict=True)
            if any(span != (None, None) and _moves(dim, axes) for dim, span in spans):
                raise UnsupportedQuery(
                    f"{statement.name} slices rows or columns that can be added and deleted, which have no order",
                    hint="select rows with a view, and read that",
                )


def _moves(dim: Dim, axes: Mapping[str, AxisKind]) -> bool:
    axis = axis_of(dim)
    return axis is None or axes[axis].fixed is None
