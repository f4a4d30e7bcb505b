"""Products of sums: what Python's integers say, or an overflow that they confirm."""

from __future__ import annotations

from math import prod

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from viewlet.columns.exact import limbs as limbs_module
from viewlet.columns.exact.digits import Ints
from viewlet.columns.exact.limbs import combine
from viewlet.columns.rows import Rows
from viewlet.errors import EvaluationError
from viewlet.plan.sums import Factor, Monomial
from viewlet.program.codec import from_json, to_json

LOWEST, HIGHEST = -(2**63), 2**63 - 1
EDGES = sorted(
    {sign * 2**power + step for power in (0, 31, 32, 61, 62) for sign in (1, -1) for step in (-1, 0, 1)}
    | {0, LOWEST, LOWEST + 1, HIGHEST - 1, HIGHEST}
)
NUMBERS = st.one_of(st.sampled_from(EDGES), st.integers(-1000, 1000), st.integers(LOWEST, HIGHEST))
COEFFICIENTS = st.one_of(st.just(1), st.integers(-3, 3), st.sampled_from(EDGES), st.integers(-(2**200), 2**200))

FACTORS = (Factor("n"), Factor("m"), Factor("a", 1), Factor("b", 2), Factor("c", 2), Factor("d", 4))
MONOMIALS = st.builds(Monomial, COEFFICIENTS, st.lists(st.sampled_from(FACTORS), max_size=4).map(tuple))


def names_of(factor: Factor) -> list[str]:
    return [f"{factor.name}_{i}" for i in range(factor.limbs)] if factor.limbs else [factor.name]


NAMES = [name for factor in FACTORS for name in names_of(factor)]
ROWS = st.lists(st.fixed_dictionaries(dict.fromkeys(NAMES, NUMBERS)), max_size=4)


def rows_of(rows: list[dict[str, int]]) -> Rows:
    columns = {name: pa.array([row[name] for row in rows], pa.int64()) for name in (rows[0] if rows else NAMES)}
    return Rows(columns, np.ones(len(rows), dtype=np.int64))


def value(row: dict[str, int], terms: list[Monomial]) -> int:
    """The polynomial, by Python's integers."""
    numbers = [[sum(row[name] << 32 * i for i, name in enumerate(names_of(f))) for f in t.factors] for t in terms]
    return sum(t.coefficient * prod(n) for t, n in zip(terms, numbers, strict=True))


def values(found: list[Ints]) -> list[int]:
    return [sum(int(limb) << 32 * i for i, limb in enumerate(row)) for row in zip(*found, strict=True)]


def fits(number: int, limbs: int) -> bool:
    """Whether a last limb of 64 bits, and those of 32 bits below it, can hold a number."""
    end = 1 << 63 + 32 * (max(limbs, 1) - 1)
    return -end <= number < end


@given(ROWS, st.lists(MONOMIALS, max_size=4), st.integers(0, 10))
@example([dict.fromkeys(NAMES, LOWEST)], [Monomial(1, (Factor("d", 4), Factor("d", 4)))], 10)
@example([dict.fromkeys(NAMES, LOWEST)], [Monomial(-1, (Factor("n"),))], 0)
@example([dict.fromkeys(NAMES, LOWEST)], [Monomial(-1, (Factor("n"),))], 2)
@example([dict.fromkeys(NAMES, HIGHEST)], [Monomial(1, (Factor("b", 2), Factor("c", 2)))], 6)
@example([dict.fromkeys(NAMES, -(2**62))], [Monomial(1, (Factor("b", 2), Factor("n"), Factor("m")))], 6)
@example([dict.fromkeys(NAMES, 0)], [Monomial(2**300, (Factor("b", 2), Factor("n")))], 2)
def test_polynomials_are_exact_or_overflow(rows: list[dict[str, int]], terms: list[Monomial], limbs: int) -> None:
    expected = [value(row, terms) for row in rows]
    if all(fits(number, limbs) for number in expected):
        found = combine(rows_of(rows), terms, limbs)
        assert len(found) == max(limbs, 1)
        assert all(limb.dtype == np.int64 and len(limb) == len(rows) for limb in found)
        assert values(found) == expected
    else:
        with pytest.raises(EvaluationError, match="ARITHMETIC_OVERFLOW"):
            combine(rows_of(rows), terms, limbs)


@given(NUMBERS, st.integers(0, 6))
def test_the_range_is_used_to_its_ends(n: int, limbs: int) -> None:
    rows = rows_of([{"n": n}])
    end = 1 << 63 + 32 * (max(limbs, 1) - 1)

    def made(number: int) -> list[int]:
        return values(combine(rows, [Monomial(1, (Factor("n"),)), Monomial(number - n, ())], limbs))

    assert made(end - 1) == [end - 1]
    assert made(-end) == [-end]
    for beyond in (end, -end - 1):
        with pytest.raises(EvaluationError, match="ARITHMETIC_OVERFLOW"):
            made(beyond)


def test_many_rows() -> None:
    generator = np.random.default_rng(7)
    columns = {name: generator.integers(LOWEST, HIGHEST, 10_000) for name in ("b_0", "b_1", "c_0", "c_1", "n")}
    b, c = (columns[f"{name}_0"].astype(object) + (columns[f"{name}_1"].astype(object) << 32) for name in "bc")
    rows = Rows({name: pa.array(column) for name, column in columns.items()}, np.ones(10_000, dtype=np.int64))
    terms = [Monomial(1, (Factor("b", 2), Factor("c", 2))), Monomial(-3, (Factor("n"), Factor("n")))]
    assert values(combine(rows, terms, 6)) == list(b * c - 3 * columns["n"].astype(object) ** 2)


