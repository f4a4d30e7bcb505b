"""Evaluating plans here, without Spark: what the result must not depend on, and exact arithmetic."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compiled import either_way as either_way
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.rows import Rows
from viewlet.engine.groups import compile_plan, join, why_not
from viewlet.engine.groups.keys import normalized, number_groups
from viewlet.errors import EvaluationError
from viewlet.plan.expr import Call, Column, Frame, Literal, Named, Opaque, Order, Over, Reduce
from viewlet.plan.nodes import Aggregate, Input, Join, Plan, Scan, SparkOperator, Top, Values, Window
from viewlet.plan.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, Field, Type, decimal, parse_type

FIELDS = (Field("g", INT), Field("x", BIGINT), Field("s", STRING), Field("d", DOUBLE))
SOURCE = Input(0, FIELDS)
G, X, S, D = (Column(f.name, f.type) for f in FIELDS)
OTHER = Input(1, tuple(Field(f"r_{f.name}", f.type) for f in FIELDS))
ROWS_TO_HERE = Frame("rows", None, Literal(0, INT))

VALUES = st.tuples(
    st.none() | st.integers(0, 3),
    st.none() | st.integers(-(2**40), 2**40) | st.just(2**55),
    st.none() | st.sampled_from(["", "a", "b", "é"]),
    st.none() | st.sampled_from([0.0, -0.0, 1.5, float("nan"), float("inf"), 1e16, -1e16, 0.1]),
)
BAGS = st.lists(st.tuples(VALUES, st.integers(1, 3)), max_size=25)


def rows_of(bag: list[tuple[tuple[Any, ...], int]], fields: tuple[Field, ...] = FIELDS) -> Rows:
    columns = {f.name: pa.array([r[i] for r, _ in bag], type=arrow_type(f.type)) for i, f in enumerate(fields)}
    return Rows(columns, np.array([w for _, w in bag], dtype=np.int64))


def keyed(rows: Rows, column: str) -> Rows:
    return rows.with_columns({"_key": pa.array(rows.hashes([column]).astype(np.int64))})


def contents(rows: Rows) -> list[str]:
    """The bag as sorted text, so that NaN equals itself."""
    return sorted(map(repr, rows.expanded().arrow().to_pylist()))


def aggregate(keys: tuple[Column, ...], *calls: Reduce) -> Aggregate:
    results = tuple(Named(k.name, k) for k in keys) + tuple(Named(f"r{i}", c) for i, c in enumerate(calls))
    return Aggregate(SOURCE, keys, results, tuple(Field(r.name, r.expr.type) for r in results))


def window(partition: tuple[Column, ...], order: tuple[Order, ...], *calls: Over) -> Window:
    results = tuple(Named(f"w{i}", c) for i, c in enumerate(calls))
    return Window(SOURCE, partition, order, results, FIELDS + tuple(Field(r.name, r.expr.type) for r in results))


AGGREGATE = aggregate(
    (G,),
    Reduce("count", (), BIGINT),
    Reduce("count", (X, S), BIGINT, distinct=True),
    Reduce("sum", (X,), BIGINT),
    Reduce("avg", (X,), DOUBLE),
    Reduce("sum", (D,), DOUBLE),
    Reduce("var_pop", (D,), DOUBLE),
    Reduce("min", (D,), DOUBLE),
    Reduce("max", (S,), STRING),
    Reduce("collect_list", (S,), Type("array", (STRING,))),
    Reduce("percentile", (X, Literal(0.3, DOUBLE), Literal(1, BIGINT)), DOUBLE),
)
WINDOW = window(
    (G,),
    (Order(X),),
    Over("row_number", (), INT, ROWS_TO_HERE),
    Over("rank", (), INT, ROWS_TO_HERE),
    Over("sum", (X,), BIGINT, ROWS_TO_HERE),
    Over("max", (S,), STRING, ROWS_TO_HERE),
    Over("last", (D,), DOUBLE, Frame("rows", Literal(-1, INT), Literal(1, INT)), ignore_nulls=True),
)
TOP = Top(SOURCE, (Order(X, True, False),), 3, 1)
PLANS: dict[str, Plan] = {"aggregate": AGGREGATE, "window": WINDOW, "top": TOP}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
@given(bag=BAGS, shuffle=st.randoms(use_true_random=False))
def test_the_order_of_rows_and_the_form_of_the_bag_do_not_matter(plan: Plan, bag: Any, shuffle: Any) -> None:
    function = compile_plan(plan, keyed=False)
    expected = contents(function([rows_of(bag)]))
    single = [(row, 1) for row, weight in bag for _ in range(weight)]
    shuffle.shuffle(single)
    assert contents(function([rows_of(single)])) == expected


@pytest.mark.parametrize("plan", [AGGREGATE, WINDOW], ids=["aggregate", "window"])
@given(bag=BAGS)
def test_group_by_group_is_all_at_once(plan: Plan, bag: Any) -> None:
    rows = rows_of(bag)
    found = compile_plan(plan)([keyed(rows, "g")])
    assert found.names[-1] == "_key"
    assert contents(found.select(found.names[:-1])) == contents(compile_plan(plan, keyed=False)([rows]))


def pairs(kind: str, extra: bool) -> Join:
    equal = Call("eq", (G, Column("r_g", INT)), BOOLEAN)
    less = Call("lt", (X, Column("r_x", BIGINT)), BOOLEAN)
    columns = FIELDS if kind in ("semi", "anti") else FIELDS + OTHER.columns
    return Join(SOURCE, OTHER, kind, Call("and", (equal, less), BOOLEAN) if extra else equal, columns)


def joined(kind: str, extra: bool, left: Any, right: Any) -> list[str]:
    """The join as its definition says, pair by pair."""
    lefts = [row for row, weight in left for _ in range(weight)]
    rights = [row for row, weight in right for _ in range(weight)]

    def partners(a: Any, b: Any) -> bool:
        equal = a[0] is not None and a[0] == b[0]
        return equal and (not extra or (a[1] is not None and b[1] is not None and a[1] < b[1]))

    if kind in ("semi", "anti"):
        return as_text([a for a in lefts if any(partners(a, b) for b in rights) == (kind == "semi")], FIELDS)
    found = [a + b for a in lefts for b in rights if partners(a, b)]
    if kind in ("left", "full"):
        found += [a + (None,) * 4 for a in lefts if not any(partners(a, b) for b in rights)]
    if kind in ("right", "full"):
        found += [(None,) * 4 + b for b in rights if not any(partners(a, b) for a in lefts)]
    return as_text(found, FIELDS + OTHER.columns)


def as_text(rows: list[tuple[Any, ...]], fields: tuple[Field, ...]) -> list[str]:
    return sorted(repr(dict(zip((f.name for f in fields), row, strict=True))) for row in rows)


@pytest.mark.parametrize("kind", ["inner", "left", "right", "full", "semi", "anti"])
@given(left=BAGS, right=BAGS, extra=st.booleans(), at_once=st.sampled_from([1, 7, 1 << 20]))
def test_joins_are_what_their_definition_says(kind: str, left: Any, right: Any, extra: bool, at_once: int) -> None:
    plan, sides = pairs(kind, extra), (rows_of(left), rows_of(right, OTHER.columns))
    expected = joined(kind, extra, left, right)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(join, "_PAIRS_AT_ONCE", at_once)
        assert contents(compile_plan(plan, keyed=False)(sides)) == expected
        found = compile_plan(plan)([keyed(sides[0], "g"), keyed(sides[1], "r_g")])
    assert not found["_key"].null_count
    assert contents(found.select(found.names[:-1])) == expected


NUMBERS = st.lists(st.none() | st.integers(-(10**38) + 1, 10**38 - 1), max_size=12)


@given(numbers=NUMBERS, scale=st.integers(0, 38))
def test_decimal_sums_and_averages_are_exact(numbers: list[int | None], scale: int) -> None:
    kind, mean = decimal(38, scale), decimal(38, min(scale + 4, 38))
    exact = Context(prec=100)
    x = Column("x", kind)
    values = [None if n is None else Decimal(n).scaleb(-scale, exact) for n in numbers]
    rows = Rows.of(pa.table({"x": pa.array(values, type=arrow_type(kind))}))
    source = Input(0, (Field("x", kind),))
    known = [n for n in numbers if n is not None]
    for function, result in (("try_sum", kind), ("try_avg", mean)):
        call = Reduce(function, (x,), result)
        plan = Aggregate(source, (), (Named("r", call),), (Field("r", result),))
        (found,) = compile_plan(plan, keyed=False)([rows])["r"].to_pylist()
        assert found == expected_decimal(function, known, scale, result)


def expected_decimal(function: str, numbers: list[int], scale: int, kind: Type) -> Decimal | None:
    """The exact sum, or its quotient rounded half up at 39 digits and again at the result's scale."""
    if not numbers or abs(sum(numbers)) >= 10**38:
        return None
    value = Fraction(sum(numbers), 10**scale)
    if function == "try_avg":
        value = half_up(half_up(value / len(numbers), 39), kind.args[1])
    unscaled = value * 10 ** kind.args[1]
    assert unscaled.denominator == 1
    if abs(unscaled) >= 10**38:
        return None
    return Decimal(int(unscaled)).scaleb(-kind.args[1], Context(prec=100))


