"""Sums up to a bound as running sums: equal to the join that they stand for, where it holds, and refused where not."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import viewlet
from tests.marks import rounds, some
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.rows import Rows
from viewlet.compile.rewrite.running_sums import running_sums
from viewlet.engine.groups import compile_plan
from viewlet.errors import EvaluationError
from viewlet.plan.expr import Call, Column, Expr, Literal, Named, Opaque, Reduce, conjunction
from viewlet.plan.nodes import Aggregate, Filter, Input, Join, Plan, Project, Union, Window, children, column
from viewlet.plan.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, Field, Type, decimal
from viewlet.views.define import ABILITIES

TINYINT = Type("tinyint")
LARGE = 2**63 - 1
SAMPLES: dict[Type, list[Any]] = {
    TINYINT: [-128, 0, 127],
    INT: [-(2**31), -1, 0, 1, 2, 2**31 - 1],
    BIGINT: [-LARGE, -1, 0, 1, LARGE],
    decimal(5, 2): [Decimal("-999.99"), Decimal("0.00"), Decimal("0.01"), Decimal("999.99")],
    decimal(28, 0): [Decimal(-(10**28 - 1)), Decimal(0), Decimal(7), Decimal(10**28 - 1)],
    DOUBLE: [float("-inf"), -0.0, 0.0, 1.5, float("nan")],
    STRING: ["", "a", "ab", "é"],
    DATE: [dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(2024, 2, 29)],
}
ADDED = (TINYINT, INT, BIGINT, decimal(5, 2), decimal(28, 0))


@dataclass(frozen=True)
class Case:
    """The sums of R's rows for each row of D that are above it, or below."""

    function: str = "gt"
    value: Type = INT
    added: Type = INT
    equality: str | None = None
    domain_first: bool = True
    """Whether D is the left side of the join."""
    mirrored: bool = False
    """Whether the comparison begins with D."""

    @property
    def domain(self) -> Aggregate:
        rows = Input(0, (Field("x", self.value), Field("k", STRING)))
        keys = tuple(map(column, rows.columns))
        return Aggregate(rows, keys, named(("p", keys[0]), ("g", keys[1])), fields(p=self.value, g=STRING))

    @property
    def other(self) -> Input:
        return Input(1, fields(q=self.value, h=STRING, v=self.added))

    @property
    def condition(self) -> tuple[Expr, ...]:
        sides = Column("q", self.value), Column("p", self.value)
        compared = Call(self.function, sides[::-1] if self.mirrored else sides, BOOLEAN)
        if self.equality is None:
            return (compared,)
        return compared, Call(self.equality, (Column("h", STRING), Column("g", STRING)), BOOLEAN)

    def plan(self, *calls: Reduce, condition: tuple[Expr, ...] | None = None) -> Aggregate:
        sides: tuple[Plan, Plan] = (self.domain, self.other) if self.domain_first else (self.other, self.domain)
        columns = (*sides[0].columns, *sides[1].columns)
        join = Join(*sides, "inner", conjunction(condition or self.condition), columns)
        keys = Column("g", STRING), Column("p", self.value)
        results = named(*((f"r{i}", c) for i, c in enumerate(calls)), ("group", keys[0]), ("bound", keys[1]))
        return Aggregate(join, keys, results, tuple(Field(r.name, r.expr.type) for r in results))

    def calls(self) -> tuple[Reduce, ...]:
        added = Column("v", self.added)
        total = total_of(self.added)
        some = Call("is_not_null", (Column("h", STRING),), BOOLEAN)
        calls = [Reduce("count", (), BIGINT), Reduce("count", (added,), BIGINT), Reduce("sum", (added,), total)]
        if self.added in (TINYINT, INT):
            calls.append(Reduce("avg", (added,), DOUBLE))
        return (*calls, *(replace(c, where=some) for c in calls))


def total_of(kind: Type) -> Type:
    return decimal(kind.args[0] + 10, kind.args[1]) if kind.name == "decimal" else BIGINT


def fields(**types: Type) -> tuple[Field, ...]:
    return tuple(Field(name, kind) for name, kind in types.items())


def named(*results: tuple[str, Expr]) -> tuple[Named, ...]:
    return tuple(Named(name, expr) for name, expr in results)


def rewritten(plan: Plan) -> Plan:
    result = running_sums(plan, ABILITIES)
    assert any(isinstance(p, Window) for p in nodes(result))
    assert result.columns == plan.columns
    return result


