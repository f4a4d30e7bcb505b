"""Aggregates evaluated here are those that Spark gives: function by function, type by type."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tests.kernel_cases import as_of
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
from tests.marks import quickly
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.rows import Rows
from viewlet.engine.groups import compile_plan
from viewlet.engine.groups.reducers import TABLE, why_not_reduce
from viewlet.errors import EvaluationError
from viewlet.plan.expr import Call, Column, Expr, Literal, Named, Reduce
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
FLOATS_INSIDE = [name for name, kind in KINDS.items() if kind.is_nested and kind.has_floats]


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
    for name in (*NUMBERS, "wild"):
        cases += [percentile(name, share) for share in (0.0, 0.3, 0.5, 1.0)]
        cases += [
            ranked(name, share, descending=descending)
            for share in (0.0, 0.1, 0.5, 0.7, 1.0)
            for descending in (False, True)
        ]
    cases += [ranked("int", 0.4, where=G_ABOVE_2), ranked("int", 0.4, where=G_ABOVE_2, descending=True)]
    return cases


def percentile(name: str, share: float | tuple[float, ...]) -> Case:
    """The share from the least value on, interpolated; for a share of the greatest see `ranked`."""
    args, kind, text = shares_of(name, share)
    return Case(Reduce("percentile", (*args, Literal(1, BIGINT)), kind), f"percentile({args[0].name}, {text})")


def shares_of(name: str, share: float | tuple[float, ...]) -> tuple[tuple[Column, Expr], Type, str]:
    """The arguments of a percentile, its type, and the text of the share, or of several as an array."""
    if isinstance(share, float):
        return (column(name), Literal(share, DOUBLE)), DOUBLE, f"{share}d"
    doubles = Type("array", (DOUBLE,))
    constants = Call("array", tuple(Literal(s, DOUBLE) for s in share), doubles)
    return (column(name), constants), doubles, f"array({', '.join(f'{s}d' for s in share)})"


def ranked(
    name: str,
    share: float | tuple[float, ...],
    function: str = "percentile_disc",
    *,
    descending: bool = False,
    where: Expr | None = None,
) -> Case:
    """A percentile by the order that the call says."""
    args, kind, text = shares_of(name, share)
    more = (Literal(1, BIGINT),) if function == "percentile" else ()
    call = Reduce(function + "[reverse=true]" * descending, (*args, *more), kind, where=where)
    asked = function.replace("percentile", "percentile_cont") if function == "percentile" else function
    order = f"{args[0].name}{' desc' * descending}"
    return Case(call, f"{asked}({text}) within group (order by {order}){' filter (where g > 2)' * bool(where)}")


def chosen_cases() -> list[Case]:
    """Functions that choose among a group's values, or put them into an order."""
    left = FLOATS_INSIDE if "since" in as_of("mode") else [n for n in KINDS if KINDS[n].holds("binary")]
    kinds = [n for n in KINDS if n not in left]
    cases = [mode(n, largest=largest) for n in kinds for largest in (False, True)]
    cases += [mode("int", largest=True, where=G_ABOVE_2)]
    shares = (0.5, 0.0, 1.0, 0.25)
    for name in ("int", "decimal(7,2)", "double"):
        cases += [percentile(name, shares), ranked(name, shares), ranked(name, shares, descending=True)]
        cases += [ranked(name, 0.3, "percentile", descending=True), ranked(name, shares, "percentile", descending=True)]
    for name in ("string", "binary"):
        mark = {"string": "', '", "binary": "X'2c00'"}[name]
        for way in ("asc nulls first", "desc nulls last"):
            cases += [listagg(name, mark, (name, way)), listagg(name, "NULL", (name, way), where=G_ABOVE_2)]
        for kind in KINDS:
            cases += [
                listagg(name, mark, (kind, "desc nulls first"), ("id", "asc nulls last"), (name, "asc nulls first"))
            ]
    return cases


def distinct_texts() -> list[list[Case]]:
    """listagg of DISTINCT texts, each alone: Spark's optimizer fails on several."""
    marks = {"string": "', '", "binary": "X'2c00'"}
    ways = ("asc nulls first", "desc nulls last")
    return [[listagg(name, mark, (name, way), distinct=True)] for name, mark in marks.items() for way in ways]


def mode(name: str, *, largest: bool, where: Expr | None = None) -> Case:
    x, way = column(name), "false" if largest else "true"
    text = f"mode() within group (order by {x.name}{' desc' * largest}){' filter (where g > 2)' * bool(where)}"
    return Case(Reduce(f"mode[reverseOpt={way}]", (x,), x.type, where=where), text)


def listagg(name: str, mark: str, *order: tuple[str, str], distinct: bool = False, where: Expr | None = None) -> Case:
    """The texts of a group in the order of some columns; the row's number is the last but one of several."""
    x, kind = column(name), KINDS[name]
    value = {"NULL": None, "', '": ", ", "X'2c00'": b",\x00"}[mark]
    keys = [column(n) for n, _ in order]
    function = f"listagg[{', '.join(way for _, way in order)}]"
    args: tuple[Expr, ...] = (x, Literal(value, kind if value is not None else Type("void")), *keys)
    terms = ", ".join(f"{k.name} {way}" for k, (_, way) in zip(keys, order, strict=True))
    text = f"listagg({'distinct ' * distinct}{x.name}, {mark}) within group (order by {terms})"
    call = Reduce(function, args, kind, distinct=distinct, where=where)
    return Case(call, text + " filter (where g > 2)" * bool(where))


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


