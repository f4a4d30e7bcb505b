"""Expressions compiled to functions over columns.

An expression is compiled once to nested closures; its tree is not interpreted while rows are evaluated. Each value is
exactly Spark's, or the expression is not compiled at all: `why_not` decides by names and types alone, when a view is
compiled, and never depends on data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, Positions
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.kernels import OWN, TABLE
from viewlet.columns.kernels.kernel import Argument, Kernel, truth
from viewlet.columns.kernels.vectors import Evaluate, Vector, constant, reader, spread, writer
from viewlet.columns.rows import Rows
from viewlet.errors import EvaluationError
from viewlet.plan.expr import Call, Column, Expr, Literal, Opaque, Over, Reduce, columns_of, inputs
from viewlet.plan.show import show_expr


def why_not(expr: Expr) -> str | None:
    """Why an expression is left to Spark; None if it is evaluated here exactly as Spark does."""
    match expr:
        case Column():
            return None
        case Literal():
            return _why_not_literal(expr)
        case Opaque():
            return f"`{expr.text}` is evaluated by Spark alone"
        case Reduce() | Over():
            return f"`{expr.function}` needs a group of rows"
        case Call():
            for reason in map(why_not, inputs(expr)):
                if reason is not None:
                    return reason
            return None if _kernel(expr) is not None else _why_not_call(expr)


def _why_not_literal(literal: Literal) -> str | None:
    try:
        constant(literal)
    except (ValueError, TypeError, OverflowError, pa.ArrowException):
        return f"a constant of type {literal.type} is evaluated by Spark alone"
    return None


def _kernel(call: Call) -> Kernel | None:
    rule = TABLE.get(call.function) or OWN.get(call.function)
    return None if rule is None else rule(call)


def _why_not_call(call: Call) -> str:
    if call.function not in TABLE:
        return f"`{call.function}` is evaluated by Spark alone"
    return f"`{call.function}` of {', '.join(str(arg.type) for arg in call.args)} is evaluated by Spark alone"


def compile_expr(expr: Expr) -> Callable[[Rows], pa.Array]:
    """The function that computes an expression for each row."""
    if isinstance(expr, Column):
        name = expr.name
        return lambda rows: rows.columns[name]
    run, write, nothing = _compile(expr).run, writer(expr.type), pa.array([], type=arrow_type(expr.type))

    def evaluate(rows: Rows) -> pa.Array:
        length = len(rows)
        if not length:
            return nothing
        with np.errstate(all="ignore"):
            return write(run(rows), length)

    return evaluate


def can_fail(expr: Expr) -> bool:
    """Whether an expression can fail on some rows: by overflow, division by zero, …"""
    return _compile(expr).fails


def compile_condition(expr: Expr) -> Callable[[Rows], Mask]:
    """The function that tells for which rows a condition is true: neither false nor NULL."""
    run = _compile(expr).run

    def evaluate(rows: Rows) -> Mask:
        length = len(rows)
        if not length:
            return np.zeros(0, dtype=np.bool_)
        with np.errstate(all="ignore"):
            return spread(truth(run(rows)), length)

    return evaluate


def _compile(expr: Expr) -> Argument:
    match expr:
        case Column(name, kind):
            read = reader(kind)
            return Argument(expr, lambda rows: read(rows.columns[name]), (name,), fails=False)
        case Literal():
            return Argument(expr, constant(expr), (), fails=False)
        case Call():
            return _compile_call(expr)
    raise AssertionError(f"not an expression of single rows that can be compiled: {expr}")


def _compile_call(call: Call) -> Argument:
    kernel = _kernel(call)
    if kernel is None:
        raise AssertionError(_why_not_call(call))
    parts = tuple(map(_compile, call.args))
    fails = kernel.fails or any(part.fails for part in parts)
    run = kernel.build(parts)
    return Argument(call, _known(call, run) if kernel.fails else run, tuple(sorted(columns_of(call))), fails)


@dataclass(frozen=True, slots=True)
class Site:
    """Where an evaluation failed: the call, and the rows it was evaluated on."""

    call: Call
    run: Evaluate
    rows: Rows


def _known(call: Call, run: Evaluate) -> Evaluate:
    """A call whose errors record where they occurred."""

    def evaluate(rows: Rows) -> Vector:
        try:
            return run(rows)
        except EvaluationError as error:
            error.site = error.site or Site(call, run, rows)
            raise

    return evaluate


def locate(error: EvaluationError) -> None:
    """Add the failed expression and the values on which it failed to an error."""
    if isinstance(error.site, Site):
        site, error.site = error.site, None
        some = Rows({name: site.rows[name] for name in sorted(columns_of(site.call))}, site.rows.weights)
        at = culprits(len(some), lambda part: _fails(site.run, some.take(part)))
        error.expression = show_expr(site.call)
        error.values = {name: column[int(at[0])].as_py() for name, column in some.columns.items()}


def _fails(run: Evaluate, rows: Rows) -> bool:
    try:
        with np.errstate(all="ignore"):
            run(rows)
    except EvaluationError:
        return True
    return False


def culprits(count: int, fails: Callable[[Positions], bool]) -> Positions:
    """Of things that fail together, one that fails alone, or a set of which neither half fails."""
    there = np.arange(count)
    while len(there) > 1:
        halves = np.array_split(there, 2)
        there = next((half for half in halves if fails(half)), there[:0])
        if not len(there):
            return np.concatenate(halves)
    return there
