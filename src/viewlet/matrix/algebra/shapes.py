"""The shape of each operator's result, with NumPy's errors for shapes that do not fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from viewlet.matrix.algebra.ops import (
    Add,
    Broadcast,
    Constant,
    Diagonal,
    Elementwise,
    Full,
    Identity,
    Inner,
    Inverse,
    Iterate,
    Leading,
    Power,
    Product,
    Scale,
    SizeOf,
    Slice,
    Solve,
    Source,
    Span,
    Stack,
    Steps,
    Subtract,
    Sum,
    SumOfProducts,
    Trace,
    Transpose,
)
from viewlet.matrix.algebra.sizes import Dim, Shape, combine, show_shape
from viewlet.matrix.errors import ShapeError

Shapes = Mapping[str, Shape]


def shape_of(op: Source, shapes: Shapes) -> Shape:
    """The shape of an operator's result."""
    match op:
        case Add(a, b) | Subtract(a, b):
            return _same(op, shapes, a, b)
        case Elementwise(_, parts):
            matrices = [p for p in parts if isinstance(p, str) and shapes[p]]
            return _same(op, shapes, *matrices) if matrices else ()
        case Inner(a, b):
            _same(op, shapes, a, b)
            return ()
        case Scale(_, a):
            return shapes[a]
        case Product(a, b):
            return _product(shapes, a, b)
        case SumOfProducts(products):
            return _product(shapes, *products[0])
        case Steps(a, start):
            return _product(shapes, a, start)
        case Transpose(a):
            rows, columns = _matrix(op, shapes, a)
            return columns, rows
        case Inverse(a) | Power(a):
            return _square(op, shapes, a)
        case Solve(a, b):
            size, _ = _square(op, shapes, a)
            return _fit(op, shapes, a, size, b)
        case Slice(a, rows, columns):
            height, width = _matrix(op, shapes, a)
            return _cut(height, rows), _cut(width, columns)
        case Stack(parts, axis):
            return _stacked(op, shapes, parts, axis)
        case Broadcast(_, shape) | Full(shape):
            return shape
        case Sum(a, axis):
            rows, columns = _matrix(op, shapes, a)
            return () if axis is None else (1, columns) if axis == 0 else (rows, 1)
        case Trace(a):
            _square(op, shapes, a)
            return ()
        case Leading(a, count):
            size, _ = _square(op, shapes, a)
            return size, count
        case Diagonal(a):
            size, _ = _square(op, shapes, a)
            return size, 1
        case Identity(size):
            return size, size
        case Constant(rows):
            return len(rows), len(rows[0]) if rows else 0
        case SizeOf():
            return ()
        case Iterate(start):
            return shapes[start]
        case _:
            assert_never(op)


def _said(op: Source) -> str:
    """NumPy's name of an operator."""
    if isinstance(op, Elementwise):
        return op.function
    names = {Inverse: "inv", Power: "matrix_power", Inner: "inner product"}
    return names.get(type(op), type(op).__name__.lower())


def _same(op: Source, shapes: Shapes, *names: str) -> Shape:
    first = shapes[names[0]]
    for name in names[1:]:
        if shapes[name] != first:
            raise ShapeError(
                f"{_said(op)}: operands could not be broadcast together with shapes "
                f"{names[0]} ({show_shape(first)}) and {name} ({show_shape(shapes[name])})"
            )
    return first


def _matrix(op: Source, shapes: Shapes, name: str) -> tuple[Dim, Dim]:
    shape = shapes[name]
    if len(shape) != 2:
        raise ShapeError(f"{_said(op)}: {name} is a number, not a matrix")
    return shape[0], shape[1]


def _square(op: Source, shapes: Shapes, name: str) -> tuple[Dim, Dim]:
    rows, columns = _matrix(op, shapes, name)
    if rows != columns:
        raise ShapeError(f"{_said(op)}: the matrix must be square, and {name} is {rows} × {columns}")
    return rows, columns


def _fit(op: Source, shapes: Shapes, name: str, size: Dim, other: str) -> tuple[Dim, Dim]:
    rows, columns = _matrix(op, shapes, other)
    if rows != size:
        raise ShapeError(
            f"{_said(op)}: {name} ({show_shape(shapes[name])}) and {other} ({rows} × {columns}) do not fit, "
            f"size {size} is different from {rows}",
            hint="sizes are equal if they are the same number, or the same name",
        )
    return rows, columns


def _product(shapes: Shapes, left: str, right: str) -> Shape:
    op = Product(left, right)
    rows, inner = _matrix(op, shapes, left)
    return rows, _fit(op, shapes, left, inner, right)[1]


def _cut(dim: Dim, span: Span) -> Dim:
    """The size of a slice; for a symbolic size, a negative start or stop counts from the end."""
    if isinstance(dim, int):
        return len(range(*slice(*span).indices(dim)))
    start, stop = (combine(dim, i, 1) if i is not None and i < 0 else i for i in span)
    begin: Dim = 0 if start is None else start
    length = combine(dim if stop is None else stop, begin, -1)
    if isinstance(length, int) and length < 0:
        return 0
    return length


def _stacked(op: Source, shapes: Shapes, parts: tuple[str, ...], axis: int) -> Shape:
    total: Dim = 0
    across = _matrix(op, shapes, parts[0])[1 - axis]
    for name in parts:
        shape = _matrix(op, shapes, name)
        if shape[1 - axis] != across:
            raise ShapeError(
                f"{'vstack' if axis == 0 else 'hstack'}: {parts[0]} ({show_shape(shapes[parts[0]])}) and "
                f"{name} ({show_shape(shape)}) must have the same number of {'columns' if axis == 0 else 'rows'}"
            )
        total = combine(total, shape[axis], 1)
    return (total, across) if axis == 0 else (across, total)
