"""The bounds that differences of doubles come to: exactly the pairs that subtracting and comparing finds."""

from __future__ import annotations

import itertools
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewlet.columns.kernels.difference_bounds import least_difference

NUMBERS = [0.0, -0.0, 5e-324, -1.0, 0.1, 1e16, -1e16 - 2, 1000.0, 999.9999999999999, -1.7976931348623157e308]
finite = st.floats(allow_nan=False, allow_infinity=False)


def check(low: float, bound: float, number: float) -> None:
    """Whether a number is beyond the bound by the least one, and by the greatest one that may be subtracted."""
    with np.errstate(over="ignore"):
        for reached in (False, True):
            difference = np.float64(number) - np.float64(low)
            expected = bool(difference >= bound if reached else difference > bound)
            (least,) = least_difference(np.array([low]), np.array([bound]), reached=reached)
            (greatest,) = -least_difference(np.array([-number]), np.array([bound]), reached=reached)
            assert (number >= least) == expected, (low, bound, number, reached)
            assert (low <= greatest) == expected, (low, bound, number, reached)


def test_edges() -> None:
    for low, bound, number in itertools.product(NUMBERS, NUMBERS, NUMBERS):
        check(low, bound, number)


@given(finite, finite, finite)
def test_any_numbers(low: float, bound: float, number: float) -> None:
    check(low, bound, number)


@given(finite, finite, st.integers(-3, 3))
def test_near_the_bound(low: float, bound: float, steps: int) -> None:
    with np.errstate(over="ignore"):
        number = np.float64(low) + np.float64(bound)
        for _ in range(abs(steps)):
            number = np.nextafter(number, np.inf * steps)
    if np.isfinite(number):
        check(low, bound, float(number))


@pytest.mark.parametrize(
    ("low", "bound", "least"),
    [(2.0, 1.0, 3.0000000000000004), (-1e308, 1e308, 9.979201547673601e291), (1e308, 1e308, inf)],
)
def test_some_bounds(low: float, bound: float, least: float) -> None:
    assert least_difference(np.array([low]), np.array([bound]), reached=False).tolist() == [least]