def nodes(plan: Plan) -> Iterator[Plan]:
    yield plan
    for child in children(plan):
        yield from nodes(child)


def evaluated(plan: Plan, *inputs: Rows) -> list[str]:
    """The bag as sorted text, so that NaN equals itself."""
    return sorted(map(repr, compile_plan(plan, keyed=False)(inputs).expanded().arrow().to_pylist()))


def rows_of(columns: tuple[Field, ...], bag: list[tuple[Any, ...]]) -> Rows:
    """Rows of values, each followed by its weight."""
    arrays = {f.name: pa.array([r[i] for r in bag], type=arrow_type(f.type)) for i, f in enumerate(columns)}
    return Rows(arrays, np.array([r[-1] for r in bag], dtype=np.int64))


CASES = st.builds(
    Case,
    st.sampled_from(["lt", "le", "gt", "ge"]),
    st.sampled_from(sorted(SAMPLES, key=str)),
    st.sampled_from(ADDED),
    st.sampled_from([None, "eq", "eq_null_safe"]),
    st.booleans(),
    st.booleans(),
)


@st.composite
def filled_cases(draw: st.DrawFn) -> tuple[Case, Rows, Rows]:
    case = draw(CASES)
    value, group = (st.none() | st.sampled_from(SAMPLES[case.value])), st.sampled_from([None, "a", "b"])
    small = st.integers(-5, 5) if case.added == BIGINT else st.sampled_from(SAMPLES[case.added])
    weight = st.integers(1, 3)
    asking = draw(st.lists(st.tuples(value, group, weight), max_size=12))
    answers = draw(st.lists(st.tuples(value, group, st.none() | small, weight), max_size=20))
    return case, rows_of(case.domain.rows.columns, asking), rows_of(case.other.columns, answers)


@given(filled_cases())
def test_a_running_sum_is_the_aggregate_over_the_join(filled: tuple[Case, Rows, Rows]) -> None:
    case, asking, answers = filled
    plan = case.plan(*case.calls())
    assert evaluated(rewritten(plan), asking, answers) == evaluated(plan, asking, answers)


def test_a_bound_is_in_or_out() -> None:
    asking = rows_of(fields(x=INT, k=STRING), [(1, "a", 2), (2, "a", 1), (3, "b", 1), (None, "a", 1)])
    answers = rows_of(fields(q=INT, h=STRING, v=INT), [(1, "a", 10, 1), (2, "c", 5, 3), (None, "a", 99, 1)])
    found = {
        function: {(r["bound"], r["r0"]) for r in compute(Case(function), asking, answers)}
        for function in ("lt", "le", "gt", "ge")
    }
    assert found["lt"] == {(2, 10), (3, 25)}
    assert found["le"] == {(1, 10), (2, 25), (3, 25)}
    assert found["gt"] == {(1, 15)}
    assert found["ge"] == {(1, 25), (2, 15)}


def compute(case: Case, asking: Rows, answers: Rows) -> list[dict[str, Any]]:
    total = Reduce("sum", (Column("v", case.added),), total_of(case.added))
    rows = compile_plan(rewritten(case.plan(total)), keyed=False)([asking, answers])
    return list(rows.arrow().to_pylist())


def test_a_sum_of_bigint_overflows_only_where_someone_asks() -> None:
    """The greatest two overflow together; with the next one the sum has room again."""
    case = Case(value=INT, added=BIGINT)
    answers = rows_of(case.other.columns, [(9, "a", LARGE, 2), (5, "a", -LARGE, 1)])
    asking = [rows_of(case.domain.rows.columns, [(bound, "a", 1)]) for bound in (1, 5, 9)]
    assert [r["r0"] for r in compute(case, asking[0], answers)] == [LARGE]
    with pytest.raises(EvaluationError, match="OVERFLOW"):
        compute(case, asking[1], answers)
    assert compute(case, asking[2], answers) == []


