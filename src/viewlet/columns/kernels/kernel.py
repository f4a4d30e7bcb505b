"""Building kernels: strict functions, three ways to treat failures, and lazy arguments.

Spark evaluates an argument only for rows that need it: the right side of `a + b` not where `a` is NULL, a branch of
CASE only where its condition holds. This matters only if an argument can fail, so `Argument.fails` decides at compile
time, and `on_rows` evaluates such an argument on the rows that reach it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, Positions
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.kernels.vectors import (
    DTYPES,
    NO_ROWS,
    Evaluate,
    Values,
    Vector,
    anywhere,
    both,
    is_flat,
    read_arrow,
    spread,
)
from viewlet.columns.rows import Rows
from viewlet.errors import EvaluationError
from viewlet.plan.expr import Call, Expr
from viewlet.plan.types import Type


@dataclass(frozen=True, slots=True)
class Argument:
    """A compiled expression: how to evaluate it, the columns it reads, and whether it can fail."""

    expr: Expr
    run: Evaluate
    reads: tuple[str, ...]
    fails: bool

    @property
    def type(self) -> Type:
        return self.expr.type


@dataclass(frozen=True, slots=True)
class Kernel:
    """How a call is evaluated, given its compiled arguments, and whether it can fail itself."""

    build: Callable[[tuple[Argument, ...]], Evaluate]
    fails: bool = False


Rule = Callable[[Call], Kernel | None]
"""Chooses the kernel for a call from its types; None if only Spark evaluates it exactly."""


class Failure(NamedTuple):
    """The rows on which a function fails, and Spark's error message."""

    where: Mask
    error: str


Result = tuple[Values, tuple[Failure, ...]]
Operation = Callable[..., Result]
"""Maps argument values to result values and the rows that fail, which may include rows with NULL."""


def strict(apply: Callable[..., Values], *, right_first: bool = False) -> Kernel:
    """A function of values that never fails; NULL where any argument is NULL."""
    return Kernel(lambda parts: _strict(parts, lambda valid, *values: (apply(*values), valid), right_first))


def raising(operation: Operation, *, right_first: bool = False) -> Kernel:
    """ANSI mode: a failing row fails the query."""

    def apply(valid: Mask | None, *values: Values) -> Vector:
        result, failures = operation(*values)
        for failure in failures:
            stop_at(failure.where, valid, failure.error)
        return result, valid

    return Kernel(lambda parts: _strict(parts, apply, right_first), fails=True)


def nulling(operation: Operation, *, right_first: bool = False) -> Kernel:
    """TRY mode: a failing row gives NULL."""

    def apply(valid: Mask | None, *values: Values) -> Vector:
        result, failures = operation(*values)
        for failure in failures:
            if anywhere(failure.where):
                valid = both(valid, ~failure.where)
        return result, valid

    return Kernel(lambda parts: _strict(parts, apply, right_first))


def wrapping(operation: Operation) -> Kernel:
    """Without ANSI mode, integers wrap around."""
    return strict(lambda *values: operation(*values)[0])


def unary(apply: Callable[[Mask | None, Values], Vector], *, fails: bool) -> Kernel:
    """A function of one argument that handles NULLs and failures itself."""
    return Kernel(lambda parts: _strict(parts, apply, False), fails=fails)


def stop_at(failing: Mask, valid: Mask | None, error: str) -> None:
    """Fail the query if a row fails whose arguments are not NULL."""
    if anywhere(failing) and (valid is None or anywhere(failing & valid)):
        raise EvaluationError(error)


def _strict(parts: tuple[Argument, ...], apply: Callable[..., Vector], right_first: bool) -> Evaluate:
    if len(parts) == 1:
        only = parts[0].run
        return lambda rows: _apply_one(apply, only(rows))
    if len(parts) == 2:
        return _strict_two(parts[0], parts[1], apply, right_first)

    def evaluate(rows: Rows) -> Vector:
        valid: Mask | None = None
        values = []
        for part in parts:
            value, known = where_known(part, rows, valid) if part.fails else part.run(rows)
            values.append(value)
            valid = both(valid, known)
        return apply(valid, *values)

    return evaluate


