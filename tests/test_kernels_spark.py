"""The checked table against Spark itself: every entry, type by type, on the values at the edges.

An expression is written once, as a plan expression, and rendered to SQL for Spark, which evaluates it inside
`TryEval(named_struct('v', …))`: NULL exactly where it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import SparkSession, functions
from pyspark.sql.classic.column import Column as ClassicColumn
from pyspark.sql.types import DataType

from tests.kernel_cases import FAMILIES, WITHOUT_ANSI, as_of, sql
from tests.kernel_edges import VOID, edge_table
from tests.marks import some
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.evaluate import compile_expr, why_not
from viewlet.columns.kernels import TABLE
from viewlet.columns.rows import Rows
from viewlet.errors import EvaluationError
from viewlet.plan.expr import Call, Column, Expr, columns_of
from viewlet.plan.types import BINARY, STRING, parse_type

pytestmark = pytest.mark.spark


def _column_for(spark: SparkSession, expr: Expr) -> SparkColumn:
    """Spark's column for an expression: a struct of its value, NULL where it fails."""
    jvm: Any = spark._jvm
    expressions = jvm.org.apache.spark.sql.catalyst.expressions
    parse = spark._jsparkSession.sessionState().sqlParser().parseExpression
    if isinstance(expr, Call) and expr.function == "normalize_float":
        normalized = jvm.org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero(parse(sql(expr.args[0])))
        value = ClassicColumn(jvm.org.apache.spark.sql.classic.ExpressionUtils.column(normalized))
        return functions.struct(value.alias("v"))
    if isinstance(expr, Call) and expr.function.startswith("collation_key"):
        key = expressions.CollationKey(parse(sql(expr)))
        return functions.struct(ClassicColumn(jvm.org.apache.spark.sql.classic.ExpressionUtils.column(key)).alias("v"))
    if isinstance(expr, Call) and expr.function == "precise_time":
        kinds = [jvm.org.apache.spark.sql.types.DataType.fromDDL(str(k)) for k in (expr.args[0].type, expr.type)]
        given = parse(f"CAST({sql(expr.args[0])} AS {expr.args[0].type})")
        converted = expressions.PreciseTimestampConversion(given, *kinds)
        value = ClassicColumn(jvm.org.apache.spark.sql.classic.ExpressionUtils.column(converted))
        return functions.struct(value.alias("v"))
    wrapped = expressions.TryEval(parse(f"named_struct('v', if(row < 0, NULL, {sql(expr)}))"))
    return ClassicColumn(jvm.org.apache.spark.sql.classic.ExpressionUtils.column(wrapped))


def _typed(call: Call, kind: DataType) -> Call:
    """The case with the type that Spark gives it."""
    if call.type != VOID:
        return call
    return replace(call, type=parse_type(kind.simpleString().replace("struct<v:", "", 1)[:-1]))


def _chunks(cases: list[Call], size: int) -> Iterator[list[Call]]:
    for at in range(0, len(cases), size):
        yield cases[at : at + size]


def _evaluate(expr: Expr, rows: Rows) -> tuple[pa.Array, dict[int, str]]:
    """The values, and Spark's name for the failure of each row that fails."""
    run, rows = compile_expr(expr), rows.select(columns_of(expr))
    try:
        return run(rows), {}
    except EvaluationError:
        pass
    values, failures = [], {}
    for at in range(len(rows)):
        try:
            values.append(run(rows.take(np.array([at]))))
        except EvaluationError as error:
            values.append(pa.nulls(1, arrow_type(expr.type)))
            failures[at] = str(error).lstrip("[").split("]")[0]
    return pa.concat_arrays(values), failures


def _same(ours: pa.Array, theirs: pa.Array) -> np.ndarray[Any, Any]:
    """Row by row, whether two arrays hold the same bits (all NaN being one)."""
    if pa.types.is_floating(ours.type):
        bits = [np.where(np.isnan(v), np.nan, v).view(f"u{v.dtype.itemsize}") for v in map(_filled, (ours, theirs))]
        return (bits[0] == bits[1]) & (np.array(ours.is_valid()) == np.array(theirs.is_valid()))
    if pa.types.is_date(ours.type) or pa.types.is_timestamp(ours.type):
        width = pa.int32() if pa.types.is_date(ours.type) else pa.int64()
        ours, theirs = ours.view(width), theirs.view(width)
    if pa.types.is_nested(ours.type):
        return np.array([ours[i] == theirs[i] or str(ours[i]) == str(theirs[i]) for i in range(len(ours))])
    return np.array([x == y for x, y in zip(ours.to_pylist(), theirs.to_pylist(), strict=True)])


def _filled(array: pa.Array) -> np.ndarray[Any, Any]:
    return array.fill_null(0).to_numpy(zero_copy_only=False)


def _difference(expr: Expr, ours: pa.Array, failures: dict[int, str], theirs: pa.StructArray, rows: Rows) -> str | None:
    """The first row on which we and Spark differ, if any."""
    ours.validate(full=True)
    assert ours.type == arrow_type(expr.type), f"{sql(expr)}: {ours.type}"
    succeeded = np.array(theirs.is_valid())
    failing = np.array([at in failures for at in range(len(rows))])
    value = theirs.field("v").cast(arrow_type(expr.type))
    differing = np.flatnonzero((failing == succeeded) | (succeeded & ~_same(ours, value)))
    if not len(differing):
        return None
    at = int(differing[0])
    inputs = {name: rows[name][at] for name in rows.names if name in sql(expr)}
    spark_says = value[at] if succeeded[at] else "an error"
    return (
        f"{sql(expr)} of {inputs}: here {failures.get(at, ours[at])!r}, in Spark {spark_says!r} ({len(differing)} rows)"
    )


