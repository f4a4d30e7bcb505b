"""The promise, tested: each view against what Spark SQL returns for its definition on the current inputs.

Spark runs the user's own text on the rows of the tables. Only where Spark leaves the answer open (ties under
LIMIT, row_number, …) is it the definition with the ties decided that Spark runs; and where functions of users are
called, the definition with the functions that it was made with, whether or not they are registered here.

Doubles are compared to 1e-9. Spark's own sums and moments round on the way, so where values cancel it may be off by
more; then Spark is asked again, with every argument of such a function changed by up to 1e-9 of itself, and a
difference that such a change makes is rounding (spark/rewrite/perturb.py). Where a sum is beyond the largest double on the way
but not at the end, Spark's answer may be ∞ or NaN, as the rows happen to come; then Spark is asked once more, with sums
that have room (spark/rewrite/reorder_sums.py), and a view that is equal to that is right.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from viewlet.columns.fresh_names import free_name
from viewlet.columns.rows import Rows
from viewlet.plan.types import Field
from viewlet.spark.fragments.spark_operators import as_evaluation_error
from viewlet.spark.session.arrow_frames import to_arrow
from viewlet.warehouse.catalog import View
from viewlet.warehouse.relation import Relation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from viewlet.warehouse.warehouse import Warehouse

TOLERANCE = 1e-9
"""Relative, for doubles: of the result or, where sums and moments of doubles cancel, of the values that went in."""
SEEDS = (1, 2)
Row = tuple[Any, ...]
Slack = dict[str, list[float]]
"""For rows as Spark computes them, as texts: how far each value may be off."""
Close = Callable[[Any, Any, float], bool]
"""Whether a value as Spark computes it, and one of a view, are the same, given how far they may be off."""


def check(warehouse: Warehouse, names: list[str]) -> pa.Table:
    """The rows in which views differ from their definitions: `expected` but missing, or `found` but wrong.

    Of one view, its columns; of several, whose columns may not go together, the rows as texts.
    """
    wrong = [(name, _differences(warehouse, warehouse.catalog.view(name))) for name in names]
    taken = warehouse.catalog.view(names[0]).program.columns if len(names) == 1 else ()
    view, which = (free_name(label, [f.name for f in taken]) for label in ("_view", "_which"))
    labels = {
        view: pa.array([name for name, rows in wrong for _ in range(len(rows))], pa.string()),
        which: pa.array(["expected" if w > 0 else "found" for _, rows in wrong for w in rows.weights], pa.string()),
    }
    if len(wrong) == 1:
        return pa.table({**labels, **wrong[0][1].columns})
    texts = [str(row) for _, rows in wrong for row in rows.arrow().to_pylist()]
    return pa.table({**labels, "row": pa.array(texts, pa.string())})


def _differences(warehouse: Warehouse, view: View) -> Rows:
    from pyspark.errors import PySparkException

    from viewlet.spark.rewrite.guard_failures import careful
    from viewlet.spark.session.children import active

    try:
        frame = recomputed(warehouse, view)
        with active(frame.sparkSession):
            try:
                return _compared(warehouse, view, frame)
            except PySparkException:  # which may depend on the order in which Spark asks conditions
                return _compared(warehouse, view, careful(frame))
    except PySparkException as error:
        raise as_evaluation_error(error, f"the definition of view {view.name}") from None


def _compared(warehouse: Warehouse, view: View, frame: DataFrame) -> Rows:
    """The rows in which a view differs from a query."""
    found = Relation(warehouse, view).bag()
    rest = _beyond_rounding(frame, found, view.fields, close)
    return rest if not len(rest) else _beyond_overflow(frame, found, rest, view.fields)


def _beyond_rounding(frame: DataFrame, found: Rows, fields: tuple[Field, ...], alike: Close) -> Rows:
    """The rows in which a view differs from a query by more than rounding."""
    expected = Rows.of(to_arrow(frame, fields))
    rest = differences(expected, found, fields, alike)
    if not len(rest) or not any(map(_has_double, fields)):
        return rest
    return _without_close_pairs(rest, fields, alike, _slack(frame, expected, rest, fields))


def _beyond_overflow(frame: DataFrame, found: Rows, rest: Rows, fields: tuple[Field, ...]) -> Rows:
    """Those rows that differ also where sums have room on the way, told by the columns that are no doubles."""
    from viewlet.spark.rewrite.reorder_sums import steady

    roomy = steady(frame) if any(map(_has_double, fields)) else None
    if roomy is None:
        return rest
    wrong = {_key(row, fields) for row in _values(_beyond_rounding(roomy, found, fields, close_or_open))}
    return rest.filter(np.array([_key(row, fields) in wrong for row in _values(rest)], dtype=np.bool_))


def recomputed(warehouse: Warehouse, view: View) -> DataFrame:
    """The definition, run by Spark under its settings on the current rows of the tables that it reads."""
    from viewlet.spark.fragments.fragments import run
    from viewlet.spark.session.children import active, clone
    from viewlet.spark.session.session import FAULTY_RULES, leave_out

    with active(clone(warehouse.sessions.under(view.settings))) as spark:
        leave_out(spark, FAULTY_RULES)
        if view.definition is not None and "whole" not in view.fragments:
            return warehouse.reading.query(view.definition, spark=spark)
        snapshot = warehouse.store.snapshot()
        return run(spark, view.fragment("whole"), [warehouse.reading.frame(name, snapshot) for name in view.inputs])


def close(a: Any, b: Any, slack: float = 0.0) -> bool:
    """Whether two values are equal, doubles within the tolerance or within what they may be off."""
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
    """The same, where NULL also stands for what Spark leaves open: ∞ or NaN."""
    return (a is None and isinstance(b, float) and not math.isfinite(b)) or close(a, b, slack)


def differences(expected: Rows, found: Rows, fields: tuple[Field, ...], alike: Close = close) -> Rows:
    """expected − found, after pairing rows that differ only by rounding."""
    rest = Rows.concat([expected.rename(found.names), found.negated()]).consolidate()
    if not len(rest) or not any(_has_double(f) for f in fields):
        return rest
    return _without_close_pairs(rest, fields, alike, {})


def _has_double(f: Field) -> bool:
    return "double" in str(f.type) or "float" in str(f.type)


def _without_close_pairs(rest: Rows, fields: tuple[Field, ...], alike: Close, slack: Slack) -> Rows:
    """Pair rows that are alike in all other columns and close in the doubles."""
    rows = sorted(zip(_values(rest), rest.weights.tolist(), range(len(rest)), strict=True), key=lambda r: repr(r[0]))
    left = {at: weight for _, weight, at in rows}
    found: dict[str, list[tuple[Row, int]]] = {}
    for row, weight, at in rows:
        if weight < 0:
            found.setdefault(_key(row, fields), []).append((row, at))
    for row, weight, at in rows:
        for other, there in found.get(_key(row, fields), ()) if weight > 0 else ():
            if left[at] and left[there] and _close_rows(row, other, alike, slack):
                paired = min(left[at], -left[there])
                left[at], left[there] = left[at] - paired, left[there] + paired
    weights = np.array([left[i] for i in range(len(rest))], dtype=np.int64)
    return rest.weighted(weights).filter(weights != 0)


def _close_rows(row: Row, other: Row, alike: Close, slack: Slack) -> bool:
    return all(alike(a, b, by) for a, b, by in zip(row, other, slack.get(repr(row), [0.0] * len(row)), strict=True))


def _slack(frame: DataFrame, expected: Rows, rest: Rows, fields: tuple[Field, ...]) -> Slack:
    """How far the values of the rows that differ move when the arguments of sums and moments do, by the tolerance."""
    from viewlet.spark.rewrite.perturb import perturbed

    keys = {_key(row, fields) for row in _values(rest)}
    rows, result = _by_key(expected, fields, keys), dict[str, list[float]]()
    for seed in SEEDS:
        moved = perturbed(frame, TOLERANCE, seed)
        others = {} if moved is None else _by_key(Rows.of(to_arrow(moved, fields)), fields, keys)
        for key in others:
            if len(others[key]) == len(rows.get(key, ())):
                for row, other in zip(rows[key], others[key], strict=True):
                    slack = result.setdefault(repr(row), [0.0] * len(row))
                    slack[:] = [max(s, _distance(a, b)) for s, a, b in zip(slack, row, other, strict=True)]
    return result


def _by_key(rows: Rows, fields: tuple[Field, ...], keys: set[str]) -> dict[str, list[Row]]:
    """The rows with some keys, in order."""
    found: dict[str, list[Row]] = {}
    for row in sorted(_values(rows.expanded()), key=lambda row: [(v != v, v) for v in row if _is_real(v)]):
        if (key := _key(row, fields)) in keys:
            found.setdefault(key, []).append(row)
    return found


def _distance(a: Any, b: Any) -> float:
    """How far two doubles are apart: without bound where one of them is NULL by rounding alone."""
    if _is_real(a) and _is_real(b):
        return abs(a - b) if math.isfinite(a) and math.isfinite(b) else 0.0
    return math.inf if _is_real(a) != _is_real(b) else 0.0


def _is_real(value: Any) -> bool:
    return isinstance(value, float)


def _values(rows: Rows) -> list[Row]:
    return list(zip(*(column.to_pylist() for column in rows.columns.values()), strict=True))


def _key(row: Row, fields: tuple[Field, ...]) -> str:
    """The columns of a row that are no doubles."""
    return repr([v for v, f in zip(row, fields, strict=True) if not _has_double(f)])
