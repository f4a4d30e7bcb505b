"""Three-valued logic, and tests for NULL and NaN.

false AND x is false and true OR x is true, whatever x is, so Spark does not evaluate x then.
"""

from __future__ import annotations

import numpy as np

from viewlet.columns.arrays import Mask
from viewlet.columns.kernels.kernel import Argument, Kernel, Rule, on_rows, strict
from viewlet.columns.kernels.vectors import ALL_ROWS, NO_ROWS, Evaluate, Vector
from viewlet.columns.rows import Rows
from viewlet.plan.expr import Call


def _are_booleans(call: Call) -> bool:
    return all(arg.type.name == "boolean" for arg in call.args)


def _and(call: Call) -> Kernel | None:
    return Kernel(lambda parts: _connect(parts[0], parts[1], decided_by=False)) if _are_booleans(call) else None


def _or(call: Call) -> Kernel | None:
    return Kernel(lambda parts: _connect(parts[0], parts[1], decided_by=True)) if _are_booleans(call) else None


def _connect(left: Argument, right: Argument, *, decided_by: bool) -> Evaluate:
    """AND is decided by false, OR by true."""
    run_left, run_right, lazy = left.run, right.run, right.fails

    def evaluate(rows: Rows) -> Vector:
        first = run_left(rows)
        second = on_rows(right, rows, ~_is(first, decided_by)) if lazy else run_right(rows)
        if first[1] is None and second[1] is None:
            return first[0] | second[0] if decided_by else first[0] & second[0], None
        return _kleene(first, second, decided_by)

    return evaluate


def _is(vector: Vector, value: bool) -> Mask:
    """Where a boolean has a given value, and is not NULL."""
    values, valid = vector
    held: Mask = values if value else ~values
    return held if valid is None else held & valid


def _kleene(first: Vector, second: Vector, decided_by: bool) -> Vector:
    decided = _is(first, decided_by) | _is(second, decided_by)
    agreed = _is(first, not decided_by) & _is(second, not decided_by)
    return decided if decided_by else agreed, decided | agreed


def _not(call: Call) -> Kernel | None:
    return strict(np.logical_not) if _are_booleans(call) else None


def _is_null(call: Call) -> Kernel | None:
    return Kernel(lambda parts: lambda rows: (_missing(parts[0].run(rows)[1]), None))


def _missing(valid: Mask | None) -> Mask:
    return NO_ROWS if valid is None else ~valid


def _is_not_null(call: Call) -> Kernel | None:
    return Kernel(lambda parts: lambda rows: (_present(parts[0].run(rows)[1]), None))


def _present(valid: Mask | None) -> Mask:
    return ALL_ROWS if valid is None else valid


def _is_nan(call: Call) -> Kernel | None:
    """Whether a number is NaN; false for NULL."""
    if call.args[0].type.name not in ("float", "double"):
        return None

    def build(parts: tuple[Argument, ...]) -> Evaluate:
        run = parts[0].run

        def evaluate(rows: Rows) -> Vector:
            values, valid = run(rows)
            nan = np.isnan(values)
            return nan if valid is None else nan & valid, None

        return evaluate

    return Kernel(build)


RULES: dict[str, Rule] = {
    "and": _and,
    "or": _or,
    "not": _not,
    "is_null": _is_null,
    "is_not_null": _is_not_null,
    "is_nan": _is_nan,
}
