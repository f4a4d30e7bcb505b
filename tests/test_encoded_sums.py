"""Sums as integers: the same whatever the order, and what Python's exact arithmetic says."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.exact.encoded_sums import decode, encode
from viewlet.columns.rows import Rows, group
from viewlet.errors import EvaluationError
from viewlet.plan.sums import SLOT, Sum, sum_columns
from viewlet.plan.types import BIGINT, DOUBLE, INT, Type, decimal

DOUBLES = st.floats(allow_nan=True, allow_infinity=True)


def rows_of(values: list[Any], kind: Type, weights: list[int] | None = None, keys: list[int] | None = None) -> Rows:
    table = pa.table({"k": pa.array(keys or [0] * len(values), pa.int64()), "x": pa.array(values, arrow_type(kind))})
    return Rows.of(table, None if weights is None else np.array(weights, dtype=np.int64))


def total_of(rows: Rows, total: Sum) -> Any:
    """The decoded sum of rows of one key."""
    state = encode(rows, ("k",), (total,))
    first, groups = group([state["k"]], len(state))
    _, (values,) = decode((total,), state, groups, len(first))
    return values.to_pylist()[0] if len(values) else None


def scaled(digits: int, scale: int) -> Decimal:
    return Decimal(digits).scaleb(-scale, Context(prec=80))


def a_sum(function: str, argument: Type, result: Type) -> Sum:
    return Sum("s", function, "x", None, argument, result)


@given(st.lists(st.one_of(st.none(), DOUBLES), min_size=1, max_size=30))
def test_a_double_sum_is_the_double_nearest_to_the_exact_sum(values: list[float | None]) -> None:
    found = total_of(rows_of(values, DOUBLE), a_sum("sum", DOUBLE, DOUBLE))
    there = [v for v in values if v is not None]
    if not there:
        assert found is None
    elif all(map(math.isfinite, there)):
        exact = sum(map(Fraction, there))
        try:
            expected = float(exact)
        except OverflowError:
            expected = math.inf if exact > 0 else -math.inf
        assert found == expected
    else:
        expected = sum(v for v in there if not math.isfinite(v))
        assert found == expected or (math.isnan(found) and math.isnan(expected))


@given(st.lists(DOUBLES, min_size=1, max_size=20), st.lists(DOUBLES, max_size=20))
def test_what_enters_and_leaves_leaves_no_trace(stay: list[float], pass_by: list[float]) -> None:
    total = a_sum("sum", DOUBLE, DOUBLE)
    both = rows_of(stay + pass_by + pass_by, DOUBLE, [1] * len(stay) + [1] * len(pass_by) + [-1] * len(pass_by))
    alone = total_of(rows_of(stay, DOUBLE), total)
    found = total_of(both, total)
    assert found == alone or (math.isnan(found) and math.isnan(alone))


@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), max_size=20))
def test_integer_sums_are_exact_or_overflow(values: list[int | None]) -> None:
    if not values:
        return
    there = [v for v in values if v is not None]
    expected = sum(there) if there else None
    if expected is not None and not -(2**63) <= expected < 2**63:
        with pytest.raises(EvaluationError, match="ARITHMETIC_OVERFLOW"):
            total_of(rows_of(values, BIGINT), a_sum("sum", BIGINT, BIGINT))
    else:
        assert total_of(rows_of(values, BIGINT), a_sum("sum", BIGINT, BIGINT)) == expected


@pytest.mark.parametrize("precision", [5, 9, 10, 18, 19, 28, 29, 38])
@given(data=st.data())
def test_decimal_sums_and_averages_are_exact(precision: int, data: st.DataObject) -> None:
    limit = 10**precision // 4 if precision == 38 else 10**precision - 1
    digits = data.draw(st.lists(st.integers(-limit, limit), min_size=1, max_size=3))
    values = [scaled(d, 2) for d in digits]
    kind, summed = decimal(precision, 2), decimal(min(38, precision + 10), 2)
    assert total_of(rows_of(values, kind), a_sum("sum", kind, summed)) == scaled(sum(digits), 2)
    if precision <= 34:
        found = total_of(rows_of(values, kind), a_sum("avg", kind, decimal(precision + 4, 6)))
        exact = Fraction(sum(digits) * 10**4, len(digits))
        half_up = math.floor(abs(exact) + Fraction(1, 2)) * (1 if exact >= 0 else -1)
        assert found == scaled(half_up, 6)


def test_groups_counts_and_filters() -> None:
    sums = (
        Sum("n", "count", None, None, None, BIGINT),
        Sum("c", "count", "x", None, INT, BIGINT),
        Sum("w", "count", None, "p", None, BIGINT),
        Sum("a", "avg", "x", "p", INT, DOUBLE),
    )
    table = pa.table({"k": ["a", "a", "b"], "x": pa.array([1, None, 3], pa.int32()), "p": [True, True, None]})
    state = encode(Rows.of(table), ("k",), sums)
    assert set(state.names) == {"k", *(c for s in sums for c in sum_columns(s))}
    assert SLOT not in state.names
    first, groups = group([state["k"]], len(state))
    counts, values = decode(sums, state, groups, len(first))
    found = dict(
        zip(
            state["k"].take(pa.array(first)).to_pylist(),
            zip(counts, *(v.to_pylist() for v in values), strict=True),
            strict=True,
        )
    )
    assert found == {"a": (2, 2, 1, 2, 1.0), "b": (1, 1, 1, 0, None)}
