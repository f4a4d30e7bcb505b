"""Doubles in windows: sums of products that never round, and what IEEE makes of those that are not finite."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import inf, isfinite, isnan, nan

import numpy as np
import pyarrow as pa
import pytest

from viewlet.columns.exact.double_windows import product_digits
from viewlet.columns.exact.encoded_sums import decode, encode, encode_products
from viewlet.columns.rows import Rows
from viewlet.plan.sums import DoubleSum, Factor, Monomial, Sum, limbs, places
from viewlet.plan.types import DOUBLE

ODD = [0.0, -0.0, 0.1, -7.25, 1e300, -1e300, 5e-324, -1e-300, 1e20, 3.0, inf, -inf, nan, None]
FINITE = [x for x in ODD if x is not None and isfinite(x)]


def leaf(name: str, keys: list[int], values: list[float | None], more: list[float | None] | None = None) -> Rows:
    """The sums in windows of some values, or of products of two, by key."""
    columns = {"k": pa.array(keys), "x": pa.array(values, pa.float64())}
    if more is not None:
        columns["y"] = pa.array(more, pa.float64())
    total = Sum(name, "sum", "x", None, DOUBLE, DOUBLE, None if more is None else "y", window=f"{name}_w")
    return encode(Rows(columns, np.ones(len(keys), dtype=np.int64)), ("k",), (total,))


def factor(name: str, degree: int = 1) -> Factor:
    spec = Sum(name, "sum", "x", None, DOUBLE, DOUBLE, "y" if degree > 1 else None, window=f"{name}_w")
    return Factor(name, limbs(spec), (f"{name}_w",))


def crossed(a: Rows, b: Rows) -> Rows:
    """Every row of one beside every row of the other."""
    left, right = np.repeat(np.arange(len(a)), len(b)), np.tile(np.arange(len(b)), len(a))
    columns = {n: c.take(pa.array(left)) for n, c in a.columns.items()}
    columns |= {n: c.take(pa.array(right)) for n, c in b.columns.items() if n != "k"}
    return Rows(columns, a.weights[left] * b.weights[right])


def total_of(rows: Rows, terms: tuple[Monomial, ...], degree: int) -> float | None:
    """What a sum of products comes to, read as a view reads it."""
    spec = Sum("t", "sum", "z", None, DOUBLE, DOUBLE, degree=degree)
    counted = Monomial(1, (Factor("a_n"), Factor("b_n")))
    digits = product_digits(rows, DoubleSum("t", places([spec])[0], degree, terms, counted))
    counts = {"t_n": np.multiply(rows["a_n"].to_numpy(), rows["b_n"].to_numpy())}
    state = encode_products(rows, (), counts, digits)
    (value,) = decode((spec,), state, np.zeros(len(state), dtype=np.int64), 1)[1][0].to_pylist()
    return value


def same(found: float | None, expected: float | None) -> bool:
    return (found is None) == (expected is None) and (found == expected or (found != found and expected != expected))


def rounded(exact: Fraction) -> float:
    """The nearest double."""
    try:
        return float(exact)
    except OverflowError:
        return inf if exact > 0 else -inf


def differences(a: list[float | None], b: list[float | None]) -> float | None:
    """Σ (x − y) over all pairs: the exact sum, or what Spark makes of infinities."""
    pairs = [(x, y) for x in a for y in b if x is not None and y is not None]
    if not pairs:
        return None
    if all(isfinite(v) for pair in pairs for v in pair):
        return rounded(sum((Fraction(x) - Fraction(y) for x, y in pairs), Fraction(0)))
    return sum(x - y for x, y in pairs if not (isfinite(x) and isfinite(y)))


def products(a: list[float | None], b: list[float | None]) -> float | None:
    """0.5 · Σ x · y over all pairs."""
    pairs = [(x, y) for x in a for y in b if x is not None and y is not None]
    if not pairs:
        return None
    strange = [x * y for x, y in pairs if not (isfinite(x) and isfinite(y))]
    if strange:
        return sum(strange)
    return rounded(sum((Fraction(x) * Fraction(y) for x, y in pairs), Fraction(0)) / 2)


CASES = [
    *([[x], [y]] for x, y in itertools.product(ODD, ODD)),
    *(
        [list(some), list(rest)]
        for some, rest in zip(
            np.array_split(np.tile(FINITE, 5), 7), np.array_split(np.tile(FINITE[::-1], 5), 7), strict=True
        )
    ),
    *([FINITE, [special, 1.0]] for special in (inf, -inf, nan, None, 0.0)),
]


@pytest.mark.parametrize(("a", "b"), CASES)
def test_sums_over_pairs_are_products_of_sums(a: list[float | None], b: list[float | None]) -> None:
    rows = crossed(leaf("a", [0] * len(a), a), leaf("b", [0] * len(b), b))
    x, y, one, other = factor("a"), factor("b"), Factor("a_n"), Factor("b_n")
    found = total_of(rows, (Monomial(1, (x, other)), Monomial(-1, (one, y))), 1)
    assert same(found, differences(a, b)), (found, differences(a, b))
    found = total_of(rows, (Monomial(1, (x, y), -1),), 3)
    assert same(found, products(a, b)), (found, products(a, b))


def test_a_product_may_exceed_all_doubles_on_the_way() -> None:
    rows = crossed(leaf("a", [0], [1e-200]), leaf("b", [0], [1e200], [1e200]))
    found = total_of(rows, (Monomial(1, (factor("a"), factor("b", 2))),), 3)
    assert found == rounded(Fraction(1e-200) * Fraction(1e200) ** 2)
    rows = crossed(leaf("a", [0], [1e200]), leaf("b", [0], [1e200], [-1e200]))
    assert total_of(rows, (Monomial(1, (factor("a"), factor("b", 2))),), 3) == -inf
    rows = crossed(leaf("a", [0], [2.0]), leaf("b", [0], [inf], [0.0]))
    found = total_of(rows, (Monomial(1, (factor("a"), factor("b", 2))),), 3)
    assert found is not None
    assert isnan(found)


def test_what_leaves_leaves_no_trace() -> None:
    rng = np.random.default_rng(3)
    values = [FINITE[i] for i in rng.integers(len(FINITE), size=40)]
    total = Sum("a", "sum", "x", None, DOUBLE, DOUBLE, window="a_w")
    column = pa.array([*values, *values[::-1]], pa.float64())
    weights = np.repeat(np.array([1, -1], dtype=np.int64), len(values))
    assert not len(encode(Rows({"x": column}, weights), (), (total,)))


def test_everyday_numbers_have_one_window() -> None:
    held = leaf("a", [1, 1, 1, 2], [0.001, 12.34, 4e15, 99_999.0])
    assert held["k"].to_pylist() == [1, 2]
    assert len(set(held["a_w"].to_pylist())) == 1
