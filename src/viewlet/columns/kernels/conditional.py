"""CASE, IF, COALESCE, NULLIF: each row takes the value of one branch.

A branch that can fail is evaluated only on the rows that reach it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from viewlet.columns.arrays import Mask
from viewlet.columns.kernels.comparison import Compare, compare_by, is_comparable
from viewlet.columns.kernels.kernel import Argument, Kernel, Rule, merge, nulls, on_rows, truth, where_known
from viewlet.columns.kernels.vectors import Evaluate, Vector, anywhere, spread
from viewlet.columns.rows import Rows
from viewlet.plan.expr import Call, Expr
from viewlet.plan.types import Type


def _case(call: Call) -> Kernel | None:
    conditions, values = call.args[: len(call.args) // 2 * 2 : 2], _values(call.args)
    if any(c.type.name != "boolean" for c in conditions) or any(v.type != call.type for v in values):
        return None
    return Kernel(lambda parts: _choose(parts, call.type))


def _values(args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    return args[1::2] + (args[-1:] if len(args) % 2 else ())


def _if(call: Call) -> Kernel | None:
    return _case(call) if len(call.args) == 3 else None


def _choose(parts: tuple[Argument, ...], kind: Type) -> Evaluate:
    branches = tuple(zip(parts[0::2], parts[1::2], strict=False))
    otherwise = parts[-1] if len(parts) % 2 else None

    def evaluate(rows: Rows) -> Vector:
        length = len(rows)
        chosen = []
        for where, value in _reached(branches, otherwise, rows):
            if np.count_nonzero(where) == length:
                return value.run(rows)
            chosen.append((where, on_rows(value, rows, where) if value.fails else value.run(rows)))
        return merge(kind, length, chosen) if chosen else nulls(kind, length)

    return evaluate


def _reached(
    branches: tuple[tuple[Argument, Argument], ...], otherwise: Argument | None, rows: Rows
) -> Iterator[tuple[Mask, Argument]]:
    """The branches that any row takes, with their rows; a condition is evaluated where none before it held."""
    left = np.ones(len(rows), dtype=np.bool_)
    for condition, value in branches:
        held = left & truth(on_rows(condition, rows, left) if condition.fails else condition.run(rows))
        if anywhere(held):
            yield held, value
            left = left & ~held
            if not anywhere(left):
                return
    if otherwise is not None:
        yield left, otherwise


def _coalesce(call: Call) -> Kernel | None:
    if any(arg.type != call.type for arg in call.args):
        return None
    return Kernel(lambda parts: _first_present(parts, call.type))


def _first_present(parts: tuple[Argument, ...], kind: Type) -> Evaluate:
    def evaluate(rows: Rows) -> Vector:
        values, valid = parts[0].run(rows)
        if valid is None:
            return values, None
        length = len(rows)
        found = spread(valid, length)
        chosen = [(found, (values, None))]
        left = ~found
        for part in parts[1:]:
            if not anywhere(left):
                break
            values, valid = on_rows(part, rows, left) if part.fails else part.run(rows)
            taken = left if valid is None else left & valid
            chosen.append((taken, (values, None)))
            left = left & ~taken
        return merge(kind, length, chosen)

    return evaluate


def _nullif(call: Call) -> Kernel | None:
    kind = call.args[0].type
    if not is_comparable(kind) or call.args[1].type != kind or call.type != kind:
        return None
    return Kernel(lambda parts: _unless_equal(parts[0], parts[1], compare_by("eq", kind), kind))


def _unless_equal(left: Argument, right: Argument, equal: Compare, kind: Type) -> Evaluate:
    """The first value; NULL where the second equals it."""

    def evaluate(rows: Rows) -> Vector:
        values, valid = left.run(rows)
        other, known = where_known(right, rows, valid) if right.fails else right.run(rows)
        same = equal(values, other)
        same = same if known is None else same & known
        if not anywhere(same):
            return values, valid
        kept = spread(~same if valid is None else ~same & valid, len(rows))
        return merge(kind, len(rows), ((kept, (values, None)),))

    return evaluate


RULES: dict[str, Rule] = {"case": _case, "if": _if, "coalesce": _coalesce, "nullif": _nullif}
