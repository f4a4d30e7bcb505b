"""Plans as text, without Spark."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from viewlet.plan.expr import Call, Column, Expr, Frame, Literal, Named, Opaque, Order, Over, Reduce
from viewlet.plan.nodes import Aggregate, Input, Join, Plan, Project, Scan, Top, Union, Values, Window
from viewlet.plan.show import show, show_expr, show_order
from viewlet.plan.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, Field, Type, parse_type
from viewlet.spark.decode.data_types import decode_type, encode_type

A, B = Column("a", BIGINT), Column("b", BIGINT)
ONE, X = Literal(1, BIGINT), Literal("it's", STRING)


def call(function: str, *args: Expr, kind: Type = BIGINT) -> Call:
    return Call(function, args, kind)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (call("multiply", A, call("subtract", ONE, B)), "a * (1 - b)"),
        (call("subtract", call("subtract", A, B), ONE), "a - b - 1"),
        (call("subtract", A, call("subtract", B, ONE)), "a - (b - 1)"),
        (call("and", call("or", A, B), call("not", call("lt", A, B))), "(a OR b) AND NOT a < b"),
        (call("not", call("eq", A, B)), "a <> b"),
        (call("is_null", call("eq", A, B)), "(a = b) IS NULL"),
        (call("in", A, ONE, Literal(None, BIGINT)), "a IN (1, NULL)"),
        (call("cast", A, kind=Type("decimal", (12, 2))), "cast(a AS decimal(12,2))"),
        (call("case", call("gt", A, B), A, B), "CASE WHEN a > b THEN a ELSE b END"),
        (call("case", call("gt", A, B), A), "CASE WHEN a > b THEN a END"),
        (call("get_field", A, Literal("x y", STRING)), "a.`x y`"),
        (call("negate", call("add", A, B)), "-(a + b)"),
        (call("coalesce", A, X), "coalesce(a, 'it''s')"),
        (Opaque("rlike(a, b)", (A,), BOOLEAN), "rlike(a, b)"),
        (Reduce("count", (), BIGINT), "count(*)"),
        (Reduce("sum", (A,), BIGINT, distinct=True, where=call("gt", A, B)), "sum(DISTINCT a) FILTER (WHERE a > b)"),
        (
            Over("lag", (A, ONE), BIGINT, Frame("rows", Literal(-1, INT), Literal(0, INT))),
            "lag(a, 1) OVER (ROWS -1 TO CURRENT ROW)",
        ),
        (Column("sum(x)", BIGINT), "`sum(x)`"),
        (Literal(Decimal("1.50"), Type("decimal", (3, 2))), "1.50"),
        (Literal(b"\x0a", Type("binary")), "X'0A'"),
        (Literal(date(2020, 1, 2), Type("date")), "2020-01-02"),
        (Literal(datetime(2020, 1, 2, tzinfo=UTC), Type("timestamp")), "2020-01-02 00:00:00Z"),
        (Literal(1.0, DOUBLE), "1.0"),
        (Literal(True, BOOLEAN), "true"),
    ],
)
def test_expressions(expr: Expr, text: str) -> None:
    assert show_expr(expr) == text


@pytest.mark.parametrize(
    ("order", "text"),
    [
        (Order(A), "a"),
        (Order(A, descending=True, nulls_first=False), "a DESC"),
        (Order(A, nulls_first=False), "a NULLS LAST"),
        (Order(A, descending=True), "a DESC NULLS FIRST"),
    ],
)
def test_order(order: Order, text: str) -> None:
    assert show_order(order) == text


def test_a_tree() -> None:
    a, b = Field("a", BIGINT), Field("b", BIGINT)
    groups = Aggregate(Scan("t", (a,)), (A,), (Named("a", A), Named("b", Reduce("count", (), BIGINT))), (a, b))
    plan: Plan = Join(
        groups, Values(((1,),), (Field("c", BIGINT),)), "inner", call("eq", A, Column("c", BIGINT)), (a, b)
    )
    plan = Top(Window(plan, (A,), (), (), (a, b)), (Order(B),), 3, 1)
    assert show(plan).splitlines() == [
        "Top 3 OFFSET 1 ORDER BY b",
        "  Window [PARTITION BY a]",
        "    Join inner a = c",
        "      Aggregate [a] a, count(*) AS b",
        "        Scan t [a]",
        "      Values [c] (1)",
    ]


def test_a_shared_subtree_is_written_once() -> None:
    a = (Field("a", BIGINT),)
    shared = Project(Input(0, a), (Named("a", A),), a)
    assert show(Union((shared, shared), a)).splitlines() == [
        "Union [a]",
        "  #1 := Project a",
        "    Input 0 [a]",
        "  #1",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "int",
        "char(3)",
        "string collate UTF8_LCASE",
        "decimal(5,2)",
        "array<map<string, struct<a: bigint, b: date>>>",
        "interval day to second",
        "void",
    ],
)
def test_types_to_spark_and_back(text: str) -> None:
    assert decode_type(encode_type(parse_type(text))) == parse_type(text)


def test_types_that_spark_alone_has() -> None:
    assert decode_type({"type": "udt", "sqlType": "double"}) == DOUBLE
