"""Aggregates evaluated here are those that Spark gives: function by function, type by type."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tests.local_edges import (
    G_ABOVE_2,
    KINDS,
    NUMBERS,
    WHOLE,
    assert_same,
    close,
    column,
    plain,
    rows_of,
    run,
    source,
)
from viewlet.columns.rows import Rows
from viewlet.columns.types import arrow_type
from viewlet.engine.local import compile_plan
from viewlet.engine.local.reducers import TABLE
from viewlet.errors import EvaluationError
from viewlet.plan.expr import Column, Expr, Literal, Named, Reduce
from viewlet.plan.nodes import Aggregate, Input, Plan
from viewlet.plan.types import BIGINT, BOOLEAN, DOUBLE, INT, Field, Type, decimal

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class Case:
    """An aggregate call, and its text in SQL."""

    call: Reduce
    text: str


def call(function: str, kinds: Iterable[str], result: Type, **options: Any) -> Case:
    args = tuple(column(k) for k in kinds)
    where = options.get("where")
    text = f"{function}({'distinct ' if options.get('distinct') else ''}{', '.join(a.name for a in args) or '*'})"
    return Case(Reduce(function, args, result, **options), text if where is None else f"{text} filter (where g > 2)")


def sum_type(name: str) -> Type:
    kind = KINDS[name]
    if kind.name == "decimal":
        return decimal(min(kind.args[0] + 10, 38), kind.args[1])
    return DOUBLE if kind.name in ("float", "double") else BIGINT


def avg_type(name: str) -> Type:
    kind = KINDS[name]
    if kind.name != "decimal":
        return DOUBLE
    precision, scale = kind.args[0] + 4, min(kind.args[1] + 4, 38)
    return decimal(min(precision, 38), scale)


DOUBLES = ("double", "wild")


def sorted_array(case: Case) -> Case:
    """Arrays come in any order: compare them sorted, which both sides do after the fact."""
    return Case(case.call, f"sort_array({case.text})")


def exact_cases() -> list[Case]:
    cases = [call("count", (), BIGINT), call("count", (), BIGINT, where=G_ABOVE_2)]
    for name, kind in KINDS.items():
        cases += [call("count", (name,), BIGINT), call("count", (name,), BIGINT, distinct=True)]
        cases += [call(f, (name,), kind) for f in ("min", "max")]
        cases += [call("max", (name,), kind, where=G_ABOVE_2)]
    for name in WHOLE:
        cases += [call(f, (name,), sum_type(name)) for f in ("sum", "try_sum")]
        cases += [call("sum", (name,), sum_type(name), distinct=True)]
    for name in NUMBERS:
        if (
            KINDS[name].name != "decimal" or KINDS[name].args[0] > 11
        ):  # else Spark's optimizer makes it an avg of doubles
            cases += [call(f, (name,), avg_type(name)) for f in ("avg", "try_avg", "mean")]
    cases += [call("sum", (name,), DOUBLE) for name in ("float", "double")]
    cases += [call("count", ("int", "string"), BIGINT, distinct=True)]
    cases += [call(f, ("boolean",), BOOLEAN) for f in ("bool_and", "bool_or", "every", "some", "any")]
    cases += [call("count_if", ("boolean",), BIGINT)]
    for name in ("tinyint", "smallint", "int", "bigint"):
        cases += [call(f, (name,), KINDS[name]) for f in ("bit_and", "bit_or", "bit_xor")]
    return cases


def float_cases() -> list[Case]:
    central = ("var_pop", "var_samp", "variance", "stddev_pop", "stddev_samp", "stddev", "std", "skewness", "kurtosis")
    cases = [call(f, (name,), DOUBLE) for f in central for name in DOUBLES]
    cases += [call(f, ("double", "wild"), DOUBLE) for f in ("covar_pop", "covar_samp")]
    cases += [call("corr", ("double", "wild"), DOUBLE, where=G_ABOVE_2)]
    cases += [call("sum", ("wild",), DOUBLE), call("avg", ("wild",), DOUBLE)]
    for share in (0.0, 0.3, 0.5, 1.0):
        for name in ("int", "bigint", "float", "double", "wild"):
            args = (column(name), Literal(share, DOUBLE), Literal(1, BIGINT))
            cases.append(Case(Reduce("percentile", args, DOUBLE), f"percentile({args[0].name}, {share}d)"))
    return cases


def array_cases() -> list[Case]:
    names = [n for n in KINDS if "double" not in n and n not in ("wild", "float")]
    lists = [call("collect_list", (n,), Type("array", (KINDS[n],))) for n in (*names, "double")]
    return [sorted_array(c) for c in lists + [call("collect_set", (n,), Type("array", (KINDS[n],))) for n in names]]


def aggregate(rows: Plan, keys: tuple[Expr, ...], calls: list[Reduce]) -> Aggregate:
    results = [Named(f"k{i}", k) for i, k in enumerate(keys)] + [Named(f"r{i}", c) for i, c in enumerate(calls)]
    return Aggregate(rows, keys, tuple(results), tuple(Field(r.name, r.expr.type) for r in results))


def sorted_lists(table: pa.Table) -> pa.Table:
    """Each array with its elements sorted by their text."""
    columns = [[None if v is None else sorted(map(repr, map(plain, v))) for v in c.to_pylist()] for c in table.columns]
    return pa.table(columns, names=table.column_names)


@pytest.mark.parametrize("table", ["t", "nothing"])
@pytest.mark.parametrize("grouped", [True, False])
def test_aggregates(sql: Any, table: str, grouped: bool) -> None:
    keys = (Column("g", INT),) if grouped else ()
    for cases in (exact_cases(), float_cases()):
        expected = sql(
            f"select {'g, ' if grouped else ''}{', '.join(f'{c.text} r{i}' for i, c in enumerate(cases))} from {table}"
            + (" group by g" if grouped else "")
        )
        plan = aggregate(source(), keys, [c.call for c in cases])
        for key in ("g", None) if grouped else (None,):
            ours = run(plan, (table,), key)
            order = [(a, b) for a, b in zip(rows_of(ours), rows_of(expected), strict=True)]
            for here, there in order:
                for i, c in enumerate(cases):
                    at = i + grouped
                    assert close(here[at], there[at], signed=False), (c.text, here[0], here[at], there[at])


@pytest.mark.parametrize("table", ["t", "nothing"])
def test_arrays_of_a_group(sql: Any, table: str) -> None:
    cases = array_cases()
    expected = sql(f"select g, {', '.join(f'{c.text} r{i}' for i, c in enumerate(cases))} from {table} group by g")
    ours = run(aggregate(source(), (Column("g", INT),), [c.call for c in cases]), (table,), "g")
    a = sorted_lists(ours.drop_columns(["k0"])).append_column("g", ours["k0"])
    b = sorted_lists(expected.drop_columns(["g"])).append_column("g", expected["g"])
    assert_same(a, b)


SUFFIX = "[ignore nulls]"
ENDS = [name + more for name in ("first", "first_value", "any_value", "last", "last_value") for more in ("", SUFFIX)]


def test_first_and_last_where_there_is_no_choice(sql: Any) -> None:
    """The rows of one `id` are equal, apart from NULLs that are passed over."""
    x = column("decimal(7,2)")
    calls = [Reduce(name, (x,), x.type) for name in ENDS]
    texts = [f"{name.removesuffix(SUFFIX)}({x.name}, {str(name.endswith(SUFFIX)).lower()})" for name in ENDS]
    expected = sql(f"select id, {', '.join(f'{t} r{i}' for i, t in enumerate(texts))} from t group by id")
    assert_same(run(aggregate(source(), (Column("id", INT),), calls), ("t",), "id"), expected)


def test_every_function_of_the_table_has_a_case() -> None:
    cases = exact_cases() + float_cases() + array_cases()
    covered = {c.call.function for c in cases} | set(ENDS)
    assert covered == set(TABLE)


@pytest.mark.parametrize("kind", list(KINDS))
def test_group_keys(sql: Any, kind: str) -> None:
    """DISTINCT and GROUP BY of every type: NULL is one key, NaN is one key, −0.0 comes out as 0.0."""
    key = column(kind)
    plan = aggregate(source(), (key,), [Reduce("count", (), BIGINT)])
    expected = sql(f"select {key.name}, count(*) from t group by {key.name}")
    assert_same(run(plan, ("t",), None), expected, kind, signed=True)


def failing(function: str, kind: Type, values: list[Any], result: Type) -> tuple[Plan, Rows]:
    x = Column("x", kind)
    args = (x, x) if function == "corr" else (x,)
    plan = aggregate(Input(0, (Field("x", kind),)), (), [Reduce(function, args, result)])
    return plan, Rows.of(pa.table({"x": pa.array(values, type=arrow_type(kind))}))


FAILURES = {
    "sum of bigint": ("sum", BIGINT, [2**63 - 1, 1], BIGINT, "ARITHMETIC_OVERFLOW"),
    "sum of negative bigint": ("sum", BIGINT, [-(2**63), -1], BIGINT, "ARITHMETIC_OVERFLOW"),
    "sum of decimal": ("sum", decimal(38, 0), [Decimal(10**38 - 1), Decimal(1)], decimal(38, 0), "ARITHMETIC_OVERFLOW"),
    "avg, sum too wide": ("avg", decimal(38, 4), [Decimal(10**34 - 1)] * 2, decimal(38, 8), "ARITHMETIC_OVERFLOW"),
    "avg too wide": ("avg", decimal(38, 0), [Decimal(10**37)], decimal(38, 4), "NUMERIC_VALUE_OUT_OF_RANGE"),
    "corr of a constant": ("corr", DOUBLE, [0.1, 0.1, 0.1], DOUBLE, "DIVIDE_BY_ZERO"),
}


@pytest.mark.parametrize("name", list(FAILURES))
def test_failures(spark: Any, name: str) -> None:
    function, kind, values, result, error = FAILURES[name]
    plan, rows = failing(function, kind, values, result)
    frame = spark.createDataFrame(rows.arrow(), f"x {kind}")
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException) as there:
        frame.selectExpr(f"{function}(x, x)" if function == "corr" else f"{function}(x)").collect()
    assert error in str(there.value)
    with pytest.raises(EvaluationError, match=error):
        compile_plan(plan, keyed=False)([rows])


@pytest.mark.parametrize("values", [[2**63 - 1, -1], [-(2**63), 1], [2**62, 2**62 - 1, -5]])
def test_sums_at_the_edge_of_bigint(values: list[int]) -> None:
    plan, rows = failing("sum", BIGINT, values, BIGINT)
    assert compile_plan(plan, keyed=False)([rows])["r0"].to_pylist() == [sum(values)]