class Comparison:
    """Cases evaluated by both; what differs, an example of each kind of failure, and the functions compared."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.table = edge_table()
        self.rows = Rows.of(self.table)
        self.differences: list[str] = []
        self.examples: dict[tuple[str, str, str], tuple[Expr, int]] = {}
        self.compared: set[str] = set()

    def run(self, cases: list[Call]) -> None:
        """Compare some cases; those that only Spark evaluates are passed over."""
        frame = self.spark.createDataFrame(self.table).coalesce(1)
        cases = [call for call in cases if call.type == VOID or why_not(call) is None]
        for chunk in _chunks(cases, 60):
            columns = (_column_for(self.spark, call).alias(f"x{i}") for i, call in enumerate(chunk))
            chosen = frame.select(*columns)
            typed = [_typed(call, field.dataType) for call, field in zip(chunk, chosen.schema, strict=True)]
            wanted = [i for i, call in enumerate(typed) if why_not(call) is None]
            results = chosen.select(*(f"x{i}" for i in wanted)).toArrow()
            for i, theirs in zip(wanted, results.columns, strict=True):
                self._compare(typed[i], theirs.combine_chunks())

    def _compare(self, call: Call, theirs: pa.StructArray) -> None:
        self.compared.add(call.function)
        ours, failures = _evaluate(call, self.rows)
        if (difference := _difference(call, ours, failures, theirs, self.rows)) is not None:
            self.differences.append(difference)
        for at, name in failures.items():
            self.examples.setdefault((call.function, name, call.args[0].type.name), (call, at))

    def run_failures(self) -> None:
        """Let Spark fail on one row of each kind, and compare its name for the failure."""
        for (_, name, _), (expr, at) in self.examples.items():
            condition = _condition(self.spark, expr, self.table.slice(at, 1))
            if condition != name:
                self.differences.append(f"{sql(expr)}: fails here with {name}, in Spark with {condition}")


def _condition(spark: SparkSession, expr: Expr, row: pa.Table) -> str:
    """Spark's name for the failure on a row."""
    try:
        spark.createDataFrame(row.select(sorted(columns_of(expr)))).selectExpr(sql(expr)).collect()
    except PySparkException as error:
        return error.getCondition() or str(error)
    return "no error"


@contextmanager
def _setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    before = spark.conf.get(name)
    assert before is not None
    spark.conf.set(name, value)
    yield
    spark.conf.set(name, before)


def _played(cases: list[Call]) -> list[Call]:
    """Every fourth case in `make test`, and the first of each function; all of them in `make test-all`."""
    kept = some(4, cases) + list({call.function: call for call in reversed(cases)}.values())
    return [call for call in cases if any(call is other for other in kept)]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__.strip("_"))
def test_every_entry_equals_spark(family: Callable[[], Iterator[Call]], spark: SparkSession) -> None:
    cases = _played([replace(call, function=as_of(call.function)) for call in family()])
    comparison = Comparison(spark)
    # Evaluating a shared part once, and first, Spark would fail outside of `TryEval`.
    with _setting(spark, "spark.sql.subexpressionElimination.enabled", "false"):
        comparison.run([call for call in cases if not call.function.startswith(WITHOUT_ANSI)])
        with _setting(spark, "spark.sql.ansi.enabled", "false"):
            comparison.run([call for call in cases if call.function.startswith(WITHOUT_ANSI)])
    comparison.run_failures()
    assert not comparison.differences, "\n".join(comparison.differences)
    assert comparison.compared == {call.function for call in cases}, "a case is left to Spark"


def test_every_entry_has_a_case() -> None:
    elsewhere = {"hll_estimate"}  # in tests/test_sketches.py, against the object of Spark that does it
    names = {call.function for family in FAMILIES for call in family()}
    assert {as_of(n, v) for n in names for v in ("4.1.0", "4.2.0", "4.3.0")} | elsewhere == set(TABLE)


def test_letter_case_of_all_characters(spark: SparkSession) -> None:
    points = [p for p in (*range(1, 0x20000), *range(0xE0000, 0xE0200)) if not 0xD800 <= p < 0xE000]
    texts = [
        "".join(f"A{chr(p)}Σ AΣ{chr(p)}b AΣ{chr(p)} {chr(p)} " for p in points[i : i + 256])
        for i in range(0, len(points), 256)
    ]
    table = pa.table({"s": pa.array(texts)})
    theirs = spark.createDataFrame(table).selectExpr("upper(s) AS upper", "lower(s) AS lower").toArrow()
    for function in ("upper", "lower"):
        ours = compile_expr(Call(as_of(function), (Column("s", STRING),), STRING))(Rows.of(table))
        assert ours.equals(theirs.column(function).combine_chunks())
    folded = Call(as_of("collation_key"), (Column("s", parse_type("string collate utf8_lcase")),), BINARY)
    theirs = spark.createDataFrame(table).select(_column_for(spark, folded).alias("k")).toArrow()["k"].combine_chunks()
    assert compile_expr(folded)(Rows.of(table)).equals(theirs.field("v"))
