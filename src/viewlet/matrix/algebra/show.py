"""Programs as deterministic text, with a line for each statement."""

from __future__ import annotations

from collections.abc import Iterator
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
    Program,
    Scale,
    SizeOf,
    Slice,
    Solve,
    Source,
    Span,
    Stack,
    Statement,
    Steps,
    Subtract,
    Sum,
    SumOfProducts,
    Trace,
    Transpose,
)
from viewlet.matrix.algebra.sizes import show_shape

SIGNS = {"multiply": "∘", "divide": "/"}


def show(program: Program) -> str:
    """The program, a line for each statement."""
    inputs = ", ".join(f"{i.name}: {show_shape(i.shape)}" for i in program.inputs)
    lines = [f"program({inputs}) → {', '.join(name for name, _ in program.outputs)}"]
    found = list(_lines(program.statements))
    width = max((len(text) for text, _ in found), default=0)
    lines += [f"  {text:<{width}}  {shape}" for text, shape in found]
    lines += [f"  {name} := {of}" for name, of in program.outputs if name != of]
    return "\n".join(lines)


def _lines(statements: tuple[Statement, ...], indent: str = "") -> Iterator[tuple[str, str]]:
    for statement in statements:
        yield f"{indent}{statement.name} := {show_op(statement.op)}", show_shape(statement.shape)
        if isinstance(statement.op, Iterate):
            yield from _lines(statement.op.body, indent + "  ")


def show_op(op: Source) -> str:
    """An operator as a user would write it."""
    match op:
        case Add(a, b):
            return f"{a} + {b}"
        case Subtract(a, b):
            return f"{a} - {b}"
        case Scale(factor, a):
            return f"{factor} * {a}" if isinstance(factor, str) else f"{factor:.6g} * {a}"
        case Product(a, b):
            return f"{a} @ {b}"
        case SumOfProducts(products, addends):
            return " + ".join([*(f"{a} @ {b}" for a, b in products), *addends])
        case Steps(a, start, added, times):
            return f"{times} steps T := {a} @ T{f' + {added}' if added else ''} from {start}"
        case Transpose(a):
            return f"{a}.T"
        case Inverse(a):
            return f"inv({a})"
        case Solve(a, b):
            return f"solve({a}, {b})"
        case Elementwise(function, (a, b)) if function in SIGNS:
            return f"{_value(a)} {SIGNS[function]} {_value(b)}"
        case Elementwise(function, parts):
            return f"{function}({', '.join(map(_value, parts))})"
        case Slice(a, rows, columns):
            return f"{a}[{_span(rows)}, {_span(columns)}]"
        case Stack(parts, axis):
            return f"{'hstack' if axis else 'vstack'}({', '.join(parts)})"
        case Broadcast(a, shape):
            return f"broadcast({a}, {show_shape(shape)})"
        case Sum(a, axis):
            return f"sum({a})" if axis is None else f"sum({a}, axis={axis})"
        case Trace(a):
            return f"trace({a})"
        case Leading(a, count):
            return f"leading({a}, {count})"
        case Diagonal(a):
            return f"diagonal({a})"
        case Inner(a, b):
            return f"inner({a}, {b})"
        case Identity(size):
            return f"eye({size})"
        case Full(shape, value):
            return f"full({show_shape(shape)}, {value:.6g})" if shape else f"{value:.6g}"
        case Constant(rows):
            return f"constant {len(rows)} × {len(rows[0]) if rows else 0}"
        case SizeOf(size):
            return f"size {size}"
        case Power(a, exponent):
            return f"matrix_power({a}, {exponent})"
        case Iterate(start, times, parameter, _, result):
            return f"iterate {times} times {parameter} := {result} from {start}"
        case _:
            assert_never(op)


def _value(operand: str | float) -> str:
    return operand if isinstance(operand, str) else f"{operand:.6g}"


def _span(span: Span) -> str:
    return ":".join("" if i is None else str(i) for i in span)
