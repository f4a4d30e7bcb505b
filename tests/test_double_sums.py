"""Exact sums of doubles: what `math.fsum` gives, bit for bit, for whatever doubles there are."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewlet.columns.exact.digits import Doubles
from viewlet.columns.exact.double_sums import add_doubles

LARGEST, LEAST = 1.7976931348623157e308, 5e-324


def by_parts(sign: int, exponent: int, fraction: int) -> float:
    """A finite double out of its bits, so that every exponent is as likely as any other."""
    return float(struct.unpack("<d", struct.pack("<Q", sign << 63 | exponent << 52 | fraction))[0])


FRACTIONS = st.one_of(st.integers(0, 2**52 - 1), st.sampled_from([0, 1, 2**51, 2**52 - 1]))
ANY = st.builds(by_parts, st.integers(0, 1), st.integers(0, 2046), FRACTIONS)
SUBNORMAL = st.builds(by_parts, st.integers(0, 1), st.just(0), FRACTIONS)
TIES = st.builds(
    lambda m, e: math.ldexp(m, e), st.integers(-8, 8), st.sampled_from([-1074, -54, -53, 0, 52, 53, 54, 970])
)
HUGE = st.sampled_from([LARGEST, -LARGEST, 1e308, -1e308, math.ldexp(1, 970), math.ldexp(1, 969), -math.ldexp(1, 969)])
NASTY = st.one_of(ANY, SUBNORMAL, TIES, HUGE, st.sampled_from([1 / 3, 1e-9, 1e16, 0.0, -0.0, 3.2e-111]))


def exact(values: Sequence[float], weights: Sequence[int] | None = None) -> float:
    """The double nearest to the sum of finite ones, or an infinity."""
    total = sum((Fraction(v) * w for v, w in zip(values, weights or [1] * len(values), strict=True)), Fraction(0))
    try:
        return float(total) + 0.0
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def bits(values: Doubles | Sequence[float]) -> list[bytes]:
    return [struct.pack("<d", v) for v in values]


def sums(values: Sequence[float], groups: Sequence[int], count: int, weights: Sequence[int] | None = None) -> Doubles:
    times = np.array(weights or [1] * len(values), dtype=np.int64)
    return add_doubles(np.array(values, dtype=np.float64), times, np.array(groups, dtype=np.int64), count).doubles()


@given(st.lists(NASTY, max_size=40))
def test_a_sum_is_rounded_once(values: list[float]) -> None:
    (found,) = sums(values, [0] * len(values), 1)
    assert bits([found]) == bits([exact(values)])
    if all(abs(v) < 1e300 for v in values):
        assert bits([found]) == bits([math.fsum(values)])


@given(st.lists(st.tuples(st.integers(0, 3), NASTY, st.integers(-5, 2**20)), max_size=40))
def test_groups_and_weights(rows: list[tuple[int, float, int]]) -> None:
    found = sums([v for _, v, _ in rows], [k for k, _, _ in rows], 4, [w for *_, w in rows])
    parts = [[(v, w) for k, v, w in rows if k == key] for key in range(4)]
    assert bits(found) == bits([exact([v for v, _ in part], [w for _, w in part]) for part in parts])


@given(st.lists(NASTY, max_size=30), st.data())
def test_a_range_is_a_difference_of_running_sums(values: list[float], data: st.DataObject) -> None:
    places = st.integers(0, len(values))
    ranges = [sorted(data.draw(st.tuples(places, places))) for _ in range(5)]
    low, high = np.array(ranges, dtype=np.int64).T
    rows = np.arange(len(values))
    running = add_doubles(np.array(values, dtype=np.float64), np.ones_like(rows), rows, len(rows)).running()
    assert bits(running.between(low, high).doubles()) == bits([exact(values[a:b]) for a, b in ranges])


def test_many_values_of_many_sizes() -> None:
    rng = random.Random(11)
    values = [rng.choice([1 / 3, 1e-9, 1e16, rng.gauss(0, 1), math.ldexp(rng.random(), rng.randrange(-1074, 960))])
              for _ in range(30_000)]  # fmt: skip
    groups = [rng.randrange(200) for _ in values]
    expected = [math.fsum(v for v, g in zip(values, groups, strict=True) if g == k) for k in range(200)]
    assert bits(sums(values, groups, 200)) == bits(expected)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1 / 3, 1 / 3, 1 / 3, 1e-9, 1e16], 1.0000000000000002e16),
        ([2.0, 4503599627370495.5, -3.2e-111], 4503599627370497.0),
        ([LARGEST, math.ldexp(1, 969)], LARGEST),
        ([LARGEST, math.ldexp(1, 970)], math.inf),
        ([-LARGEST, -LARGEST, LEAST], -math.inf),
        ([LARGEST, LARGEST, -LARGEST, -LARGEST, LEAST], LEAST),
        ([math.inf, -1e308, 1.0, -1e308], math.inf),
        ([-math.inf, 1e308, 1e308], -math.inf),
        ([math.inf, -math.inf, 1.0], math.nan),
        ([math.nan, math.inf], math.nan),
        ([-0.0, -0.0], 0.0),
        ([], 0.0),
    ],
)
def test_edges(values: list[float], expected: float) -> None:
    for given_order in (values, values[::-1]):
        (found,) = sums(given_order, [0] * len(values), 1)
        assert bits([found]) == bits([expected])


@given(st.lists(NASTY, max_size=10), st.lists(st.sampled_from([math.nan, math.inf, -math.inf, 1e308]), max_size=6))
def test_what_left_leaves_no_trace(stay: list[float], left: list[float]) -> None:
    values, weights = [*stay, *left, *left], [1] * len(stay) + [1] * len(left) + [-1] * len(left)
    assert bits(sums(values, [0] * len(values), 1, weights)) == bits([exact(stay)])