def test_one_row_that_overflows_is_found_among_many() -> None:
    n = np.arange(1000)
    n[777] = 2**62
    rows = Rows({"n": pa.array(n)}, np.ones(1000, dtype=np.int64))
    with pytest.raises(EvaluationError, match="does not fit in 64 bits"):
        combine(rows, [Monomial(2, (Factor("n"),))], 0)
    assert values(combine(rows, [Monomial(2, (Factor("n"),))], 2)) == [2 * int(i) for i in n]


@given(ROWS, st.lists(MONOMIALS, max_size=3))
def test_the_exact_way_gives_digits_below_the_last(rows: list[dict[str, int]], terms: list[Monomial]) -> None:
    numbers = {f: limbs_module._read(rows_of(rows), f) for f in FACTORS}
    *digits, _ = limbs_module._exact(numbers, terms, 30, len(rows))
    assert all(((limb >= 0) & (limb < 2**32)).all() for limb in digits)


SMALL = st.integers(-(2**20), 2**20)


@pytest.mark.parametrize("limbs", [1, 2, 3, 4])
@given(data=st.data())
def test_one_number_times_integers_is_multiplied_limb_by_limb(limbs: int, data: st.DataObject) -> None:
    number = Factor("x", limbs)
    entry = {name: st.integers(-(2**42) + 1, 2**42 - 1) for name in names_of(number)} | {
        "m": st.integers(-(2**10), 2**10)
    }
    rows = data.draw(st.lists(st.fixed_dictionaries({**entry, "k": st.integers(-(2**10), 2**10)}), max_size=5))
    if not rows:
        return
    factors = data.draw(st.permutations((number, Factor("m"), Factor("k"))))
    found = combine(rows_of(rows), [Monomial(1, tuple(factors))], limbs)
    expected = [[row[name] * row["m"] * row["k"] for row in rows] for name in names_of(number)]
    assert [limb.tolist() for limb in found] == expected


@pytest.mark.parametrize(
    ("limb", "m", "linear"),
    [(2**31, 2**31 - 1, True), (2**31, 2**31, False), (-(2**61), 1, True), (1, LOWEST, False)],
)
def test_limbs_are_carried_where_they_might_overflow(limb: int, m: int, linear: bool) -> None:
    rows = rows_of([{"x_0": limb, "x_1": 0, "m": m}])
    terms = [Monomial(1, (Factor("x", 2), Factor("m")))]
    found = combine(rows, terms, 2)
    assert values(found) == [limb * m]
    assert ([int(part[0]) for part in found] == [limb * m, 0]) == linear


@given(st.lists(st.tuples(SMALL, SMALL, SMALL, SMALL, SMALL), min_size=1, max_size=5))
def test_a_sum_of_such_products_is_linear_too(numbers: list[tuple[int, ...]]) -> None:
    rows = [dict(zip(("x_0", "x_1", "y_0", "y_1", "m"), row, strict=True)) for row in numbers]
    x, y, m = Factor("x", 2), Factor("y", 2), Factor("m")
    found = combine(rows_of(rows), [Monomial(1, (x, m)), Monomial(-1, (y,))], 2)
    assert [limb.tolist() for limb in found] == [
        [row[f"x_{i}"] * row["m"] - row[f"y_{i}"] for row in rows] for i in range(2)
    ]


@given(st.lists(st.tuples(SMALL, SMALL), min_size=1, max_size=5))
def test_what_is_taken_away_leaves_zeros(numbers: list[tuple[int, int]]) -> None:
    rows = [{"x_0": low, "x_1": high, "m": sign} for low, high in numbers for sign in (1, -1)]
    for limb in combine(rows_of(rows), [Monomial(1, (Factor("x", 2), Factor("m")))], 2):
        assert limb.sum() == 0


def test_nothing_and_constants() -> None:
    three = rows_of([{"n": 7}] * 3)
    assert [limb.tolist() for limb in combine(three, [], 2)] == [[0, 0, 0], [0, 0, 0]]
    assert values(combine(three, [Monomial(-(2**70), ())], 3)) == [-(2**70)] * 3
    assert values(combine(three, [Monomial(0, (Factor("n"),))], 0)) == [0] * 3
    assert [limb.tolist() for limb in combine(rows_of([]), [Monomial(5, ()), Monomial(1, FACTORS)], 2)] == [[], []]


def test_columns_may_be_slices() -> None:
    whole = pa.array(range(10), pa.int64())
    rows = Rows({"n": whole[3:6], "m": whole[5:8]}, np.ones(3, dtype=np.int64))
    assert values(combine(rows, [Monomial(1, (Factor("n"), Factor("m")))], 0)) == [15, 24, 35]


@pytest.mark.parametrize("column", [pa.array([1], pa.int32()), pa.array([None], pa.int64())])
def test_only_whole_numbers_of_64_bits_are_read(column: pa.Array) -> None:
    with pytest.raises(AssertionError, match="no whole number"):
        combine(Rows({"n": column}, np.ones(1, dtype=np.int64)), [Monomial(1, (Factor("n"),))], 0)


def test_monomials_are_stored_with_the_program() -> None:
    term = Monomial(-(2**100), (Factor("n"), Factor("b", 2)))
    assert from_json(to_json(term)) == term