def half_up(value: Fraction, digits: int) -> Fraction:
    quotient, rest = divmod(abs(value.numerator) * 10**digits, value.denominator)
    rounded = quotient + (2 * rest >= value.denominator)
    return Fraction(rounded if value >= 0 else -rounded, 10**digits)


@given(numbers=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8))
def test_integer_sums_are_exact_or_fail(numbers: list[int]) -> None:
    function = compile_plan(aggregate((), Reduce("sum", (X,), BIGINT)), keyed=False)
    rows = rows_of([((1, n, "", 0.0), 1) for n in numbers])
    if -(2**63) <= sum(numbers) < 2**63:
        assert function([rows])["r0"].to_pylist() == [sum(numbers)]
    else:
        with pytest.raises(EvaluationError, match="ARITHMETIC_OVERFLOW"):
            function([rows])


FRAMES = st.tuples(st.none() | st.integers(-4, 3), st.none() | st.integers(-3, 4))


@given(values=st.lists(st.none() | st.integers(-9, 9), min_size=60, max_size=90), bounds=FRAMES)
def test_running_aggregates_are_those_of_each_frame(values: list[int | None], bounds: Any) -> None:
    """Long partitions go by running sums and extremes; the same frames one by one must agree."""
    lower, upper = bounds
    frame = Frame("rows", *(None if b is None else Literal(b, INT) for b in bounds))
    calls = [Over(f, (X,), BIGINT, frame) for f in ("sum", "count", "min", "max")]
    rows = rows_of([((at, v, "", 0.0), 1) for at, v in enumerate(values)])
    found = compile_plan(window((), (Order(G),), *calls), keyed=False)([rows]).arrow().sort_by("g")
    for at in range(len(values)):
        low = 0 if lower is None else max(at + lower, 0)
        high = len(values) if upper is None else min(at + upper + 1, len(values))
        seen = [v for v in values[low : max(high, low)] if v is not None]
        expected = [sum(seen), len(seen), min(seen), max(seen)] if seen else [None, 0, None, None]
        assert [found[f"w{i}"][at].as_py() for i in range(4)] == expected