def test_projections_and_a_filter_may_lie_between() -> None:
    case = Case(equality="eq")
    plan = case.plan()
    join = plan.rows
    assert isinstance(join, Join)
    compared, equal = case.condition
    twice = Call("cast", (Column("v", INT),), BIGINT)
    inner = Filter(replace(join, condition=compared), equal)
    between = Project(
        inner,
        named(("b", Column("p", INT)), ("c", Column("g", STRING)), ("w", twice)),
        fields(b=INT, c=STRING, w=BIGINT),
    )
    outer = Project(
        between,
        named(("e", Column("w", BIGINT)), ("b", Column("b", INT)), ("c", Column("c", STRING))),
        fields(e=BIGINT, b=INT, c=STRING),
    )
    results = named(("b", Column("b", INT)), ("t", Reduce("sum", (Column("e", BIGINT),), BIGINT)))
    above = Aggregate(outer, (Column("b", INT), Column("c", STRING)), results, fields(b=INT, t=BIGINT))  # fmt: skip
    asking = rows_of(fields(x=INT, k=STRING), [(1, "a", 1), (2, "b", 1), (0, None, 1)])
    answers = rows_of(fields(q=INT, h=STRING, v=INT), [(3, "a", 4, 2), (3, "b", 5, 1), (2, None, 6, 1)])
    assert evaluated(rewritten(above), asking, answers) == evaluated(above, asking, answers)
    assert len(evaluated(above, asking, answers)) == 2


def test_one_column_may_be_compared_twice() -> None:
    """v = p and q > p: D's column is a partition and an order."""
    case = Case()
    equal = Call("eq", (Column("p", INT), Column("v", INT)), BOOLEAN)
    plan = case.plan(Reduce("count", (), BIGINT), condition=(equal, *case.condition))
    asking = rows_of(fields(x=INT, k=STRING), [(1, "a", 1), (1, "b", 1), (2, "a", 1)])
    answers = rows_of(fields(q=INT, h=STRING, v=INT), [(2, "a", 1, 1), (3, "a", 2, 2), (1, "a", 1, 1), (9, "a", 7, 1)])
    assert evaluated(rewritten(plan), asking, answers) == evaluated(plan, asking, answers)
    assert len(evaluated(plan, asking, answers)) == 3


JOINS = ("inner", "left", "semi", "anti", "exists")


def correlated(kind: str, case: Case, own_domain: bool) -> Join:
    """Rows of L, each with the sum of R's rows of its own group that are above it, as Spark decorrelates it."""
    rows = Input(0, fields(a=case.value, b=STRING))
    source = Input(0 if own_domain else 2, fields(x=case.value, k=STRING))
    x, p, h = Column("x", case.value), Column("p", case.value), Column("h", STRING)
    domain = Aggregate(source, (x,), named(("p", x)), fields(p=case.value))
    join = Join(domain, case.other, "inner", case.condition[0], (*domain.columns, *case.other.columns))
    sums = Case.calls(case)[:3]
    results = named(*((f"r{i}", c) for i, c in enumerate(sums)), ("y", h), ("p", p))
    nested = Aggregate(join, (p, h), results, tuple(Field(r.name, r.expr.type) for r in results))
    some = Filter(nested, Call("gt", (Column("r0", BIGINT), Literal(1, BIGINT)), BOOLEAN))
    equal = case.equality or "eq"
    terms = Call("eq_null_safe", (p, Column("a", case.value)), BOOLEAN), Call(equal, (Column("b", STRING), Column("y", STRING)), BOOLEAN)  # fmt: skip
    columns = {
        "semi": rows.columns,
        "anti": rows.columns,
        "exists": (*rows.columns, Field("there", BOOLEAN)),
    }.get(kind, (*rows.columns, *nested.columns))
    return Join(rows, some, kind, conjunction(terms), columns)


@given(st.sampled_from(JOINS), filled_cases(), st.booleans(), st.data())
def test_a_nested_sum_is_computed_for_those_that_ask(
    kind: str, filled: tuple[Case, Rows, Rows], own_domain: bool, data: st.DataObject
) -> None:
    case, asking, answers = filled
    plan = correlated(kind, case, own_domain)
    values = st.none() | st.sampled_from(SAMPLES[case.value])
    others = data.draw(st.lists(st.tuples(values, st.none(), st.just(1)), max_size=5))
    inputs = (asking, answers, rows_of(fields(x=case.value, k=STRING), others))
    found = rewritten(plan)
    assert next(p for p in nodes(found) if isinstance(p, Window)).partition
    assert evaluated(found, *inputs) == evaluated(plan, *inputs)


