"""The difference between two results: rows that only one of them has, where doubles may differ by rounding."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from viewlet.columns.rows import Rows
from viewlet.plan.types import Field

TOLERANCE = 1e-9
"""For doubles, relative to the result or, where sums and moments cancel, to the input values."""
Row = tuple[Any, ...]
Slack = dict[str, list[float]]
"""For rows as Spark computes them, as texts: how far each value may be off."""
Close = Callable[[Any, Any, float], bool]
"""Whether Spark's value and a view's value are the same, given how far they may be off."""


def close(a: Any, b: Any, slack: float = 0.0) -> bool:
    """Whether two values are equal; doubles, within the tolerance or the slack."""
    if isinstance(a, float) and isinstance(b, float):
        a, b = (math.copysign(sys.float_info.max, v) if math.isinf(v) else v for v in (a, b))
        return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=slack) or (math.isnan(a) and math.isnan(b))
    if slack and (a is None) != (b is None):
        return slack >= abs(b if a is None else a)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(close(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def close_or_open(a: Any, b: Any, slack: float = 0.0) -> bool:
    """The same, where NULL also matches values that Spark leaves open: ∞ or NaN."""
    return (a is None and isinstance(b, float) and not math.isfinite(b)) or close(a, b, slack)


def differences(expected: Rows, found: Rows, fields: tuple[Field, ...], alike: Close = close) -> Rows:
    """expected − found, after pairing rows that differ only by rounding."""
    rest = Rows.concat([expected.rename(found.names), found.negated()]).consolidate()
    if not len(rest) or not any(has_double(f) for f in fields):
        return rest
    return without_close_pairs(rest, fields, alike, {})


def has_double(f: Field) -> bool:
    return "double" in str(f.type) or "float" in str(f.type)


def without_close_pairs(rest: Rows, fields: tuple[Field, ...], alike: Close, slack: Slack) -> Rows:
    """Pair rows that are equal in all other columns and close in doubles."""
    rows = sorted(
        zip(values_of_rows(rest), rest.weights.tolist(), range(len(rest)), strict=True), key=lambda r: repr(r[0])
    )
    left = {at: weight for _, weight, at in rows}
    found: dict[str, list[tuple[Row, int]]] = {}
    for row, weight, at in rows:
        if weight < 0:
            found.setdefault(exact_key(row, fields), []).append((row, at))
    for row, weight, at in rows:
        for other, there in found.get(exact_key(row, fields), ()) if weight > 0 else ():
            if left[at] and left[there] and _close_rows(row, other, alike, slack):
                paired = min(left[at], -left[there])
                left[at], left[there] = left[at] - paired, left[there] + paired
    weights = np.array([left[i] for i in range(len(rest))], dtype=np.int64)
    return rest.weighted(weights).filter(weights != 0)


def _close_rows(row: Row, other: Row, alike: Close, slack: Slack) -> bool:
    return all(alike(a, b, by) for a, b, by in zip(row, other, slack.get(repr(row), [0.0] * len(row)), strict=True))


def is_real(value: Any) -> bool:
    return isinstance(value, float)


def values_of_rows(rows: Rows) -> list[Row]:
    return list(zip(*(column.to_pylist() for column in rows.columns.values()), strict=True))


def exact_key(row: Row, fields: tuple[Field, ...]) -> str:
    """The columns of a row that are not doubles."""
    return repr([v for v, f in zip(row, fields, strict=True) if not has_double(f)])