def _apply_one(apply: Callable[..., Vector], vector: Vector) -> Vector:
    return apply(vector[1], vector[0])


def _strict_two(left: Argument, right: Argument, apply: Callable[..., Vector], right_first: bool) -> Evaluate:
    first, second = (right, left) if right_first else (left, right)
    run_first, run_second, lazy = first.run, second.run, second.fails

    def evaluate(rows: Rows) -> Vector:
        a, known = run_first(rows)
        b, more = where_known(second, rows, known) if lazy else run_second(rows)
        valid = both(known, more)
        return apply(valid, b, a) if right_first else apply(valid, a, b)

    return evaluate


def where_known(part: Argument, rows: Rows, known: Mask | None) -> Vector:
    """A part that is needed only where others are not NULL: evaluated on all rows or, if that fails, on those."""
    if known is None:
        return part.run(rows)
    try:
        return part.run(rows)
    except EvaluationError:
        return on_rows(part, rows, known)


def on_rows(part: Argument, rows: Rows, wanted: Mask) -> Vector:
    """A part evaluated only on the wanted rows, NULL on the others."""
    length = len(rows)
    wanted = spread(wanted, length)
    at = np.flatnonzero(wanted)
    if len(at) == length:
        return part.run(rows)
    if not len(at):
        return nulls(part.type, length)
    indices = pa.array(at)
    some = Rows({name: rows.columns[name].take(indices) for name in part.reads}, rows.weights[at])
    return _scatter(part.run(some), at, length)


def nulls(kind: Type, length: int) -> Vector:
    """A vector of NULLs."""
    if is_flat(kind):
        return np.zeros(1, dtype=DTYPES.get(kind.name, "i8" if kind.name == "decimal" else "?")), NO_ROWS
    return pa.nulls(length, arrow_type(kind)), np.zeros(length, dtype=np.bool_)


def _scatter(vector: Vector, at: Positions, length: int) -> Vector:
    """Values put back at the rows they came from, NULL elsewhere."""
    values, known = vector
    valid = np.zeros(length, dtype=np.bool_)
    valid[at] = True if known is None else known
    if isinstance(values, pa.Array):
        place = np.zeros(length, dtype=np.int64)
        place[at] = np.arange(len(at))
        return values.take(pa.array(place, mask=~valid)), valid
    result: np.ndarray[Any, Any] = np.zeros(length, dtype=values.dtype)
    result[at] = values
    return result, valid


def truth(vector: Vector) -> Mask:
    """Where a boolean is true: neither false nor NULL."""
    values, valid = vector
    return values if valid is None else values & valid


def merge(kind: Type, length: int, choices: Sequence[tuple[Mask, Vector]]) -> Vector:
    """For each row the value of the choice whose mask (of full length) holds, NULL if none does."""
    if is_flat(kind):
        return _merge_flat(length, choices)
    return _merge_arrow(length, choices)


def _merge_flat(length: int, choices: Sequence[tuple[Mask, Vector]]) -> Vector:
    (where, (result, known)), *rest = choices
    valid = where if known is None else where & known
    for where, (values, known) in rest:
        result = np.where(where, values, result)
        valid = valid | (where if known is None else where & known)
    return result, None if np.count_nonzero(valid) == length else valid


def _merge_arrow(length: int, choices: Sequence[tuple[Mask, Vector]]) -> Vector:
    place = np.zeros(length, dtype=np.int64)
    chosen = np.zeros(length, dtype=np.bool_)
    for i, (where, _) in enumerate(choices):
        at = np.flatnonzero(where)
        place[at] = at + i * length
        chosen[at] = True
    together = pa.concat_arrays([values for _, (values, _) in choices])
    missing = None if chosen.all() else ~chosen
    return read_arrow(together.take(pa.array(place, mask=missing)))
