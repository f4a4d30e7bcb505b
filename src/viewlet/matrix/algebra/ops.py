"""Matrix programs: statements, each with one operator over named matrices.

Nodes are frozen and have no behaviour: `shapes.py` validates operators, `arrays/evaluate.py` computes them,
`delta/rules.py` derives their changes. `Power` and `Iterate` only occur in programs as written; `compile/lower.py`
replaces them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from viewlet.matrix.algebra.sizes import Dim, Shape

Span = tuple[int | None, int | None]
"""Start and stop of a slice, as in Python."""


@dataclass(frozen=True, slots=True)
class Add:
    """left + right"""

    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Subtract:
    """left − right"""

    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Scale:
    """factor · of; the factor is a constant or a number that the program computes."""

    factor: float | str
    of: str


@dataclass(frozen=True, slots=True)
class Product:
    """left @ right"""

    left: str
    right: str


@dataclass(frozen=True, slots=True)
class SumOfProducts:
    """Σ left @ right + Σ addend; emitted by `compile/fuse.py`."""

    products: tuple[tuple[str, str], ...]
    addends: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Steps:
    """T after `times` steps of T ← matrix @ T + added from `start`, without storing the steps (`compile/lower.py`)."""

    matrix: str
    start: str
    added: str | None
    times: int


@dataclass(frozen=True, slots=True)
class Transpose:
    """ofᵀ"""

    of: str


@dataclass(frozen=True, slots=True)
class Inverse:
    """of⁻¹"""

    of: str


@dataclass(frozen=True, slots=True)
class Solve:
    """The x of matrix · x = right."""

    matrix: str
    right: str


@dataclass(frozen=True, slots=True)
class Elementwise:
    """A NumPy function of each entry; operands are matrices of one shape, numbers or constants."""

    function: str
    operands: tuple[str | float, ...]


@dataclass(frozen=True, slots=True)
class Slice:
    """of[start:stop, start:stop]"""

    of: str
    rows: Span
    columns: Span


@dataclass(frozen=True, slots=True)
class Stack:
    """Matrices stacked vertically (axis 0) or horizontally (axis 1)."""

    parts: tuple[str, ...]
    axis: int


@dataclass(frozen=True, slots=True)
class Broadcast:
    """A row, a column or a number, broadcast to a shape."""

    of: str
    shape: Shape


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of all entries (axis None), of each column (0) or of each row (1)."""

    of: str
    axis: int | None


@dataclass(frozen=True, slots=True)
class Trace:
    """The sum of the diagonal."""

    of: str


@dataclass(frozen=True, slots=True)
class Diagonal:
    """The diagonal, as a column."""

    of: str


@dataclass(frozen=True, slots=True)
class Leading:
    """The leading eigenvectors of a symmetric matrix, as columns."""

    of: str
    count: int


@dataclass(frozen=True, slots=True)
class Inner:
    """Σ left ∘ right, the Frobenius inner product."""

    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Identity:
    """I"""

    size: Dim


@dataclass(frozen=True, slots=True)
class Full:
    """A matrix of one value."""

    shape: Shape
    value: float


@dataclass(frozen=True, slots=True)
class Constant:
    """An array that is part of the program."""

    rows: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class SizeOf:
    """A size, as a number."""

    size: Dim


Op = (
    Add
    | Subtract
    | Scale
    | Product
    | SumOfProducts
    | Steps
    | Transpose
    | Inverse
    | Solve
    | Elementwise
    | Slice
    | Stack
    | Broadcast
    | Sum
    | Trace
    | Diagonal
    | Leading
    | Inner
    | Identity
    | Full
    | Constant
    | SizeOf
)


@dataclass(frozen=True, slots=True)
class Power:
    """of to the k-th power, by repeated products."""

    of: str
    exponent: int


@dataclass(frozen=True, slots=True)
class Iterate:
    """T ← body(T), `times` times from `start`; the body calls T `parameter`."""

    start: str
    times: int
    parameter: str
    body: tuple[Statement, ...]
    result: str


Source = Op | Power | Iterate


@dataclass(frozen=True, slots=True)
class Statement:
    """name := op"""

    name: str
    op: Source
    shape: Shape


@dataclass(frozen=True, slots=True)
class Declared:
    """An input and its shape."""

    name: str
    shape: Shape


@dataclass(frozen=True, slots=True)
class Program:
    """Inputs, statements in the order of evaluation, and outputs with their names."""

    inputs: tuple[Declared, ...]
    statements: tuple[Statement, ...]
    outputs: tuple[tuple[str, str], ...]


def shapes_in(program: Program) -> dict[str, Shape]:
    """The shape of every input and every statement."""
    inputs = {i.name: i.shape for i in program.inputs}
    return inputs | {s.name: s.shape for s in program.statements}


def operands(op: Source) -> tuple[str, ...]:
    """The matrices that an operator reads."""
    match op:
        case Add(a, b) | Subtract(a, b) | Product(a, b) | Solve(a, b) | Inner(a, b):
            return (a, b)
        case Scale(str() as factor, a):
            return (factor, a)
        case (
            Scale(_, a)
            | Transpose(a)
            | Inverse(a)
            | Slice(a)
            | Broadcast(a)
            | Sum(a)
            | Trace(a)
            | Diagonal(a)
            | Leading(a)
            | Power(a)
        ):
            return (a,)
        case Elementwise(_, parts):
            return tuple(p for p in parts if isinstance(p, str))
        case Stack(parts):
            return parts
        case SumOfProducts(products, addends):
            return (*(name for pair in products for name in pair), *addends)
        case Steps(a, start, added):
            return (a, start) if added is None else (a, start, added)
        case Identity() | Full() | Constant() | SizeOf():
            return ()
        case Iterate(start, _, parameter, body):
            inside = {parameter, *(s.name for s in body)}
            free = (name for s in body for name in operands(s.op) if name not in inside)
            return (start, *dict.fromkeys(free))


def read_once(program: Program) -> set[str]:
    """The names that occur as exactly one operand and are no outputs."""
    uses = Counter(name for s in program.statements for name in operands(s.op))
    return {name for name, count in uses.items() if count == 1} - {name for _, name in program.outputs}


def map_operands(op: Source, rename: Callable[[str], str]) -> Source:
    """The operator with its operands renamed."""
    match op:
        case Elementwise(function, parts):
            return Elementwise(function, tuple(rename(p) if isinstance(p, str) else p for p in parts))
        case Stack(parts, axis):
            return Stack(tuple(map(rename, parts)), axis)
        case SumOfProducts(products, addends):
            return SumOfProducts(tuple((rename(a), rename(b)) for a, b in products), tuple(map(rename, addends)))
        case Iterate():
            raise AssertionError("a loop's names belong to its body: builder.rename")
        case _:
            read = {f.name: getattr(op, f.name) for f in fields(op)}
            renamed: dict[str, Any] = {field: rename(v) for field, v in read.items() if isinstance(v, str)}
            return replace(op, **renamed)
