"""Programs over moments: if a program only sums over the rows of a matrix, it needs only the moments.

With Z = [1, x, y, …] for the columns of all matrices that share their rows, every matrix with such rows is Z·C for a
small C, as long as rows are only combined with columns and constants:

    X = Z·C          C selects its columns
    Z·C ± Z·D        = Z·(C ± D)                 λ·Z·C = Z·(λC)
    Z·C·B            = Z·(C·B)                   [Z·C, Z·D] = Z·[C, D]
    (Z·C)ᵀ(Z·D)      = Cᵀ·(ZᵀZ)·D                without rows
    1ᵀ(Z·C)          = (first row of ZᵀZ)·C      n = first entry of ZᵀZ

So ZᵀZ, the *moments*, is the only remaining input: sums over rows, which a view of the warehouse maintains exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from viewlet.matrix.algebra.builder import Builder, rename
from viewlet.matrix.algebra.ops import (
    Add,
    Broadcast,
    Declared,
    Full,
    Identity,
    Inner,
    Iterate,
    Op,
    Product,
    Program,
    Scale,
    SizeOf,
    Slice,
    Source,
    Span,
    Stack,
    Statement,
    Subtract,
    Sum,
    Transpose,
    operands,
)
from viewlet.matrix.algebra.show import show_op
from viewlet.matrix.algebra.sizes import Dim, Shape, Size, combine, constant_of, symbols_of, terms_of
from viewlet.matrix.errors import UnsupportedQuery

ALL: Span = (None, None)


@dataclass(frozen=True, slots=True)
class Combination:
    """Z·C"""

    coefficients: str
    span: tuple[int, int] | None = None
    """The columns of Z, if C only selects a range of them."""


@dataclass(frozen=True, slots=True)
class Transposed:
    """(Z·C)ᵀ"""

    of: Combination


Form = str | Combination | Transposed
"""The rewritten form of a matrix; its name, if it does not have the rows."""


def over_moments(
    program: Program, axis: str, picked: Mapping[str, tuple[int, int]], moments: Declared, sizes: Mapping[str, int]
) -> Program:
    """Rewrite a program to compute its outputs from moments; each of `picked` inputs is a range of Z's columns.

    `axis` is the size of their rows; known sizes are substituted.
    """
    kept = [Declared(i.name, known(i.shape, sizes)) for i in program.inputs if i.name not in picked]
    builder = Builder([moments, *kept])
    rewriting = _Rewriting(builder, axis, moments, sizes)
    forms: dict[str, Form] = {i.name: i.name for i in kept}
    forms |= {name: rewriting.picked(span) for name, span in picked.items()}
    for statement in program.statements:
        forms[statement.name] = rewriting.statement(statement, forms)
    return builder.program({output: _plain(forms[name], output) for output, name in program.outputs})


def known(shape: Shape, sizes: Mapping[str, int]) -> Shape:
    """A shape with known sizes substituted."""
    return tuple(_known(dim, sizes) for dim in shape)


def _known(dim: Dim, sizes: Mapping[str, int]) -> Dim:
    found: Dim = constant_of(dim)
    for name, times in terms_of(dim):
        found = combine(found, sizes.get(name, Size(((name, 1),))), times)
    return found


def _plain(form: Form, output: str) -> str:
    if isinstance(form, str):
        return form
    raise _by_row(f"the output {output} has a row for each row that is summed up")


def _by_row(what: str) -> UnsupportedQuery:
    return UnsupportedQuery(
        f"{what}, so sums over rows are not enough",
        hint='name the column that identifies rows: Wide(table, columns, row="id")',
    )


class _Rewriting:
    """Rewrites statements over Z into statements over ZᵀZ."""

    def __init__(self, builder: Builder, axis: str, moments: Declared, sizes: Mapping[str, int]) -> None:
        self.builder = builder
        self.emit = builder.emit
        self.axis = axis
        self.moments = moments.name
        self.width = moments.shape[0]
        self.sizes = sizes

    def picked(self, span: tuple[int, int]) -> Combination:
        """A range of columns of Z."""
        return Combination(self.emit(Slice(self.emit(Identity(self.width)), ALL, span)), span)

    def statement(self, statement: Statement, forms: Mapping[str, Form]) -> Form:
        op = statement.op
        if isinstance(op, Iterate):
            return self._loop(op, forms)
        read = [forms[name] for name in operands(op)]
        if all(isinstance(form, str) for form in read) and not self._counts_rows(op):
            names = {name: form for name, form in forms.items() if isinstance(form, str)}
            return self.emit(rename(self._sized(op), names))
        found = self._form(op, read)
        if found is None:
            raise _by_row(f"{statement.name} := {show_op(op)} reads rows one by one")
        return found

    def _loop(self, loop: Iterate, forms: Mapping[str, Form]) -> Form:
        """A loop whose T does not have the rows, though matrices in its body may."""
        start = forms[loop.start]
        if not isinstance(start, str):
            raise _by_row(f"an iteration starts from {loop.start}")
        parameter, since = self.builder.fresh("T", self.builder.shapes[start]), len(self.builder.statements)
        inside: dict[str, Form] = {**forms, loop.parameter: parameter}
        for statement in loop.body:
            inside[statement.name] = self.statement(statement, inside)
        result = _plain(inside[loop.result], loop.result)
        body = self.builder.loop_body(parameter, since)
        return self.emit(Iterate(start, loop.times, parameter, body, result))

    def _counts_rows(self, op: Source) -> bool:
        match op:
            case Identity(size) | SizeOf(size):
                return self.axis in symbols_of(size)
            case Full(shape) | Broadcast(_, shape):
                return any(self.axis in symbols_of(dim) for dim in shape)
            case _:
                return False

    def _sized(self, op: Source) -> Source:
        """The operator with known sizes substituted."""
        match op:
            case Identity(size):
                return Identity(_known(size, self.sizes))
            case SizeOf(size):
                found = _known(size, self.sizes)
                return Full((), float(found)) if isinstance(found, int) else SizeOf(found)
            case Full(shape, value):
                return Full(known(shape, self.sizes), value)
            case Broadcast(of, shape):
                return Broadcast(of, known(shape, self.sizes))
            case _:
                return op

    def _form(self, op: Source, read: Sequence[Form]) -> Form | None:
        """The form of an operator's result if an operand has the rows; None if it has no form."""
        match op, read:
            case Add() | Subtract(), [Combination() as a, Combination() as b]:
                return Combination(self.emit(type(op)(a.coefficients, b.coefficients)))
            case Scale(float() as factor, _), [Combination() as a]:
                return Combination(self.emit(Scale(factor, a.coefficients)))
            case Scale(), [str() as factor, Combination() as a]:
                return Combination(self.emit(Scale(factor, a.coefficients)))
            case Product(), [Combination() as a, str() as b]:
                return Combination(self.emit(Product(a.coefficients, b)))
            case Product(), [Transposed(a), Combination() as b]:
                return self._met(a, b)
            case Inner(), [Combination() as a, Combination() as b]:
                return self.emit(Inner(a.coefficients, self._columns(b)))
            case Transpose(), [Combination() as a]:
                return Transposed(a)
            case Transpose(), [Transposed(a)]:
                return a
            case Slice(_, (None, None), span), [Combination() as a]:
                return Combination(self.emit(Slice(a.coefficients, ALL, span)))
            case Stack(_, 1), parts if all(isinstance(p, Combination) for p in parts):
                return Combination(
                    self.emit(Stack(tuple(p.coefficients for p in parts if isinstance(p, Combination)), 1))
                )
            case Sum(_, axis), [Combination() as a]:
                return self._summed(a, axis)
            case SizeOf(size), _:
                return self._size(size)
            case ((Full() | Broadcast()), _):
                return self._repeated(op, read)
            case _:
                return self._turned(op, read)

    def _turned(self, op: Source, read: Sequence[Form]) -> Form | None:
        """The same for (Z·C)ᵀ, as the transpose of the transposed operator's result."""
        match op, read:
            case Product(), [str() as a, Transposed(b)]:  # A·(Z·C)ᵀ = (Z·C·Aᵀ)ᵀ
                return Transposed(Combination(self.emit(Product(b.coefficients, self.emit(Transpose(a))))))
            case ((Add() | Subtract() | Scale()), _) if any(isinstance(f, Transposed) for f in read):
                found = self._form(op, [f.of if isinstance(f, Transposed) else f for f in read])
                return Transposed(found) if isinstance(found, Combination) else None
            case Sum(_, axis), [Transposed(a)]:
                found = self._summed(a, None if axis is None else 1 - axis)
                return (
                    Transposed(found)
                    if isinstance(found, Combination)
                    else found
                    if axis is None
                    else self.emit(Transpose(found))
                )
            case Stack(_, 0), parts if all(isinstance(p, Transposed) for p in parts):
                beside = tuple(p.of.coefficients for p in parts if isinstance(p, Transposed))
                return Transposed(Combination(self.emit(Stack(beside, 1))))
            case _:
                return None

    def _met(self, a: Combination, b: Combination) -> str:
        """Cᵀ·(ZᵀZ)·D; a slice of ZᵀZ if both only select columns."""
        if a.span is not None:
            return self.emit(Slice(self._columns(b), a.span, ALL)) if b.span is None else self._piece(a.span, b.span)
        return self.emit(Product(self.emit(Transpose(a.coefficients)), self._columns(b)))

    def _piece(self, rows: Span, columns: Span) -> str:
        return self.emit(Slice(self.moments, rows, columns))

    def _columns(self, b: Combination) -> str:
        """(ZᵀZ)·D"""
        return self._piece(ALL, b.span) if b.span is not None else self.emit(Product(self.moments, b.coefficients))

    def _summed(self, a: Combination, axis: int | None) -> str | Combination:
        if axis == 1:
            width = self.builder.shapes[a.coefficients][1]
            return Combination(self.emit(Product(a.coefficients, self.emit(Full((width, 1), 1.0)))))
        row = self._met(self.picked((0, 1)), a)
        return row if axis == 0 else self.emit(Sum(row, None))

    def _size(self, size: Dim) -> str:
        """A size as a number: the count of rows times its coefficient, plus the rest."""
        times = dict(terms_of(size))[self.axis]
        count = self.emit(Scale(float(times), self.emit(Sum(self._piece((0, 1), (0, 1)), None))))
        rest = self._sized(SizeOf(combine(size, Size(((self.axis, 1),)), -times)))
        return self.emit(Add(count, self.emit(rest)))

    def _repeated(self, op: Op, read: Sequence[Form]) -> Form | None:
        """A broadcast row is a combination of Z's column of ones; a broadcast column repeats its combination."""
        assert isinstance(op, Full | Broadcast)
        rows, columns = known(op.shape, self.sizes)
        if rows != Size(((self.axis, 1),)) or self.axis in symbols_of(columns):
            return None
        match op, read:
            case Full(_, value), _:
                row = self.emit(Full((1, columns), value))
            case Broadcast(), [str() as of]:
                row = self.emit(Broadcast(of, (1, columns)))
            case Broadcast(), [Combination() as of]:
                return Combination(self.emit(Product(of.coefficients, self.emit(Full((1, columns), 1.0)))))
            case _:
                return None
        return Combination(self.emit(Product(self.picked((0, 1)).coefficients, row)))