def test_a_side_that_shows_without_a_partner_is_not_narrowed() -> None:
    """A full join shows what nobody asks for; so would a left join whose left side is the aggregate."""
    plan = correlated("full", Case(), own_domain=True)
    assert running_sums(plan, ABILITIES) is plan
    turned = Join(plan.right, plan.left, "left", plan.condition, (*plan.right.columns, *plan.left.columns))
    assert running_sums(turned, ABILITIES) is turned
    assert running_sums(replace(turned, kind="right"), ABILITIES) != turned


def not_running() -> dict[str, Plan]:
    """Aggregates over joins that are no running sums, by what is wrong with them."""
    case = Case()
    p, q, v, g, h = Column("p", INT), Column("q", INT), Column("v", INT), Column("g", STRING), Column("h", STRING)
    total = Reduce("sum", (v,), BIGINT)
    plan, join = case.plan(total), case.plan().rows
    assert isinstance(join, Join)
    above, below = Call("gt", (q, p), BOOLEAN), Call("lt", (v, p), BOOLEAN)
    plain = Project(
        Input(0, fields(x=INT, k=STRING)),
        named(("p", Column("x", INT)), ("g", Column("k", STRING))),
        fields(p=INT, g=STRING),
    )
    computed = replace(case.domain, results=named(("p", Call("cast", (Column("x", INT),), INT)), ("g", Column("k", STRING))))  # fmt: skip
    counted = replace(
        case.domain,
        results=(*case.domain.results, Named("n", Reduce("count", (), BIGINT))),
        columns=fields(p=INT, g=STRING, n=BIGINT),
    )
    opaque = Opaque("f(v)", (v,), INT)
    return {
        "two inequalities": case.plan(total, condition=(above, below)),
        "no inequality": case.plan(total, condition=(Call("eq", (h, g), BOOLEAN),)),
        "not equal": case.plan(total, condition=(above, Call("not", (Call("eq", (h, g), BOOLEAN),), BOOLEAN))),
        "a term of one side": case.plan(total, condition=(above, Call("gt", (q, v), BOOLEAN))),
        "sides that are mixed": case.plan(total, condition=(Call("gt", (Call("wrapping_add", (q, p), INT), p), BOOLEAN),)),
        "an outer join": replace(plan, rows=replace(join, kind="left")),
        "a domain with duplicates": replace(plan, rows=replace(join, left=plain)),
        "a domain that is computed": replace(plan, rows=replace(join, left=computed)),
        "a domain with sums": replace(plan, rows=replace(join, left=counted)),
        "a key too few": replace(plan, keys=(p,), results=named(("r0", total), ("bound", p)), columns=fields(r0=BIGINT, bound=INT)),
        "a key of the other side": replace(plan, keys=(p, g, h)),
        "a sum of the domain": case.plan(Reduce("sum", (p,), BIGINT)),
        "a filter on the domain": case.plan(replace(total, where=Call("is_not_null", (g,), BOOLEAN))),
        "distinct": case.plan(replace(total, distinct=True)),
        "min": case.plan(Reduce("min", (v,), INT)),
        "try_sum": case.plan(replace(total, function="try_sum")),
        "count of two columns": case.plan(Reduce("count", (v, q), BIGINT)),
        "a sum of doubles": Case(added=DOUBLE).plan(Reduce("sum", (Column("v", DOUBLE),), DOUBLE)),
        "an average of bigint": Case(added=BIGINT).plan(Reduce("avg", (Column("v", BIGINT),), DOUBLE)),
        "an average of decimals": Case(added=decimal(5, 2)).plan(Reduce("avg", (Column("v", decimal(5, 2)),), decimal(9, 6))),
        "a sum that may overflow": Case(added=decimal(29, 0)).plan(Reduce("sum", (Column("v", decimal(29, 0)),), decimal(38, 0))),
        "an argument that may fail": case.plan(Reduce("sum", (Call("add", (v, v), INT),), BIGINT)),
        "a bound that may fail": case.plan(total, condition=(Call("gt", (Call("negate", (q,), INT), p), BOOLEAN),)),
        "what Spark alone evaluates": case.plan(Reduce("sum", (opaque,), BIGINT)),
        "an order that Spark alone knows": Case(value=Type("variant")).plan(total),
    }  # fmt: skip


@pytest.mark.parametrize("name", not_running())
def test_what_is_no_running_sum_stays(name: str) -> None:
    plan = not_running()[name]
    assert running_sums(plan, ABILITIES) is plan
    assert not any(isinstance(p, Union) for p in nodes(plan))


