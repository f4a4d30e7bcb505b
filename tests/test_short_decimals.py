"""Sums of short decimals, which Spark writes as sums of integers: kept as what they are, and equal to Spark's."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import viewlet
from tests.marks import THOROUGH
from viewlet.columns.exact.encoded_sums import decode, encode
from viewlet.columns.rows import Rows
from viewlet.engine.groups import compile_plan
from viewlet.errors import EvaluationError
from viewlet.plan.expr import Column, Frame, Named, Over, Reduce
from viewlet.plan.nodes import Aggregate, Input, Window
from viewlet.plan.sums import Sum
from viewlet.plan.types import Field, decimal

VIEWS = {
    "grouped": """SELECT g, sum(p) AS p, sum(w) AS w, sum(p) FILTER (WHERE w > 0) AS f, try_sum(w) AS t,
        sum(p) + sum(l) AS l, sum(p * p) AS q FROM t GROUP BY g""",
    "averages": "SELECT g, avg(p) AS p, avg(w) AS w, avg(p) FILTER (WHERE w > 0) AS f FROM t GROUP BY g",
    "average": "SELECT avg(p) AS p, avg(p) + avg(w) AS w FROM t",
    "moving": "SELECT id, avg(p) OVER (PARTITION BY g ORDER BY id ROWS 1 PRECEDING) AS p FROM t",
    "everything": "SELECT sum(w) AS w, sum(p) AS p, count(*) AS n FROM t",
    "different": "SELECT g, sum(DISTINCT p) AS p FROM t GROUP BY g",
    "running": "SELECT id, sum(p) OVER (PARTITION BY g ORDER BY id) AS p, sum(w) OVER (PARTITION BY g) AS w FROM t",
}


def row(id: int, g: int | None, p: str | None, w: int | None) -> tuple[Any, ...]:
    return (id, g, None if p is None else Decimal(p), None if w is None else Decimal(w), Decimal(id))


@pytest.mark.spark
def test_views_of_short_decimals(tmp_path: Path, spark: Any) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark, engine="inproc") as db:
        db.sql("CREATE TABLE t (id INT, g INT, p DECIMAL(5,2), w DECIMAL(8,0), l DECIMAL(12,3), PRIMARY KEY (id))")
        for name, query in VIEWS.items():
            db.create_view(name, query)
            assert "on Spark" not in db.explain(name)
        db.insert("t", [row(1, 1, "999.99", 99_999_999), row(2, 1, "-0.01", None), row(3, None, None, -7)])
        if THOROUGH:
            assert db.check().to_pylist() == []
        with db.epoch() as e:
            e.upsert("t", [row(1, 2, "-999.99", -99_999_999), row(4, 2, None, None), row(5, None, "0.50", 1)])
            e.insert("t", [row(6, 1, "999.99", 99_999_999), row(7, 1, "999.99", 99_999_999)])
        assert db.check().to_pylist() == []
        db.delete("t", [(1,), (3,), (5,)])
        assert db.check().to_pylist() == []
        assert sorted(db.table("grouped").rows(), key=str)[0][:4] == (
            1,
            Decimal("1999.97"),
            199_999_998,
            Decimal("1999.98"),
        )


W, TOTAL = decimal(8, 0), decimal(18, 0)
MANY = Rows({"w": pa.array([Decimal(99_999_999)], pa.decimal128(8, 0))}, np.array([10**10], dtype=np.int64))
"""As many of the largest value as just fit eighteen digits."""
EVEN_MORE = MANY.weighted(np.array([10**10 + 101], dtype=np.int64))


def test_a_kept_sum_that_has_no_room_is_refused() -> None:
    total = Sum("s", "sum", "w", None, W, TOTAL)

    def value(rows: Rows) -> Any:
        return decode((total,), encode(rows, (), (total,)), np.zeros(1, dtype=np.int64), 1)[1][0].to_pylist()

    assert value(MANY) == [99_999_999 * 10**10]
    with pytest.raises(EvaluationError, match="ARITHMETIC_OVERFLOW"):
        value(EVEN_MORE)


def test_a_recomputed_sum_that_has_no_room_is_refused() -> None:
    """Sums here are of so few rows that it takes a narrower type than Spark's to see it."""
    rows, w, narrow = Input(0, (Field("w", W),)), Column("w", W), decimal(9, 0)
    call = Named("s", Reduce("sum", (w,), narrow))
    over = Named("s", Over("sum", (w,), narrow, Frame("rows", None, None)))
    once = compile_plan(Aggregate(rows, (), (call,), (Field("s", narrow),)), keyed=False)
    each = compile_plan(Window(rows, (), (), (over,), (Field("w", W), Field("s", narrow))), keyed=False)
    for count in (10, 11):
        given = MANY.weighted(np.array([count], dtype=np.int64))
        if count == 10:
            assert once([given])["s"].to_pylist() == [999_999_990]
            assert each([given])["s"].to_pylist() == [999_999_990] * 10
        else:
            for function in (once, each):
                with pytest.raises(EvaluationError, match="ARITHMETIC_OVERFLOW"):
                    function([given])