def test_no_keys_and_no_rows_is_one_row() -> None:
    plan = aggregate((), Reduce("count", (), BIGINT), Reduce("sum", (X,), BIGINT))
    assert compile_plan(plan, keyed=False)([rows_of([])]).arrow().to_pylist() == [{"r0": 0, "r1": None}]
    assert len(compile_plan(plan)([keyed(rows_of([]), "g")])) == 0


def test_columns_go_by_position() -> None:
    rows = rows_of([((1, 2, "a", 0.5), 1)]).rename(["p", "q", "r", "s"])
    assert compile_plan(SOURCE, keyed=False)([rows]).names == ("g", "x", "s", "d")


MAP = Column("m", Type("map", (STRING, INT)))
VARIANT = Column("v", Type("variant"))
CONSTANT = Values(((1,),), (Field("c", INT),))
REASONS: dict[str, tuple[Plan, str]] = {
    "unknown function": (aggregate((), Reduce("mode", (X,), BIGINT)), "mode is evaluated by Spark alone"),
    "min_by": (aggregate((), Reduce("min_by", (X, D), BIGINT)), "min_by is evaluated by Spark alone"),
    "type": (aggregate((), Reduce("sum", (S,), DOUBLE)), "sum of string is evaluated by Spark alone"),
    "map key": (aggregate((MAP,)), "values of type map<string, int> are compared by Spark alone"),
    "order": (Top(SOURCE, (Order(VARIANT),), 1), "values of type variant are compared by Spark alone"),
    "set of doubles": (
        aggregate((), Reduce("collect_set", (D,), Type("array", (DOUBLE,)))),
        "collect_set of double is evaluated by Spark alone",
    ),
    "percentiles": (
        aggregate((), Reduce("percentile", (X, Literal(0.5, DOUBLE), Literal(2, BIGINT)), DOUBLE)),
        "percentile(bigint, double, bigint) is evaluated by Spark alone",
    ),
    "opaque": (
        aggregate((), Reduce("sum", (Opaque("f(x)", (X,), BIGINT),), BIGINT)),
        "`f(x)` is evaluated by Spark alone",
    ),
    "range": (
        window((), (Order(X),), Over("sum", (X,), BIGINT, Frame("range", Literal(-2, BIGINT), Literal(0, INT)))),
        "a window frame over a range of values is evaluated by Spark alone",
    ),
    "lag": (
        window((), (Order(X),), Over("lag", (X,), BIGINT, Frame("rows", Literal(-1, INT), None), ignore_nulls=True)),
        "lag with IGNORE NULLS is evaluated by Spark alone",
    ),
    "sealed": (SparkOperator((SOURCE,), "Map", "a Python function", FIELDS), "a Python function"),
    "scan": (Scan("orders", FIELDS), "constant rows belong to no group"),
    "constants": (CONSTANT, "constant rows belong to no group"),
    "constants kept": (
        Join(SOURCE, CONSTANT, "full", None, (*FIELDS, *CONSTANT.columns)),
        "a full join that keeps constant rows is evaluated by Spark alone",
    ),
}