COLUMNS = "id INT, g INT, p DECIMAL(8,0), v DECIMAL(8,0), i INT, l BIGINT, f DOUBLE, day DATE, s STRING"
GROUPED = "(SELECT DISTINCT g, p FROM bids) d JOIN asks a ON a.g {} d.g AND a.p {} d.p GROUP BY d.g, d.p"
VIEWS = {
    "above": "SELECT id, (SELECT sum(a.v) FROM asks a WHERE a.p > b.p) AS x FROM bids b",
    "counted": "SELECT id, (SELECT count(*) FROM asks a WHERE b.i <= a.i) AS x FROM bids b WHERE g > 0",
    "before": "SELECT id, (SELECT sum(a.l) FROM asks a WHERE a.day < b.day) AS x FROM bids b",
    "numbers": "SELECT id, (SELECT avg(a.i) FROM asks a WHERE a.f <= b.f) AS x FROM bids b",
    "texts": "SELECT id FROM bids b WHERE (SELECT sum(a.i) FROM asks a WHERE a.s < b.s) > 3",
    "computed": "SELECT id, (SELECT count(a.i) FROM asks a WHERE a.p < b.p * 1.1) AS x FROM bids b",
    "grouped": f"""SELECT d.g, d.p, sum(a.v) AS t, count(*) AS n, count(a.i) AS c, avg(a.i) AS m,
        sum(a.v) FILTER (WHERE a.i > 0) AS w FROM {GROUPED.format("=", ">=")}""",
    "with_null": f"SELECT d.g, d.p + 1 AS q, sum(a.l) + 1 AS t FROM {GROUPED.format('<=>', '<')}",
    "correlated": "SELECT id, (SELECT sum(a.v) FROM asks a WHERE a.g = b.g AND a.p > b.p) AS x FROM bids b",
    "correlated_too": """SELECT b1.id FROM bids b1 JOIN asks a ON a.id = b1.id
        WHERE (SELECT sum(b2.l) FROM bids b2 WHERE b2.g = b1.g AND b2.s = b1.s AND b2.day <= b1.day) >= 0""",
    "both": """SELECT x.p, x.t, y.n FROM
        (SELECT d.p, sum(a.v) AS t FROM (SELECT DISTINCT p FROM bids) d JOIN asks a ON a.p > d.p GROUP BY d.p) x JOIN
        (SELECT d.p, count(*) AS n FROM (SELECT DISTINCT p FROM bids) d JOIN asks a ON a.p < d.p GROUP BY d.p) y
        ON x.p = y.p""",
    "itself": """SELECT sum(b1.p * b1.v) AS x FROM bids b1 WHERE 0.25 * (SELECT sum(b3.v) FROM bids b3)
        > (SELECT sum(b2.v) FROM bids b2 WHERE b2.p > b1.p)""",
    "itself_too": """SELECT count(*) AS n, count(b1.i) AS c, sum(b1.l) + 1 AS t, sum(b1.v) FILTER (WHERE b1.i > 0) AS w
        FROM bids b1 WHERE (SELECT count(*) FROM bids b3) > (SELECT sum(b2.i) FROM bids b2 WHERE b2.p <= b1.p)""",
    "itself_in_doubles": "SELECT sum(f) AS x FROM bids b1 WHERE 1 < (SELECT sum(b2.i) FROM bids b2 WHERE b2.p > b1.p)",
    "itself_and_another": """SELECT sum(b.v) AS x FROM bids b JOIN asks a ON a.id = b.id
        WHERE 1 < (SELECT sum(b2.i) FROM bids b2 WHERE b2.p > b.p)""",
}
KEPT = some(2, VIEWS)
WHOLE = ("itself", "itself_too")
"""Those that are sums over all of a running sum of their own table."""
ROWS = st.tuples(
    st.integers(0, 3),
    st.sampled_from([None, 0, 1, 2]),
    st.sampled_from([None, *map(Decimal, (-99_999_999, 0, 1, 2, 99_999_999))]),
    st.sampled_from([None, *map(Decimal, (-99_999_999, -1, 0, 3, 99_999_999))]),
    st.sampled_from([None, -(2**31), -1, 0, 5, 2**31 - 1]),
    st.sampled_from([None, -(2**58), -1, 0, 5, 2**58]),
    st.sampled_from([None, float("-inf"), -0.0, 0.0, 0.5, float("nan")]),
    st.sampled_from([None, dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(2024, 2, 29)]),
    st.sampled_from([None, "", "a", "ab", "é"]),
)
BAGS = st.lists(ROWS, max_size=12)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> Iterator[viewlet.Database]:
    with opened(tmp_path_factory.mktemp("running"), spark, KEPT) as db:
        yield db


