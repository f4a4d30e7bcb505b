"""What matters most in evaluating expressions, without Spark: NULL, NaN, overflow, rounding, laziness, shapes."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewlet.columns.arrow_types import arrow_type, spark_type
from viewlet.columns.evaluate import compile_condition, compile_expr, why_not
from viewlet.columns.rows import Rows
from viewlet.errors import EvaluationError
from viewlet.plan.expr import Call, Column, Expr, Literal, Opaque
from viewlet.plan.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal, parse_type

NAN = float("nan")


def rows(**columns: tuple[str, list[Any]]) -> Rows:
    arrays = {name: pa.array(values, type=arrow_type(parse_type(kind))) for name, (kind, values) in columns.items()}
    return Rows(arrays, np.ones(len(next(iter(arrays.values()))), dtype=np.int64))


def column(name: str, kind: Type) -> Column:
    return Column(name, kind)


def call(function: str, *args: Expr, type: Type = BOOLEAN) -> Call:
    return Call(function, args, type)


def value(expr: Expr, given: Rows) -> list[Any]:
    result = compile_expr(expr)(given)
    result.validate(full=True)
    assert result.type == arrow_type(expr.type)
    assert len(result) == len(given)
    return result.to_pylist()


X, Y = column("x", INT), column("y", INT)
D, E = column("d", DOUBLE), column("e", DOUBLE)
S = column("s", STRING)
ONE, ZERO = Literal(1, INT), Literal(0, INT)


def test_nan_equals_nan_and_is_the_greatest() -> None:
    given = rows(d=("double", [NAN, NAN, 1.0, -0.0, None]), e=("double", [NAN, 1.0, NAN, 0.0, 1.0]))
    assert value(call("eq", D, E), given) == [True, False, False, True, None]
    assert value(call("gt", D, E), given) == [False, True, False, False, None]
    assert value(call("le", D, E), given) == [True, False, True, True, None]
    assert value(call("eq_null_safe", D, E), given) == [True, False, False, True, False]


def test_logic_has_three_values() -> None:
    truths = [True, False, None]
    given = rows(p=("boolean", [p for p in truths for _ in truths]), q=("boolean", truths * 3))
    p, q = column("p", BOOLEAN), column("q", BOOLEAN)
    assert value(call("and", p, q), given) == [True, False, None, False, False, False, None, False, None]
    assert value(call("or", p, q), given) == [True, True, True, True, False, None, True, None, None]
    assert compile_condition(call("or", p, q))(given).tolist() == [
        True,
        True,
        True,
        True,
        False,
        False,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("kind", "top"), [("tinyint", 2**7 - 1), ("smallint", 2**15 - 1), ("int", 2**31 - 1), ("bigint", 2**63 - 1)]
)
def test_integers_overflow_at_their_own_width(kind: str, top: int) -> None:
    type = Type(kind)
    x, one, two = column("x", type), Literal(1, type), Literal(2, type)
    given = rows(x=(kind, [top, None]))
    for function, other in (("add", one), ("multiply", two)):
        with pytest.raises(EvaluationError, match="ARITHMETIC_OVERFLOW"):
            value(call(function, x, other, type=type), given)
    assert value(call("try_add", x, one, type=type), given) == [None, None]
    assert value(call("wrapping_add", x, one, type=type), given) == [-top - 1, None]
    assert value(call("subtract", x, one, type=type), given) == [top - 1, None]


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1)), min_size=1))
def test_products_of_bigints_are_exact_or_null(pairs: list[tuple[int, int]]) -> None:
    given_rows = rows(x=("bigint", [x for x, _ in pairs]), y=("bigint", [y for _, y in pairs]))
    product = call("try_multiply", column("x", BIGINT), column("y", BIGINT), type=BIGINT)
    expected = [x * y if -(2**63) <= x * y < 2**63 else None for x, y in pairs]
    assert value(product, given_rows) == expected


def test_division_by_zero_fails_also_for_doubles_but_not_for_null() -> None:
    quotient = call("divide", D, E, type=DOUBLE)
    with pytest.raises(EvaluationError, match="DIVIDE_BY_ZERO"):
        value(quotient, rows(d=("double", [1.0]), e=("double", [-0.0])))
    assert value(quotient, rows(d=("double", [None]), e=("double", [0.0]))) == [None]


def test_what_is_null_or_decided_keeps_the_rest_from_failing() -> None:
    given = rows(d=("double", [None, 6.0]), e=("double", [0.0, 2.0]))
    quotient = call("divide", Literal(6.0, DOUBLE), E, type=DOUBLE)
    zero = call("eq", E, Literal(0.0, DOUBLE))
    assert value(call("add", D, quotient, type=DOUBLE), given) == [None, 9.0]
    assert value(call("if", zero, D, quotient, type=DOUBLE), given) == [None, 3.0]
    assert value(call("or", zero, call("gt", quotient, E)), given) == [True, True]
    assert value(call("coalesce", E, quotient, type=DOUBLE), given) == [0.0, 2.0]
    with pytest.raises(EvaluationError, match="DIVIDE_BY_ZERO"):
        value(call("and", call("is_null", D), call("gt", quotient, E)), given)


def test_case_takes_the_first_branch_that_holds() -> None:
    given = rows(x=("int", [1, 2, 3, None]), s=("string", ["a", None, "c", "d"]))
    first, second = call("eq", X, ONE), call("eq", X, Literal(2, INT))
    chosen = call("case", first, Literal("one", STRING), second, S, Literal("more", STRING), type=STRING)
    assert value(chosen, given) == ["one", None, "more", "more"]
    assert value(call("case", first, S, type=STRING), given) == ["a", None, None, None]


def test_decimals_round_half_away_from_zero() -> None:
    given = rows(p=("decimal(5,2)", [Decimal("1.25"), Decimal("-1.25"), Decimal("0.04"), None]))
    p = column("p", decimal(5, 2))
    assert value(call("cast", p, type=decimal(4, 1)), given) == [Decimal("1.3"), Decimal("-1.3"), Decimal("0.0"), None]
    assert value(call("cast", p, type=INT), given) == [1, -1, 0, None]
    third = call("divide", p, Literal(Decimal("3.00"), decimal(3, 2)), type=decimal(11, 6))
    assert value(third, given)[:2] == [Decimal("0.416667"), Decimal("-0.416667")]
    with pytest.raises(EvaluationError, match="NUMERIC_VALUE_OUT_OF_RANGE"):
        value(call("cast", p, type=decimal(2, 2)), given)


@given(st.lists(st.tuples(st.integers(1 - 10**19, 10**19 - 1), st.integers(1 - 10**19, 10**19 - 1)), min_size=1))
def test_long_decimals_are_exact(pairs: list[tuple[int, int]]) -> None:
    given_rows = rows(
        p=("decimal(19,0)", [Decimal(a) for a, _ in pairs]), q=("decimal(19,0)", [Decimal(b) for _, b in pairs])
    )
    p, q = column("p", decimal(19, 0)), column("q", decimal(19, 0))
    assert value(call("add", p, q, type=decimal(20, 0)), given_rows) == [Decimal(a + b) for a, b in pairs]
    products = value(call("multiply", p, q, type=decimal(38, 0)), given_rows)
    assert [int(product) for product in products] == [a * b for a, b in pairs]


def test_casts_fail_where_the_value_does_not_fit() -> None:
    with pytest.raises(EvaluationError, match="CAST_OVERFLOW"):
        value(call("cast", D, type=INT), rows(d=("double", [2.0**31])))
    with pytest.raises(EvaluationError, match="CAST_OVERFLOW"):
        value(call("cast", D, type=BIGINT), rows(d=("double", [NAN])))
    with pytest.raises(EvaluationError, match="CAST_INVALID_INPUT"):
        value(call("cast", S, type=INT), rows(s=("string", ["1.5"])))
    assert value(call("try_cast", S, type=INT), rows(s=("string", [" 12 ", "x"]))) == [12, None]
    assert value(call("cast", D, type=INT), rows(d=("double", [-2.9, None]))) == [-2, None]


def test_strings_count_characters() -> None:
    given = rows(s=("string", ["a😀é", "", None]))
    assert value(call("length", S, type=INT), given) == [3, 0, None]
    assert value(call("substring", S, Literal(-2, INT), ONE, type=STRING), given) == ["😀", "", None]
    assert value(call("upper", S, type=STRING), given) == ["A😀É", "", None]
    assert value(call("like", S, Literal("a_é", STRING)), given) == [True, False, None]


def test_a_slice_of_a_column_is_read_from_its_offset() -> None:
    whole = rows(
        x=("int", [None, 1, 2, None, 4]),
        s=("string", [None, "a", "b", None, "c"]),
        p=("boolean", [None, True, False, None, True]),
    )
    part = Rows({name: array.slice(2, 3) for name, array in whole.columns.items()}, whole.weights[2:])
    assert value(call("add", X, ONE, type=INT), part) == [3, None, 5]
    assert value(call("eq", S, Literal("c", STRING)), part) == [False, None, True]
    assert value(call("not", column("p", BOOLEAN)), part) == [True, None, False]


def test_constants_and_no_rows() -> None:
    three = call("add", ONE, Literal(2, INT), type=INT)
    assert value(three, rows(x=("int", [7, 8]))) == [3, 3]
    assert value(call("concat", Literal("a", STRING), Literal("b", STRING), type=STRING), rows(x=("int", [7, 8]))) == [
        "ab",
        "ab",
    ]
    assert value(call("divide", Literal(1.0, DOUBLE), Literal(0.0, DOUBLE), type=DOUBLE), rows(x=("int", []))) == []
    assert compile_condition(Literal(True, BOOLEAN))(rows(x=("int", [1, 2]))).tolist() == [True, True]


def test_structs_are_built_and_taken_apart() -> None:
    kind = parse_type("struct<x: int, s: string>")
    given = rows(x=("int", [1, None]), s=("string", ["a", None]))
    pair = call("named_struct", Literal("x", STRING), X, Literal("s", STRING), S, type=kind)
    assert value(pair, given) == [{"x": 1, "s": "a"}, {"x": None, "s": None}]
    assert value(call("get_field", pair, Literal("s", STRING), type=STRING), given) == ["a", None]


def test_what_is_left_to_spark_says_so() -> None:
    assert why_not(call("regexp_replace", S, S, type=STRING)) == "`regexp_replace` is evaluated by Spark alone"
    assert "round" in (why_not(call("round", D, ONE, type=DOUBLE)) or "")
    assert "my_udf(x)" in (why_not(call("add", X, Opaque("my_udf(x)", (X,), INT), type=INT)) or "")
    assert why_not(call("add", X, ONE, type=INT)) is None


@pytest.mark.parametrize(
    "text",
    ["boolean", "tinyint", "bigint", "float", "double", "decimal(38,18)", "string", "binary", "date", "timestamp",
     "timestamp_ntz", "void", "variant", "array<int>", "map<string, array<double>>", "struct<a: int, b: variant>",
     "interval day to second"],
)  # fmt: skip
def test_types_survive_arrow(text: str) -> None:
    assert spark_type(arrow_type(parse_type(text))) == parse_type(text)


def test_other_arrow_shapes_have_spark_types() -> None:
    assert spark_type(pa.large_string()) == STRING
    assert spark_type(pa.timestamp("ns", tz="Europe/Paris")) == TIMESTAMP
    assert spark_type(pa.date64()) == DATE
    assert spark_type(pa.dictionary(pa.int32(), pa.string())) == STRING
    with pytest.raises(ValueError, match="uint8"):
        spark_type(pa.uint8())
