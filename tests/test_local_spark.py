"""Evaluating plans here is evaluating them in Spark: operator by operator, function by function, on edge data."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from viewlet.columns.rows import Rows
from viewlet.columns.types import arrow_type
from viewlet.engine.local import compile_plan, why_not
from viewlet.engine.local.frames import RANKS
from viewlet.engine.local.reducers import TABLE
from viewlet.errors import EvaluationError
from viewlet.plan.expr import Call, Column, Expr, Frame, Literal, Named, Order, Over, Reduce
from viewlet.plan.nodes import Aggregate, Expand, Filter, Input, Join, Plan, Project, Top, Union, Values, Window
from viewlet.plan.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, Field, Type, decimal, parse_type

pytestmark = pytest.mark.spark

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


@pytest.fixture(scope="module")
def sql(spark: Any) -> Any:
    """A function that runs Spark SQL over the test's tables."""
    for name, table in TABLES.items():
        ddl = ", ".join(f"`{f.name}` {f.type}" for f in FIELDS)
        spark.createDataFrame(table, ddl).createOrReplaceTempView(name)
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")  # compiling hundreds of results takes longest
    yield lambda text: spark.sql(text).toArrow()
    spark.conf.unset("spark.sql.codegen.factoryMode")
    for name in TABLES:
        spark.catalog.dropTempView(name)


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


G_ABOVE_2 = Call("gt", (Column("g", INT), Literal(2, INT)), BOOLEAN)
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
    assert {w.function for w, _, _ in window_cases()} >= set(RANKS) | {"lag", "lead", "first", "last", "nth_value"}


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


def eq(a: Column, b: Column, *, null_safe: bool = False) -> Call:
    return Call("eq_null_safe" if null_safe else "eq", (a, b), BOOLEAN)


def both(a: Expr, b: Expr) -> Call:
    return Call("and", (a, b), BOOLEAN)


JOINS = {
    "inner": "join",
    "left": "left join",
    "right": "right join",
    "full": "full join",
    "semi": "left semi join",
    "anti": "left anti join",
}
TEXT = Column(f"r_{column('string').name}", STRING)
G, RG, ID, RID = Column("g", INT), Column("r_g", INT), Column("id", INT), Column("r_id", INT)
CONDITIONS: dict[str, tuple[Expr | None, str, bool]] = {
    "g": (eq(G, RG), "a.g = b.g", True),
    "g null-safe": (eq(RG, G, null_safe=True), "a.g <=> b.g", True),
    "g and rest": (
        both(eq(G, RG), Call("lt", (ID, RID), BOOLEAN)),
        "a.g = b.g and a.id < b.id",
        True,
    ),
    "g and left only": (
        both(eq(G, RG), Call("gt", (ID, Literal(20, INT)), BOOLEAN)),
        "a.g = b.g and a.id > 20",
        True,
    ),
    "inequality": (Call("lt", (ID, RID), BOOLEAN), "a.id < b.id", False),
    "NOT IN": (
        Call("or", (eq(G, RG), Call("is_null", (eq(G, RG),), BOOLEAN)), BOOLEAN),
        "a.g = b.g or (a.g = b.g) is null",
        False,
    ),
    "all pairs": (None, "true", False),
}


def join(kind: str, condition: Expr | None) -> Project:
    left, right = source(), source(1, "r_")
    found = Field("found", BOOLEAN)
    sides = {"semi": left.columns, "anti": left.columns, "exists": (*left.columns, found)}
    joined = Join(left, right, kind, condition, sides.get(kind, left.columns + right.columns))
    wanted = [
        Column(f.name, f.type) for f in joined.columns if f.name in ("id", "g", "r_id", "r_g", TEXT.name, "found")
    ]
    return Project(joined, tuple(Named(c.name, c) for c in wanted), tuple(Field(c.name, c.type) for c in wanted))


