"""Tables of values at the edges, and what evaluating plans over them gives: here, and in Spark."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.rows import Rows
from viewlet.engine.groups import compile_plan, why_not
from viewlet.plan.expr import Call, Column, Literal
from viewlet.plan.nodes import Input, Plan
from viewlet.plan.types import BIGINT, BOOLEAN, DOUBLE, INT, Field, parse_type

NAN, INF = math.nan, math.inf
UTC = dt.UTC
EDGES: dict[str, list[Any]] = {
    "tinyint": [-128, 127, 0, 1, 1],
    "smallint": [-32768, 32767, 0, 5],
    "int": [-(2**31), 2**31 - 1, 0, 7, 7],
    "bigint": [-(2**57), 2**57, 2**53 + 1, 0, 3, 3],
    "small": [-(2**45), 2**45 + 1, 12345, 0, 3],
    "float": [0.0, -0.0, 1.5, -2.25, 0.1, NAN],
    "double": [0.0, -0.0, 1.5, 1e-300, 0.1, 3.25],
    "wild": [0.0, -0.0, NAN, INF, -INF, 2.5],
    "decimal(7,2)": [Decimal("99999.99"), Decimal("-99999.99"), Decimal("0.01"), Decimal("0.00"), Decimal("1.05")],
    "decimal(18,4)": [Decimal("12345678901234.5678"), Decimal("-0.0001"), Decimal("0.3333"), Decimal("2.0000")],
    "decimal(30,6)": [Decimal(10**29).scaleb(-6), Decimal(-(10**29) + 7).scaleb(-6), Decimal("0.000001"), Decimal(3)],
    "decimal(38,38)": [Decimal(1).scaleb(-38), Decimal(7).scaleb(-38), Decimal(-5).scaleb(-38), Decimal("0.01")],
    "string": ["", "a", "A", "é", "\U0001f600", "\uffff", "ab", "a ", "a"],
    "binary": [b"", b"\x00", b"\xff", b"\x7f", b"a", b"ab"],
    "boolean": [True, False],
    "date": [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1970, 1, 1), dt.date(2024, 2, 29)],
    "timestamp": [dt.datetime(1, 1, 1, tzinfo=UTC), dt.datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=UTC)],
    "timestamp_ntz": [dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)],
    "array<int>": [[], [1], [1, 2], [1, None], [None], [2]],
    "struct<a: int, b: string>": [
        {"a": 1, "b": "x"},
        {"a": 1, "b": None},
        {"a": None, "b": "z"},
        {"a": None, "b": None},
    ],
    "struct<d: double, e: array<double>>": [{"d": 1.0, "e": [0.5]}, {"d": NAN, "e": []}, {"d": 1.0, "e": None}],
}
NICKNAMES = {"wild": DOUBLE, "small": BIGINT}
"""Doubles with infinities; longs whose sums are exact as doubles, which is how Spark averages them."""
KINDS = {name: NICKNAMES.get(name) or parse_type(name) for name in EDGES}
FIELDS = (
    Field("id", INT),
    Field("g", INT),
    *(Field(f"c{i}", kind) for i, kind in enumerate(KINDS.values())),
)
"""`id` numbers the rows, `g` groups them, and there is a column for each kind of edge values."""
NUMBERS = [n for n in KINDS if KINDS[n].is_numeric and n != "wild"]
G, ID = Column("g", INT), Column("id", INT)
G_ABOVE_2 = Call("gt", (G, Literal(2, INT)), BOOLEAN)
WHOLE = [n for n in NUMBERS if KINDS[n].name not in ("float", "double")]


def column(name: str) -> Column:
    """The column of a kind of edge values, or a column by its own name."""
    named = {f.name: f for f in FIELDS} | {kind: FIELDS[i + 2] for i, kind in enumerate(KINDS)}
    return Column(named[name].name, named[name].type)


def make_table(size: int, groups: list[int | None], seed: int) -> pa.Table:
    """Rows with edge values drawn at random, one in six NULL, and every fourth row twice."""
    draw = np.random.default_rng(seed)
    rows = []
    for number in range(size):
        values = [e[int(draw.integers(len(e)))] if draw.random() > 1 / 6 else None for e in EDGES.values()]
        row = [number, groups[int(draw.integers(len(groups)))], *values]
        rows += [row] * (2 if number % 4 == 0 else 1)
    columns = [pa.array([r[i] for r in rows], type=arrow_type(f.type)) for i, f in enumerate(FIELDS)]
    return pa.table(columns, names=[f.name for f in FIELDS])


TABLES = {
    "t": make_table(40, [1, 2, 3, 4, 5, None], seed=1),
    "u": make_table(12, [2, 3, 3, 4, 7, None], seed=2),
    "nothing": make_table(0, [1], seed=3),
}


def source(index: int = 0, prefix: str = "") -> Input:
    return Input(index, tuple(Field(prefix + f.name, f.type) for f in FIELDS))


def weighted(table: pa.Table) -> Rows:
    """The rows of a table, each different one once, with its weight."""
    return Rows.of(table).consolidate()


def run(plan: Plan, tables: tuple[str, ...], key: str | None) -> pa.Table:
    """The plan's rows, computed here; with a key column, group by group."""
    assert why_not(plan, keyed=key is not None) is None
    inputs = [weighted(TABLES[name]) for name in tables]
    if key is not None:
        keyed = [r.with_columns({"_key": pa.array(r.hashes([key]).astype(np.int64))}) for r in inputs]
        result = compile_plan(plan)(keyed)
        assert result.names[-1] == "_key"
        result = result.select(result.names[:-1])
    else:
        result = compile_plan(plan, keyed=False)(inputs)
    for f in plan.columns:
        assert result[f.name].type == arrow_type(f.type), f
    return result.expanded().arrow()


def plain(value: Any) -> Any:
    """A value that compares and prints the same in both worlds."""
    match value:
        case dict():
            return tuple((k, plain(v)) for k, v in value.items())
        case list():
            return [plain(v) for v in value]
        case bytearray() | memoryview():
            return bytes(value)
        case dt.datetime():
            return value.isoformat()
        case _:
            return value


def rank(row: tuple[Any, ...]) -> str:
    """Something to sort rows by: floats to six digits, so that the last ones do not matter."""
    return repr([f"{v:.6g}" if isinstance(v, float) else v for v in row])


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = [[plain(v) for v in column.to_pylist()] for column in table.columns]
    return sorted(zip(*columns, strict=True) if columns else [], key=rank)


def close(a: Any, b: Any, *, signed: bool) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        if signed and math.copysign(1, a) != math.copysign(1, b) and not math.isnan(a):
            return False
        return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-9)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(close(x, y, signed=signed) for x, y in zip(a, b, strict=True))
    return bool(a == b) and type(a) is type(b)


def assert_same(ours: pa.Table, spark: pa.Table, note: str = "", *, signed: bool = False) -> None:
    """The same bag of rows; doubles to nine digits; `signed` tells 0.0 from −0.0."""
    a, b = rows_of(ours), rows_of(spark)
    assert len(a) == len(b), f"{note}: {len(a)} rows here, {len(b)} in Spark"
    for here, there in zip(a, b, strict=True):
        assert close(here, there, signed=signed), f"{note}:\nhere  {here}\nSpark {there}"
