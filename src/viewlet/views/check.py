"""`check`: compares a view with what Spark SQL returns for its definition on the current inputs.

Spark runs the user's own text on the tables. There are two exceptions: if Spark leaves the answer open (ties under
LIMIT, row_number, …), it runs the definition with the ties decided; and if the definition calls user-defined functions,
it runs the stored plan, with the functions that it was defined with.

Doubles are compared to 1e-9. Spark's sums and moments round at each step, so where values cancel they can be off by
more. In that case the query runs again with every argument of such a function perturbed by up to a relative 1e-9, and
differences no larger than what this causes count as rounding (spark/rewrite/perturb.py). If a partial sum exceeds the
largest double but the sum does not, Spark may return ∞ or NaN, depending on the order of rows. In that case the query
runs once more with sums that do not overflow on the way (spark/rewrite/reorder_sums.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from viewlet.columns.differences import (
    TOLERANCE,
    Close,
    Row,
    Slack,
    close,
    close_or_open,
    differences,
    exact_key,
    has_double,
    is_real,
    values_of_rows,
    without_close_pairs,
)
from viewlet.columns.rows import Rows
from viewlet.plan.types import Field
from viewlet.spark.fragments.spark_operators import as_evaluation_error
from viewlet.spark.session.arrow_frames import to_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from viewlet.store import Snapshot
    from viewlet.views.view import View
    from viewlet.warehouse.warehouse import Warehouse

SEEDS = (1, 2)


Narrow = Callable[["DataFrame"], tuple[Rows, Rows]]
"""Returns the rows of a query and of a view, at least those in which they may differ."""


def differences_to_spark(warehouse: Warehouse, view: View, found: Rows) -> Rows:
    """The rows in which a view differs from what Spark SQL returns for its definition."""
    return _differences(warehouse, view, lambda frame: (Rows.of(to_arrow(frame, view.fields)), found))


def differences_by_tasks(warehouse: Warehouse, view: View, snapshot: Snapshot) -> Rows:
    """The same for a large view, compared by tasks."""
    from viewlet.views.check_by_tasks import narrowed

    there, size = warehouse.reading.frame(view.name, snapshot), snapshot.contents(view.name).bytes
    return _differences(warehouse, view, lambda frame: narrowed(frame, there, size, view.fields))


def _differences(warehouse: Warehouse, view: View, narrow: Narrow) -> Rows:
    from pyspark.errors import PySparkException

    from viewlet.spark.rewrite.guard_failures import careful
    from viewlet.spark.session.children import active

    try:
        frame = recomputed(warehouse, view)
        with active(frame.sparkSession):
            try:
                return _compared(frame, narrow, view.fields)
            except PySparkException:  # which may depend on the order in which Spark evaluates conditions
                return _compared(careful(frame), narrow, view.fields)
    except PySparkException as error:
        raise as_evaluation_error(error, f"the definition of view {view.name}") from None


def recompute(warehouse: Warehouse, view: View) -> Rows:
    """The rows that Spark SQL returns for a view's definition."""
    return Rows.of(to_arrow(recomputed(warehouse, view), view.fields))


def _compared(frame: DataFrame, narrow: Narrow, fields: tuple[Field, ...]) -> Rows:
    """The rows in which a view differs from a query."""
    rest = _beyond_rounding(frame, narrow, fields, close)
    return rest if not len(rest) else _beyond_overflow(frame, narrow, rest, fields)


def _beyond_rounding(frame: DataFrame, narrow: Narrow, fields: tuple[Field, ...], alike: Close) -> Rows:
    """The rows in which a view differs from a query by more than rounding."""
    expected, found = narrow(frame)
    rest = differences(expected, found, fields, alike)
    if not len(rest) or not any(map(has_double, fields)):
        return rest
    return without_close_pairs(rest, fields, alike, _slack(frame, expected, rest, fields))


def _beyond_overflow(frame: DataFrame, narrow: Narrow, rest: Rows, fields: tuple[Field, ...]) -> Rows:
    """The rows that still differ if partial sums do not overflow, matched by their columns other than doubles."""
    from viewlet.spark.rewrite.reorder_sums import steady

    roomy = steady(frame) if any(map(has_double, fields)) else None
    if roomy is None:
        return rest
    wrong = {exact_key(row, fields) for row in values_of_rows(_beyond_rounding(roomy, narrow, fields, close_or_open))}
    return rest.filter(np.array([exact_key(row, fields) in wrong for row in values_of_rows(rest)], dtype=np.bool_))


def recomputed(warehouse: Warehouse, view: View) -> DataFrame:
    """The definition as a DataFrame over the current rows of its tables, under the view's settings."""
    from viewlet.spark.fragments.fragments import run
    from viewlet.spark.session.children import active, clone
    from viewlet.spark.session.session import FAULTY_RULES, leave_out

    with active(clone(warehouse.sessions.under(view.settings))) as spark:
        leave_out(spark, FAULTY_RULES)
        if view.definition is not None and "whole" not in view.fragments:
            return warehouse.reading.query(view.definition, spark=spark)
        snapshot = warehouse.store.snapshot()
        return run(spark, view.fragment("whole"), [warehouse.reading.frame(name, snapshot) for name in view.inputs])


def _slack(frame: DataFrame, expected: Rows, rest: Rows, fields: tuple[Field, ...]) -> Slack:
    """How far values of differing rows move when arguments of sums and moments are perturbed by the tolerance."""
    from viewlet.spark.rewrite.perturb import perturbed

    keys = {exact_key(row, fields) for row in values_of_rows(rest)}
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
    """The rows with these keys, in order."""
    found: dict[str, list[Row]] = {}
    for row in sorted(values_of_rows(rows.expanded()), key=lambda row: [(v != v, v) for v in row if is_real(v)]):
        if (key := exact_key(row, fields)) in keys:
            found.setdefault(key, []).append(row)
    return found


def _distance(a: Any, b: Any) -> float:
    """The distance of two doubles: infinite if only one is NULL, 0 if either is not finite."""
    if is_real(a) and is_real(b):
        return abs(a - b) if math.isfinite(a) and math.isfinite(b) else 0.0
    return math.inf if is_real(a) != is_real(b) else 0.0