@pytest.mark.parametrize(
    ("condition", "tables"),
    [(c, ("t", "u")) for c in CONDITIONS]
    + [(c, tables) for c in ("g and rest", "inequality") for tables in (("nothing", "u"), ("t", "nothing"))],
)
def test_joins(sql: Any, condition: str, tables: tuple[str, str]) -> None:
    expr, text, is_keyed = CONDITIONS[condition]
    for kind, words in JOINS.items():
        columns = (
            "a.id, a.g" if kind in ("semi", "anti") else f"a.id, a.g, b.id r_id, b.g r_g, b.{column('string').name}"
        )
        expected = sql(f"select {columns} from {tables[0]} a {words} {tables[1]} b on {text}")
        for keyed in (True, False) if is_keyed else (False,):
            plan = join(kind, expr)
            inputs = [weighted(TABLES[n]) for n in tables]
            assert why_not(plan, keyed=keyed) is None
            if keyed:
                inputs = [r.with_columns({"_key": pa.array(r.hashes(["g"]).astype(np.int64))}) for r in inputs]
            result = compile_plan(plan, keyed=keyed)(inputs).expanded().arrow()
            assert_same(result.drop_columns(["_key"]) if keyed else result, expected, f"{kind} on {text}")
    expected = sql(f"select a.id, a.g, exists(select 1 from {tables[1]} b where {text}) from {tables[0]} a")
    inputs = [weighted(TABLES[n]) for n in tables]
    assert_same(compile_plan(join("exists", expr), keyed=False)(inputs).expanded().arrow(), expected, text)


@pytest.mark.parametrize("kind", list(KINDS))
def test_join_keys(sql: Any, kind: str) -> None:
    """Equality of every type as a join key: NULL finds nothing, NaN finds NaN, −0.0 finds 0.0."""
    a = column(kind)
    b = Column(f"r_{a.name}", a.type)
    for null_safe, sign in ((False, "="), (True, "<=>")):
        plan = join("inner", eq(a, b, null_safe=null_safe))
        expected = sql(
            f"select a.id, a.g, b.id, b.g, b.{column('string').name} from t a join u b on a.{a.name} {sign} b.{a.name}"
        )
        result = compile_plan(plan, keyed=False)([weighted(TABLES["t"]), weighted(TABLES["u"])])
        assert_same(result.expanded().arrow(), expected, kind)


ORDERS = [
    ("asc", False, True),
    ("desc", True, False),
    ("asc nulls last", False, False),
    ("desc nulls first", True, True),
]
ROWS_TO_HERE = Frame("rows", None, Literal(0, INT))
PEERS = Frame("range", None, Literal(0, INT))
FRAMES = {
    "rows between unbounded preceding and current row": ROWS_TO_HERE,
    "range between unbounded preceding and current row": PEERS,
    "rows between unbounded preceding and unbounded following": Frame("rows", None, None),
    "range between current row and unbounded following": Frame("range", Literal(0, INT), None),
    "range between current row and current row": Frame("range", Literal(0, INT), Literal(0, INT)),
    "rows between 2 preceding and 1 following": Frame("rows", Literal(-2, INT), Literal(1, INT)),
    "rows between 3 following and 5 following": Frame("rows", Literal(3, INT), Literal(5, INT)),
    "rows between 9 preceding and 4 preceding": Frame("rows", Literal(-9, INT), Literal(-4, INT)),
    "rows between current row and unbounded following": Frame("rows", Literal(0, INT), None),
}


def window_cases() -> list[tuple[Over, str, bool]]:
    """Window calls, their texts, and whether the text still lacks its frame."""
    x = column("decimal(18,4)")
    cases: list[tuple[Over, str, bool]] = []
    for name in RANKS:
        args = (Literal(3, INT),) if name == "ntile" else ()
        kind = DOUBLE if name in ("percent_rank", "cume_dist") else INT
        cases.append((Over(name, args, kind, ROWS_TO_HERE), f"{name}({3 if args else ''})", False))
    for name, step in (("lag", -2), ("lead", 1), ("lag", 3), ("lead", 0)):
        at = Frame("rows", Literal(step, INT), Literal(step, INT))
        distance = -step if name == "lag" else step
        default = Literal(Decimal("7.0000"), x.type) if step == 1 else Literal(None, x.type)
        args = (x, Literal(step, INT), default)
        text = f"{name}({x.name}, {distance}, {'7.0000' if step == 1 else 'null'})"
        cases.append((Over(name, args, x.type, at), text, False))
    for frame in FRAMES.values():
        cases += framed_cases(frame)
    return cases