@pytest.mark.parametrize("table", quickly(1, ["t", "nothing"]))
@pytest.mark.parametrize("grouped", [True, False])
def test_aggregates(sql: Any, table: str, grouped: bool) -> None:
    keys = (Column("g", INT),) if grouped else ()
    for cases in (exact_cases(), float_cases(), chosen_cases(), *distinct_texts()):
        expected = sql(
            f"select {'g, ' if grouped else ''}{', '.join(f'{c.text} r{i}' for i, c in enumerate(cases))} from {table}"
            + (" group by g" if grouped else "")
        )
        plan = aggregate(source(), keys, [replace(c.call, function=as_of(c.call.function)) for c in cases])
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


def test_the_mode_of_bytes_is_sparks_since_4_1_0_takes_equal_ones_for_different() -> None:
    call = mode("binary", largest=True).call
    assert why_not_reduce(call) == "mode[reverseOpt=false] of binary is evaluated by Spark alone"


def test_the_mode_of_values_with_floats_inside_is_sparks_since_it_counts_zeros_as_one() -> None:
    calls = [
        replace(mode(name, largest=True).call, function="mode[reverseOpt=false, since 4.2]") for name in FLOATS_INSIDE
    ]
    assert [why_not_reduce(call) for call in calls] == [
        f"{call.function} of {call.args[0].type} is evaluated by Spark alone" for call in calls
    ]
    assert calls


def test_every_function_of_the_table_has_a_case() -> None:
    cases = exact_cases() + float_cases() + array_cases() + chosen_cases()
    names = {c.call.function for c in cases if not c.call.function.startswith("listagg[")} | set(ENDS)
    covered = {as_of(name, version) for name in names for version in ("4.1.0", "4.2.0", "4.3.0")}
    elsewhere = {"approx_count_distinct"}  # in tests/test_sketches.py: it needs constants of Spark's
    assert covered | {"listagg"} | elsewhere == set(TABLE)


@pytest.mark.parametrize("kind", quickly(11, [*KINDS][::2] + [*KINDS][1::2]))
def test_group_keys(sql: Any, kind: str) -> None:
    """DISTINCT and GROUP BY of every type: NULL is one key, NaN is one key, −0.0 comes out as 0.0."""
    key = column(kind)
    plan = aggregate(source(), (key,), [Reduce("count", (), BIGINT)])
    expected = sql(f"select {key.name}, count(*) from t group by {key.name}")
    assert_same(run(plan, ("t",), None), expected, kind, signed=True)


def failing(function: str, kind: Type, values: list[Any], result: Type) -> tuple[Plan, Rows]:
    x = Column("x", kind)
    args = (x, x) if function.startswith("corr") else (x,)
    plan = aggregate(Input(0, (Field("x", kind),)), (), [Reduce(function, args, result)])
    return plan, Rows.of(pa.table({"x": pa.array(values, type=arrow_type(kind))}))


FAILURES: dict[str, tuple[str, Type, list[Any], Type, str]] = {
    "sum of bigint": ("sum", BIGINT, [2**63 - 1, 1], BIGINT, "ARITHMETIC_OVERFLOW"),
    "sum of negative bigint": ("sum", BIGINT, [-(2**63), -1], BIGINT, "ARITHMETIC_OVERFLOW"),
    "sum of decimal": ("sum", decimal(38, 0), [Decimal(10**38 - 1), Decimal(1)], decimal(38, 0), "ARITHMETIC_OVERFLOW"),
    "avg, sum too wide": ("avg", decimal(38, 4), [Decimal(10**34 - 1)] * 2, decimal(38, 8), "ARITHMETIC_OVERFLOW"),
    "avg too wide": ("avg", decimal(38, 0), [Decimal(10**37)], decimal(38, 4), "NUMERIC_VALUE_OUT_OF_RANGE"),
}


@pytest.mark.parametrize("name", list(FAILURES))
def test_failures(spark: Any, name: str) -> None:
    function, kind, values, result, error = FAILURES[name]
    plan, rows = failing(function, kind, values, result)
    frame = spark.createDataFrame(rows.arrow(), f"x {kind}")
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException) as there:
        frame.selectExpr(f"{function}(x)").collect()
    assert error in str(there.value)
    with pytest.raises(EvaluationError, match=error):
        compile_plan(plan, keyed=False)([rows])


@pytest.mark.parametrize("values", [[0.1, 0.1, 0.1], [0.0, 1e-170]])
def test_corr_of_a_constant(spark: Any, values: list[float]) -> None:
    """An error at first, NULL since Spark 4.3; of values whose spreads underflow together, an error still."""
    from pyspark.errors import PySparkException

    plan, rows = failing(as_of("corr"), DOUBLE, values, DOUBLE)
    frame = spark.createDataFrame(rows.arrow(), "x double").coalesce(1)
    there = outcome(lambda: [r[0] for r in frame.selectExpr("corr(x, x)").collect()], PySparkException)
    here = outcome(lambda: compile_plan(plan, keyed=False)([rows])["r0"].to_pylist(), EvaluationError)
    assert here == there


def outcome(ask: Callable[[], Any], error: type[Exception]) -> Any:
    """An answer, or the name of what went wrong."""
    try:
        return ask()
    except error as failure:
        return "DIVIDE_BY_ZERO" if "DIVIDE_BY_ZERO" in str(failure) else str(failure)


@pytest.mark.parametrize("values", [[2**63 - 1, -1], [-(2**63), 1], [2**62, 2**62 - 1, -5]])
def test_sums_at_the_edge_of_bigint(values: list[int]) -> None:
    plan, rows = failing("sum", BIGINT, values, BIGINT)
    assert compile_plan(plan, keyed=False)([rows])["r0"].to_pylist() == [sum(values)]
