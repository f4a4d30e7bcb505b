"""Moments read off sums of powers: what exact arithmetic says, whatever came and went."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewlet.columns.exact.encoded_sums import decode, encode
from viewlet.columns.rows import Rows, group
from viewlet.errors import EvaluationError
from viewlet.plan.sums import POWERS, Sum
from viewlet.plan.types import DOUBLE

Pair = tuple[float | None, float | None]
TAME = st.one_of(
    st.integers(-5, 5).map(float), st.floats(-1e60, 1e60, allow_nan=False), st.sampled_from([1e15, 1e15 + 1])
)
ANY = st.floats(allow_nan=True, allow_infinity=True)
PAIRS = st.lists(st.tuples(st.none() | TAME, st.none() | TAME), min_size=1, max_size=12)
TWO = ("covar_pop", "covar_samp", "corr", "regr_sxy", "regr_slope", "regr_intercept", "regr_r2")


def moment(function: str, name: str = "m") -> Sum:
    second = "y" if function.removeprefix("wrapping_").partition("[")[0] in TWO else None
    return Sum(name, function, "x", None, DOUBLE, DOUBLE, second, POWERS[function], name)


def value_of(pairs: list[Pair], function: str, weights: list[int] | None = None) -> Any:
    """A moment of some rows, each as often as its weight says."""
    x, y = ([p[i] for p in pairs] for i in (0, 1))
    table = pa.table({"k": pa.array([0] * len(pairs)), "x": pa.array(x, pa.float64()), "y": pa.array(y, pa.float64())})
    rows = Rows.of(table, None if weights is None else np.array(weights, dtype=np.int64))
    state = encode(rows, ("k",), (moment(function),))
    first, groups = group([state["k"]], len(state))
    _, (values,) = decode((moment(function),), state, groups, len(first))
    return values.to_pylist()[0] if len(values) else None


def central(pairs: list[Pair], i: int, j: int) -> tuple[int, Fraction]:
    """How many rows count, and Σ(x − x̄)ⁱ(y − ȳ)ʲ, exactly."""
    there = [(Fraction(x), Fraction(y)) for x, y in pairs if x is not None and y is not None]
    n = len(there)
    mean = [sum((p[at] for p in there), Fraction(0)) / max(n, 1) for at in (0, 1)]
    return n, sum(((x - mean[0]) ** i * (y - mean[1]) ** j for x, y in there), Fraction(0))


def alone(pairs: list[Pair]) -> list[Pair]:
    return [(x, x) for x, _ in pairs]


@given(PAIRS)
def test_variances_are_rounded_once(pairs: list[Pair]) -> None:
    n, spread = central(alone(pairs), 2, 0)
    assert value_of(pairs, "regr_sxx") == (float(spread) if n else None)
    assert value_of(pairs, "var_pop") == (float(spread) / n if n else None)
    assert value_of(pairs, "var_samp") == (float(spread) / (n - 1) if n > 1 else None)
    assert value_of(pairs, "stddev_pop") == (math.sqrt(float(spread) / n) if n else None)
    assert value_of(pairs, "stddev_samp") == (math.sqrt(float(spread) / (n - 1)) if n > 1 else None)


@given(PAIRS)
def test_shapes(pairs: list[Pair]) -> None:
    (n, m2), (_, m3), (_, m4) = (central(alone(pairs), i, 0) for i in (2, 3, 4))
    spread = float(m2)
    for function, scale, high in (
        ("skewness", math.sqrt(spread * spread * spread), m3),
        ("kurtosis", spread * spread, m4),
    ):
        if spread == 0:
            assert value_of(pairs, function) is None
        elif scale == 0:
            with pytest.raises(EvaluationError, match="DIVIDE_BY_ZERO"):
                value_of(pairs, function)
            assert value_of(pairs, f"wrapping_{function}") is None
        elif function == "skewness":
            assert value_of(pairs, function) == pytest.approx(math.sqrt(n) * float(high) / scale, rel=1e-13)
        else:
            assert value_of(pairs, function) + 3.0 == pytest.approx(n * float(high) / scale, rel=1e-13)


@pytest.mark.slow
@given(PAIRS)
def test_covariances_and_regressions(pairs: list[Pair]) -> None:
    (n, both), (_, x2), (_, y2) = (central(pairs, *p) for p in ((1, 1), (2, 0), (0, 2)))
    sxy, sxx, syy = float(both), float(x2), float(y2)
    assert value_of(pairs, "covar_pop") == (sxy / n if n else None)
    assert value_of(pairs, "covar_samp") == (sxy / (n - 1) if n > 1 else None)
    assert value_of(pairs, "regr_sxy") == (sxy if n else None)
    assert value_of(pairs, "regr_slope") == (sxy / syy if syy else None)  # of x over y: the first is the dependent one
    if not syy:
        assert value_of(pairs, "regr_r2") is None
    else:
        assert value_of(pairs, "regr_r2") == pytest.approx(sxy * sxy / syy / sxx if sxx else 1.0, rel=1e-14)
    spread = math.sqrt(sxx * syy)
    if n > 1 and not spread:
        assert value_of(pairs, "wrapping_corr") is None
    else:
        assert value_of(pairs, "corr") == (pytest.approx(sxy / spread, rel=1e-14) if n > 1 else None)


@given(PAIRS)
def test_the_line_meets_zero_where_it_does(pairs: list[Pair]) -> None:
    there = [(Fraction(x), Fraction(y)) for x, y in pairs if x is not None and y is not None]
    (n, both), (_, y2) = central(pairs, 1, 1), central(pairs, 0, 2)
    found = value_of(pairs, "regr_intercept")
    if not float(y2):
        assert found is None
    else:
        assert found == float(sum(x for x, _ in there) / n - both / y2 * sum(y for _, y in there) / n)


@pytest.mark.parametrize("function", ["stddev_samp", "wrapping_kurtosis", "wrapping_corr", "regr_intercept"])
@given(stay=PAIRS, pass_by=st.lists(st.tuples(ANY, ANY), max_size=8))
def test_what_enters_and_leaves_leaves_no_trace(function: str, stay: list[Pair], pass_by: list[Pair]) -> None:
    weights = [1] * len(stay) + [2] * len(pass_by) + [-2] * len(pass_by)
    assert value_of([*stay, *pass_by, *pass_by], function, weights) == value_of(stay, function)


@pytest.mark.parametrize("strange", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_makes_nan(strange: float) -> None:
    pairs: list[Pair] = [(strange, 1.0), (1.0, 2.0), (2.0, 5.0)]
    for function in POWERS:
        assert math.isnan(value_of(pairs, function)), function
    assert value_of([(strange, 1.0), (1.0, 1.0)], "regr_r2") is None
    assert value_of([(1.0, strange), (1.0, 1.0)], "regr_r2") == 1.0


def test_beyond_the_largest_double() -> None:
    """As Spark, whose own way to merge parts of a group squares their means."""
    assert math.isnan(value_of([(1e200, 1.0), (3e200, 2.0)], "var_pop"))
    assert value_of([(1e200, 1.0), (-1e200, 2.0)], "var_pop") == math.inf
    assert value_of([(1e200, 1.0), (3e200, 2.0)], "covar_pop") == 5e199
    assert value_of([(1e-200, 1.0), (3e-200, 2.0)], "var_pop") == 0.0
    assert value_of([(5e-324, 1.0), (25e-324, 2.0)], "covar_pop") == 5e-324


def test_corr_of_what_does_not_vary_fails() -> None:
    with pytest.raises(EvaluationError, match="DIVIDE_BY_ZERO: corr"):
        value_of([(0.1, 1.0), (0.1, 2.0), (0.1, 3.0)], "corr")


def test_moments_of_the_same_columns_share_their_sums() -> None:
    powers = tuple(sorted({*POWERS["corr"], *POWERS["var_pop"]}))
    sums = [Sum(f, f, "x", None, DOUBLE, DOUBLE, "y", powers, "h") for f in ("corr", "covar_pop", "regr_r2")]
    table = pa.table({"x": [1.0, 2.0, 4.0], "y": [2.0, 4.0, 8.0]})
    state = encode(Rows.of(table), (), sums)
    assert state.names == ("_slot", "h_n")
    _, values = decode(sums, state, np.zeros(len(state), dtype=np.int64), 1)
    assert [v.to_pylist() for v in values] == [[1.0], [pytest.approx(28 / 9)], [1.0]]