def framed_cases(frame: Frame) -> list[tuple[Over, str, bool]]:
    x, s, d = column("decimal(18,4)"), column("string"), column("double")
    long, small, wild = column("bigint"), column("small"), column("wild")
    cases: list[tuple[Over, str, bool]] = []
    for name in ("first", "last"):
        cases.append((Over(name, (x,), x.type, frame), f"{name}({x.name})", True))
        cases.append((Over(name, (s,), s.type, frame, ignore_nulls=True), f"{name}({s.name}, true)", True))
    cases.append((Over("nth_value", (s, Literal(2, INT)), s.type, frame), f"nth_value({s.name}, 2)", True))
    cases.append((Over("count", (), BIGINT, frame), "count(*)", True))
    cases.append((Over("count", (s,), BIGINT, frame), f"count({s.name})", True))
    for column_, kind in ((x, decimal(28, 4)), (long, BIGINT), (d, DOUBLE)):
        cases.append((Over("sum", (column_,), kind, frame), f"sum({column_.name})", True))
    cases.append((Over("avg", (x,), decimal(22, 8), frame), f"avg({x.name})", True))
    cases.append((Over("avg", (small,), DOUBLE, frame), f"avg({small.name})", True))
    for column_ in (s, wild, x):
        cases += [(Over(f, (column_,), column_.type, frame), f"{f}({column_.name})", True) for f in ("min", "max")]
    cases.append((Over("collect_list", (s,), Type("array", (STRING,)), frame), f"collect_list({s.name})", True))
    cases.append((Over("stddev_samp", (d,), DOUBLE, frame), f"stddev_samp({d.name})", True))
    return cases


def window_plan(cases: list[Over], partition: tuple[Expr, ...], order: tuple[Order, ...]) -> Project:
    rows = source()
    results = tuple(Named(f"w{i}", over) for i, over in enumerate(cases))
    more = tuple(Field(r.name, r.expr.type) for r in results)
    window = Window(rows, partition, order, results, rows.columns + more)
    wanted = (Field("id", INT), *more)
    return Project(window, tuple(Named(f.name, Column(f.name, f.type)) for f in wanted), wanted)


@pytest.mark.parametrize("partitioned", [True, False])
def test_windows(sql: Any, partitioned: bool) -> None:
    """Every function and frame, over an order that leaves nothing open but equal rows."""
    cases = window_cases()
    partition = (G,) if partitioned else ()
    order = (Order(column("int"), True, True), Order(ID, False, True))
    by = ("partition by g " if partitioned else "") + f"order by {column('int').name} desc nulls first, id"
    frames = {frame: text for text, frame in FRAMES.items()}
    texts = [
        f"{t} over ({by} {frames[over.frame] if framed else ''}) w{i}" for i, (over, t, framed) in enumerate(cases)
    ]
    expected = sql(f"select id, {', '.join(texts)} from t")
    for key in ("g", None) if partitioned else (None,):
        ours = run(window_plan([over for over, _, _ in cases], partition, order), ("t",), key)
        here, there = rows_by_place(ours), rows_by_place(expected)
        for i, (_, _, _) in enumerate(cases):
            for a, b in zip(here, there, strict=True):
                assert close(a[i + 1], b[i + 1], signed=False), (texts[i], a[0], a[i + 1], b[i + 1])


def rows_by_place(table: pa.Table) -> list[tuple[Any, ...]]:
    """Rows by id and, for the two of an equal pair, by row_number, which is the first window call."""
    return sorted(zip(*(c.to_pylist() for c in table.columns), strict=True), key=lambda row: (row[0], row[1]))