def opened(path: Path, spark: Any, views: Iterable[str]) -> viewlet.Database:
    db = viewlet.connect(path / "w", spark=spark, engine="inproc")
    for table in ("bids", "asks"):
        db.sql(f"CREATE TABLE {table} ({COLUMNS})")
    for name in views:
        db.create_view(name, VIEWS[name])
    return db


@pytest.mark.spark
@pytest.mark.parametrize("name", KEPT)
def test_views_are_running_sums(db: viewlet.Database, name: str) -> None:
    assert "_asks" in db.explain(name)
    assert "on Spark" not in db.explain(name)
    assert ("is fused with it" in db.explain(name)) == (name in WHOLE)


@pytest.mark.spark
def test_a_sum_over_ranks_is_made_with_them(db: viewlet.Database) -> None:
    db.create_view("ranked", "SELECT sum(v) AS x FROM (SELECT v, rank() OVER (ORDER BY p) AS r FROM bids) WHERE r < 3")
    assert "is fused with it" in db.explain("ranked")
    with db.epoch() as e:
        e.insert("bids", [(1, 1, Decimal(p), Decimal(p * p), p, p, 0.5, None, "a") for p in (1, 2, 2, 3)])
    assert db.check("ranked").to_pylist() == []
    db.drop("ranked")


@pytest.mark.slow
@pytest.mark.spark
@settings(max_examples=rounds(2, 10), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(BAGS, BAGS, BAGS, st.integers(0, 12))
def test_views_stay_equal_to_their_definitions(
    db: viewlet.Database, bids: list[Any], asks: list[Any], more: list[Any], fewer: int
) -> None:
    with db.epoch() as e:
        for name, rows in (("bids", bids), ("asks", asks)):
            e.delete(name, db.table(name).arrow())
            e.insert(name, rows)
    assert db.check().to_pylist() == []
    change(db, more, asks[:fewer])


def change(db: viewlet.Database, bids: list[Any], asks: list[Any]) -> None:
    """Some bids come and some asks go."""
    with db.epoch() as e:
        e.insert("bids", bids)
        e.delete("asks", asks)
    assert db.check().to_pylist() == []


@pytest.mark.spark
def test_what_spark_alone_computes_reads_a_running_sum(db: viewlet.Database) -> None:
    above = "SELECT d.p AS x, sum(a.v) AS y FROM (SELECT DISTINCT p FROM bids) d JOIN asks a ON a.p > d.p GROUP BY d.p"
    db.create_view("sketched", f"SELECT hll_sketch_estimate(hll_sketch_agg(CAST(y AS STRING))) AS r FROM ({above})")
    assert "on Spark" in db.explain("sketched")
    with db.epoch() as e:
        for table in ("bids", "asks"):
            e.insert(table, [(1, 1, Decimal(p), Decimal(p * p), p, p, 0.5, None, "a") for p in (1, 2, 3, 4)])
    assert db.check("sketched").to_pylist() == []
    db.drop("sketched")


@pytest.mark.spark
@pytest.mark.slow
def test_views_stay_equal_on_spark(tmp_path: Path, spark: Any) -> None:
    def row(g: int | None, p: int | None, v: int) -> tuple[Any, ...]:
        return (1, g, None if p is None else Decimal(p), Decimal(v), v, v, 0.5, None, "a")

    with opened(tmp_path, spark, ["above", "grouped", *WHOLE]) as db:
        asks = [row(g, p, 10 * p - g) for g in (1, 2) for p in (1, 1, 2, 3)] + [row(1, None, 5), row(None, 2, 6)]
        with db.epoch() as e:
            e.insert("asks", asks)
            e.insert("bids", [row(1, 2, 1), row(1, 2, 1), row(2, 0, 1), row(None, 1, 1), row(3, None, 1)])
        db.engine = "spark"
        change(db, [row(2, 1, 1), row(1, 0, 4), row(None, None, 1)], asks[2:7])
        assert {r[:3] for r in db.table("grouped").rows()} == {(1, 0, 18), (2, 0, 28), (2, 1, 28)}
