"""The promise, tested: each view compared with what Spark SQL returns for its definition on the current inputs.

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
"""What a query returns and what a view has, as far as they may differ."""


def differences_to_spark(warehouse: Warehouse, view: View, found: Rows) -> Rows:
    """The rows in which a view differs from what Spark SQL returns for its definition."""
    return _differences(warehouse, view, lambda frame: (Rows.of(to_arrow(frame, view.fields)), found))


def differences_by_tasks(warehouse: Warehouse, view: View, snapshot: Snapshot) -> Rows:
    """The same for a view that is not small, compared by tasks."""
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
            except PySparkException:  # which may depend on the order in which Spark asks conditions
                return _compared(careful(frame), narrow, view.fields)
    except PySparkException as error:
        raise as_evaluation_error(error, f"the definition of view {view.name}") from None


def recompute(warehouse: Warehouse, view: View) -> Rows:
    """What Spark SQL returns for a view's definition."""
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
    """Those rows that differ also where sums have room on the way, told by the columns that are no doubles."""
    from viewlet.spark.rewrite.reorder_sums import steady

    roomy = steady(frame) if any(map(has_double, fields)) else None
    if roomy is None:
        return rest
    wrong = {exact_key(row, fields) for row in values_of_rows(_beyond_rounding(roomy, narrow, fields, close_or_open))}
    return rest.filter(np.array([exact_key(row, fields) in wrong for row in values_of_rows(rest)], dtype=np.bool_))


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


def _slack(frame: DataFrame, expected: Rows, rest: Rows, fields: tuple[Field, ...]) -> Slack:
    """How far the values of the rows that differ move when the arguments of sums and moments do, by the tolerance."""
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
    """The rows with some keys, in order."""
    found: dict[str, list[Row]] = {}
    for row in sorted(values_of_rows(rows.expanded()), key=lambda row: [(v != v, v) for v in row if is_real(v)]):
        if (key := exact_key(row, fields)) in keys:
            found.setdefault(key, []).append(row)
    return found


def _distance(a: Any, b: Any) -> float:
    """How far two doubles are apart: without bound where one of them is NULL by rounding alone."""
    if is_real(a) and is_real(b):
        return abs(a - b) if math.isfinite(a) and math.isfinite(b) else 0.0
    return math.inf if is_real(a) != is_real(b) else 0.0