@pytest.mark.parametrize("name", list(REASONS))
def test_reasons(name: str) -> None:
    plan, reason = REASONS[name]
    assert why_not(plan) == reason


def test_constants_join_every_group() -> None:
    plan = Join(SOURCE, CONSTANT, "left", None, (*FIELDS, *CONSTANT.columns))
    assert why_not(plan) is None
    rows = keyed(rows_of([((1, 2, "a", 0.5), 2), ((None, 2, "a", 0.5), 1)]), "g")
    found = compile_plan(plan)([rows])
    assert found.weights.tolist() == [2, 1]
    assert found["c"].to_pylist() == [1, 1]
    assert found["_key"].equals(rows["_key"])


NESTED = {
    "array<double>": [[1.0], [0.0, float("nan")], None, [-0.0, -float("nan")], [0.0], None],
    "struct<a: array<float>>": [{"a": [1.0]}, {"a": [0.0]}, {"a": None}, {"a": [-0.0]}, None, {"a": None}],
}


@pytest.mark.parametrize("kind", list(NESTED))
def test_keys_with_equal_floats_inside_are_equal(kind: str) -> None:
    keys = pa.array(NESTED[kind], arrow_type(parse_type(kind))).slice(1)
    _, numbers = number_groups([normalized(keys)], len(keys))
    first, second, third, fourth, fifth = numbers.tolist()
    assert first == third
    assert second == fifth
    assert len({first, second, fourth}) == 3
