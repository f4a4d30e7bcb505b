"""The promise, tested: each view against what Spark SQL returns for its definition on the current inputs.

Spark runs the user's own text on the rows of the tables. Only where Spark leaves the answer open (ties under
LIMIT, row_number, …) is it the definition with the ties decided that Spark runs; and where functions of users are
called, the definition with the functions that it was made with, whether or not they are registered here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from viewlet.catalog import View
from viewlet.catalyst.frames import to_arrow
from viewlet.columns.rows import Rows
from viewlet.engine.frames import frame_of
from viewlet.engine.onspark import as_evaluation_error
from viewlet.plan.types import Field
from viewlet.reading import Relation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from viewlet.database import Database

TOLERANCE = 1e-9
"""Relative, for doubles: Spark adds them in an order of its own."""


def check(database: Database, names: list[str]) -> pa.Table:
    """The rows in which views differ from their definitions: `expected` but missing, or `found` but wrong.

    Of one view, its columns; of several, whose columns may not go together, the rows as texts.
    """
    wrong = [(name, _differences(database, database.catalog.view(name))) for name in names]
    labels = {
        "_view": pa.array([name for name, rows in wrong for _ in range(len(rows))], pa.string()),
        "_which": pa.array(["expected" if w > 0 else "found" for _, rows in wrong for w in rows.weights], pa.string()),
    }
    if len(wrong) == 1:
        return pa.table({**labels, **wrong[0][1].columns})
    texts = [str(row) for _, rows in wrong for row in rows.arrow().to_pylist()]
    return pa.table({**labels, "row": pa.array(texts, pa.string())})


def _differences(database: Database, view: View) -> Rows:
    from pyspark.errors import PySparkException

    try:
        expected = Rows.of(to_arrow(recomputed(database, view), view.fields))
    except PySparkException as error:
        raise as_evaluation_error(error, f"the definition of view {view.name}") from None
    return differences(expected, Relation(database, view).bag(), view.fields)


def recomputed(database: Database, view: View) -> DataFrame:
    """The definition, run by Spark on the current rows of the tables that it reads."""
    from viewlet.catalyst.fragments import run

    if view.definition is not None and "whole" not in view.fragments:
        return database.reading.query(view.definition)
    spark, snapshot = database.session, database.store.snapshot()
    frames = [frame_of(spark, database.catalog.find(name), snapshot) for name in view.inputs]
    return run(spark, view.fragments["whole"], frames)


def differences(expected: Rows, found: Rows, fields: tuple[Field, ...]) -> Rows:
    """expected − found, after pairing rows that differ only by rounding."""
    rest = Rows.concat([expected.rename(found.names), found.negated()]).consolidate()
    if not len(rest) or not any(_has_double(f) for f in fields):
        return rest
    return _without_close_pairs(rest, fields)


def _has_double(f: Field) -> bool:
    return "double" in str(f.type) or "float" in str(f.type)


def _without_close_pairs(rest: Rows, fields: tuple[Field, ...]) -> Rows:
    """Pair rows that are alike in all other columns and close in the doubles."""
    columns = [c.to_pylist() for c in rest.columns.values()]
    rows = sorted(
        zip(*columns, rest.weights.tolist(), range(len(rest)), strict=True), key=lambda r: _sort_key(r, fields)
    )
    left = {True: [r for r in rows if r[-2] > 0], False: [r for r in rows if r[-2] < 0]}
    open_ = [[*r] for r in left[False]]
    kept: dict[int, int] = {}
    for row in left[True]:
        weight = row[-2]
        for other in open_:
            if weight and other[-2] and all(close(a, b) for a, b in zip(row[:-2], other[:-2], strict=True)):
                paired = min(weight, -other[-2])
                weight, other[-2] = weight - paired, other[-2] + paired
        kept[row[-1]] = weight
    kept |= {other[-1]: other[-2] for other in open_}
    weights = np.array([kept[i] for i in range(len(rest))], dtype=np.int64)
    return rest.weighted(weights).filter(weights != 0)


def _sort_key(row: tuple[Any, ...], fields: tuple[Field, ...]) -> str:
    return repr([v for v, f in zip(row, fields, strict=False) if not _has_double(f)])


def close(a: Any, b: Any) -> bool:
    """Whether two values are equal, doubles within the tolerance."""
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=TOLERANCE) or (math.isnan(a) and math.isnan(b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(close(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)