@pytest.mark.parametrize("direction", ORDERS, ids=[o[0] for o in ORDERS])
def test_order_of_every_type(sql: Any, direction: tuple[str, bool, bool]) -> None:
    """rank() shows the order of all values at once."""
    words, descending, nulls_first = direction
    by = {kind: f"order by {column(kind).name} {words}" for kind in KINDS}
    calls = [Over(f, (), INT, ROWS_TO_HERE) for f in ("rank", "dense_rank")]
    texts = [f"{c.function}() over ({by[kind]}) {c.function}_{column(kind).name}" for kind in KINDS for c in calls]
    expected = sql(f"select id, {', '.join(texts)} from t")
    for i, kind in enumerate(KINDS):
        ours = run(window_plan(calls, (), (Order(column(kind), descending, nulls_first),)), ("t",), None)
        assert_same(ours, expected.select([0, 1 + 2 * i, 2 + 2 * i]), kind)


@pytest.mark.parametrize(("limit", "offset"), [(3, 0), (7, 5), (1000, 2), (None, 50), (0, 0)])
def test_top(sql: Any, limit: int | None, offset: int) -> None:
    order = (Order(column("string"), True, False), Order(ID, False, True))
    plan = Top(source(), order, limit, offset)
    text = f"select * from t order by {column('string').name} desc nulls last, id"
    words = "" if limit is None else f" limit {limit}"
    assert_same(run(plan, ("t",), None), sql(f"{text}{words} offset {offset}"))


def test_top_of_each_group(sql: Any) -> None:
    plan = Top(source(), (Order(ID, True, False),), 3, 1)
    ranked = "select *, row_number() over (partition by g order by id desc) n from t"
    expected = sql(f"select * from ({ranked}) where n between 2 and 4").drop_columns(["n"])
    assert_same(run(plan, ("t",), "g"), expected)


def test_rowwise_operators(sql: Any) -> None:
    rows = source()
    fields = (Field("id", INT), Field("x", BIGINT), Field("s", STRING))
    null = Literal(None, BIGINT)
    expand = Expand(
        Filter(rows, G_ABOVE_2),
        ((ID, column("bigint"), column("string")), (ID, null, Literal("all", STRING))),
        fields,
    )
    constants = Values(((1, 2, "x"), (None, 3, None)), fields)
    text = f"select id, {column('bigint').name} x, {column('string').name} s from t where g > 2"
    text += " union all select id, null, 'all' from t where g > 2"
    assert_same(run(expand, ("t",), "g"), sql(text))
    union = Union((expand, constants), tuple(Field(f"u_{f.name}", f.type) for f in fields))
    assert_same(run(union, ("t",), None), sql(f"{text} union all values (1, 2, 'x'), (null, 3, null)"))
    assert why_not(union) == "a union of constant rows with others is evaluated by Spark alone"


def test_results_over_keys_and_calls(sql: Any) -> None:
    """HAVING, arithmetic on results, and keys that are expressions."""
    parity = Call("mod", (ID, Literal(3, INT)), INT)
    total = Reduce("sum", (column("bigint"),), BIGINT)
    lifted = Call("add", (Reduce("count", (), BIGINT), Literal(1, BIGINT)), BIGINT)
    results = (Named("p", Call("add", (parity, Literal(1, INT)), INT)), Named("n", lifted), Named("s", total))
    fields = tuple(Field(r.name, r.expr.type) for r in results)
    grouped = Aggregate(source(), (parity,), results, fields)
    plan = Filter(grouped, Call("gt", (Column("n", BIGINT), Literal(5, BIGINT)), BOOLEAN))
    text = f"select id % 3 + 1 p, count(*) + 1 n, sum({column('bigint').name}) s from t group by id % 3"
    assert_same(run(plan, ("t",), None), sql(f"select * from ({text}) where n > 5"))
