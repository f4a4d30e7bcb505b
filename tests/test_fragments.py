"""Fragments against Spark running the whole query: the same rows, group by group, in any order of the data."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.marks import quickly
from tests.schemas import TABLES
from tests.test_analyse import analysed, frame_of, golden
from viewlet.errors import StoreError
from viewlet.plan.nodes import Filter, Generate, Plan, Project, children, leaves, origin_of
from viewlet.plan.types import Field, Type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

DECIDED = [
    "several_distinct", "rollup", "pivot", "tpch_q17", "tpch_q22", "scalar_subquery_around_aggregate",
    "scalar_subquery_maybe_empty", "scalar_subquery_in_join", "scalar_subquery_correlated", "in_and_not_in", "in_under_or",
    "exists_uncorrelated", "except_all", "cte_twice", "recursive", "values_join", "lateral_limit", "collation",
    "opaque_parameters", "constants", "self_join",
]  # fmt: skip
"""Queries whose answer Spark leaves no choice in."""

OPEN = [
    "top_k_per_group", "limit_offset", "windows", "limit_without_order", "collect", "first_alone", "order_dependent_together",
    "mode_and_listagg",
]  # fmt: skip
"""Queries where it does."""

KEYED = [
    "rollup", "several_distinct", "tpch_q22", "explode_outer_map", "scalar_subquery_around_aggregate", "in_and_not_in",
    "in_under_or", "except_all", "full_join", "values_join", "windows", "order_dependent_together",
]  # fmt: skip


def value(kind: Type, chance: random.Random) -> Any:
    """A value from a small set, so that rows meet; NULL now and then."""
    if chance.random() < 0.15:
        return None
    match kind.name:
        case "bigint" | "int":
            return chance.randint(0, 5)
        case "decimal":
            return Decimal(chance.randint(0, 300)) / 100
        case "double":
            return chance.choice([0.0, -0.0, 1.5, 2.5, float("nan")])
        case "string":
            return chance.choice(["a", "b", "13-x", "31-y", "EUROPE", "F"])
        case "date":
            return date(1995, 3, chance.randint(10, 20))
        case "timestamp":
            return datetime(2020, 1, chance.randint(1, 3), tzinfo=UTC)
        case "binary":
            return bytes([chance.randint(0, 2)])
        case "array":
            return [value(kind.args[0], chance) for _ in range(chance.randint(0, 3))]
        case "map":
            return {k: value(kind.args[1], chance) for k in ["k", "l"][: chance.randint(0, 2)]}
        case _:
            return tuple(value(part, chance) for _, part in kind.args)


def table_rows(name: str, seed: int) -> list[tuple[Any, ...]]:
    chance = random.Random(f"{name}{seed}")
    return [tuple(value(f.type, chance) if f.nullable else i for f in TABLES[name]) for i in range(14)]


def frame(spark: SparkSession, name: str, rows: list[tuple[Any, ...]], *more: Field) -> DataFrame:
    from viewlet.spark.session.arrow_frames import spark_schema

    return spark.createDataFrame(rows, spark_schema((*TABLES[name], *more))).coalesce(1)


def bag(result: DataFrame) -> Counter[str]:
    return Counter(repr(plain(tuple(row))) for row in result.collect())


def plain(found: Any) -> Any:
    """A value that compares as Spark's results do: NaN equal to NaN, doubles but for their last digits."""
    if isinstance(found, float):
        return "NaN" if found != found else round(found, 9)
    if isinstance(found, dict):
        return sorted((k, plain(v)) for k, v in found.items())
    return [plain(v) for v in found] if isinstance(found, (list, tuple)) else found


def expected(spark: SparkSession, query: str) -> Counter[str]:
    """What Spark SQL returns for the user's own text."""
    from viewlet.spark.fragments.fragments import whole_inputs
    from viewlet.spark.session.leaves import register

    names = set(whole_inputs(analysed(spark, query))[1])
    for name in names:
        register(spark, "", name, frame(spark, name, table_rows(name, 1)))
    return bag(spark.sql(query))


def run_whole(spark: SparkSession, query: str, *, order: int = 0) -> Counter[str]:
    """The whole definition as a fragment, on the rows in some order."""
    from viewlet.spark.fragments.fragments import make_whole, run, whole_inputs

    analysis = analysed(spark, query)
    cuts, names = whole_inputs(analysis)
    inputs = []
    for name in names:
        rows = table_rows(name, 1)
        random.Random(order).shuffle(rows)
        inputs.append(frame(spark, name, rows))
    return bag(run(spark, make_whole(analysis, 0, cuts), inputs))


@pytest.mark.parametrize("name", quickly(3, DECIDED))
def test_whole_is_the_query(spark: SparkSession, name: str) -> None:
    assert run_whole(spark, golden(name)) == expected(spark, golden(name))


@pytest.mark.parametrize("name", quickly(1, OPEN))
def test_an_open_answer_is_decided_once(spark: SparkSession, name: str) -> None:
    first = run_whole(spark, golden(name))
    assert first.total() == expected(spark, golden(name)).total()
    assert run_whole(spark, golden(name), order=7) == first


WITHOUT_TIES = """
SELECT id, row_number() OVER w AS rn, ntile(3) OVER w AS nt, lag(s, 2, 'none') OVER w AS lg, lead(s) IGNORE NULLS OVER w AS ld,
  first_value(s) OVER w AS fv, first_value(s) IGNORE NULLS OVER w AS fi, last_value(s) OVER w AS lv,
  last_value(s) IGNORE NULLS OVER w AS li, nth_value(s, 3) OVER w AS nv, nth_value(s, 2) IGNORE NULLS OVER w AS ni,
  collect_list(s) OVER w AS cl, max_by(s, total) OVER w AS mb, any_value(s) OVER w AS av, rank() OVER w AS rk,
  cume_dist() OVER w AS cd, sum(total) OVER w AS st,
  last_value(s) OVER (PARTITION BY cust ORDER BY id RANGE BETWEEN 4 PRECEDING AND 1 PRECEDING) AS lr,
  collect_list(s) OVER (PARTITION BY cust ORDER BY id DESC ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING) AS cr,
  last_value(s) OVER (PARTITION BY cust ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS lw
FROM orders WINDOW w AS (PARTITION BY cust ORDER BY id)
"""


@pytest.mark.slow
def test_without_ties_the_answer_is_sparks(spark: SparkSession) -> None:
    assert analysed(spark, WITHOUT_TIES).is_stabilized
    assert run_whole(spark, WITHOUT_TIES) == expected(spark, WITHOUT_TIES)


@pytest.mark.parametrize("name", quickly(1, KEYED))
def test_keys_keep_groups_apart(spark: SparkSession, name: str) -> None:
    """Two data sets side by side under two keys give two results side by side."""
    from viewlet.spark.fragments.fragments import make_keyed, make_whole, run, whole_inputs

    analysis = analysed(spark, golden(name))
    cuts, names = whole_inputs(analysis)
    key = Field("_key", Type("bigint"), False)
    inputs = [frame(spark, n, [(*row, seed) for seed in (1, 2) for row in table_rows(n, seed)], key) for n in names]
    found = bag(run(spark, make_keyed(analysis, 0, cuts), inputs))
    whole = make_whole(analysis, 0, cuts)
    wanted: Counter[str] = Counter()
    for seed in (1, 2):
        rows = run(spark, whole, [frame(spark, n, table_rows(n, seed)) for n in names]).collect()
        wanted.update(repr(plain((*row, seed))) for row in rows)
    assert found == wanted


@pytest.mark.parametrize("name", quickly(3, ["functions_on_rows", "explode", "nested", "unpivot", "opaque_parameters"]))
def test_weights_pass_through_rows(spark: SparkSession, name: str) -> None:
    from viewlet.spark.fragments.fragments import make_rowwise, make_whole, run

    queries = {
        "functions_on_rows": "SELECT id, regexp_replace(s, 'a', 'z') AS r, date_trunc('month', ts) AS t FROM orders",
        "nested": "SELECT id, transform(arr, x -> x + id) AS t, map_keys(m) AS k FROM orders",
    }
    analysis = analysed(spark, queries.get(name) or golden(name))
    top = analysis.plan.rows if isinstance(analysis.plan, Filter) else analysis.plan
    (below,) = children(top)
    columns = [f.name for f in TABLES["orders"]]
    rows = frame(spark, "orders", table_rows("orders", 1))
    inputs = (
        run(spark, make_whole(analysis, _origin(below), _scans(below)), [rows])
        if below.columns[0].name in columns
        else rows
    )
    weighted = inputs.selectExpr("*", "CAST(3 AS bigint) AS _weight")
    found = run(spark, make_rowwise(analysis, _origin(top)), [weighted])
    wanted = run(spark, make_whole(analysis, _origin(top), (_origin(below),)), [inputs])
    assert found.columns == [*(f.name for f in top.columns), "_weight"]
    assert bag(found) == bag(wanted.selectExpr("*", "CAST(3 AS bigint) AS _weight"))


def _origin(plan: Plan) -> int:
    """The operator of Spark's plan that a node of an analysis mirrors."""
    found = origin_of(plan)
    assert found is not None
    return found


def _scans(plan: Plan) -> tuple[int, ...]:
    return tuple(map(_origin, leaves(plan)))


def test_a_piece_from_the_middle(spark: SparkSession) -> None:
    """Only the aggregate of a query, over the rows that its join would give."""
    from viewlet.spark.fragments.fragments import make_keyed, run

    analysis = analysed(spark, "SELECT name, min(total) AS t FROM orders JOIN customers USING (cust) GROUP BY name")
    (below,) = children(analysis.plan)
    rows = spark.createDataFrame(
        [(Decimal("1.00"), "x", 1), (Decimal("2.00"), "x", 1), (Decimal("3.00"), "x", 2)],
        "total decimal(12,2), name string, _key bigint",
    )
    found = run(
        spark,
        make_keyed(analysis, _origin(analysis.plan), (_origin(below),)),
        [rows.select(*(f.name for f in below.columns), "_key")],
    )
    assert found.columns == ["name", "t", "_key"]
    assert bag(found) == Counter([repr(["x", Decimal("1.00"), 1]), repr(["x", Decimal("3.00"), 2])])


@pytest.mark.slow
def test_the_result_of_one_fragment_is_the_input_of_another(spark: SparkSession) -> None:
    """Their columns have the same ids in Spark, on both sides of a self-join too."""
    from viewlet.spark.fragments.fragments import make_whole, run

    analysis = analysed(
        spark, "SELECT a.id, b.id AS other FROM orders a JOIN orders b ON a.cust = b.cust AND a.id < b.id"
    )
    (join,) = children(analysis.plan)
    rows = frame(spark, "orders", table_rows("orders", 1))
    sides = tuple(map(_origin, children(join)))
    left, right = (run(spark, make_whole(analysis, _origin(side), _scans(side)), [rows]) for side in children(join))
    found = run(spark, make_whole(analysis, 0, sides), [left, right])
    assert bag(found) == run_whole(spark, analysis.text or "")
    swapped = run(spark, make_whole(analysis, 0, sides), [right, left])
    assert bag(swapped) == bag(found)


def test_python_functions(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import functions as F

    from viewlet.spark.fragments.fragments import make_whole, run, whole_inputs

    monkeypatch.setattr(spark.sparkContext, "pythonExec", sys.executable)
    add = F.udf(lambda x: None if x is None else x + 1, "bigint")
    orders = frame_of(spark, "orders")
    grouped = (
        orders.select("cust", "id").groupBy("cust").applyInPandas(lambda group: group.head(1), "cust bigint, id bigint")
    )
    customers = len({row[1] for row in table_rows("orders", 1)})
    for definition, count in ((orders.select(add("id").alias("x")), 14), (grouped, customers)):
        analysis = analysed(spark, definition)
        cuts, names = whole_inputs(analysis)
        fragment = make_whole(analysis, 0, cuts)
        assert run(spark, fragment, [frame(spark, n, table_rows(n, 1)) for n in names]).count() == count


def test_drop_duplicates_keeps_a_whole_row(spark: SparkSession) -> None:
    from viewlet.spark.fragments.fragments import make_whole, run, whole_inputs

    analysis = analysed(spark, frame_of(spark, "orders").select("cust", "id", "s", "m").dropDuplicates(["cust"]))
    rows = frame(spark, "orders", table_rows("orders", 1))
    found = bag(run(spark, make_whole(analysis, 0, whole_inputs(analysis)[0]), [rows]))
    assert analysis.is_stabilized
    assert found.total() == rows.select("cust").distinct().count()
    assert found <= bag(rows.select("cust", "id", "s", "m"))


def test_lists_of_one_group_stay_aligned(spark: SparkSession) -> None:
    from viewlet.spark.fragments.fragments import make_whole, run, whole_inputs

    query = "SELECT collect_list(id) AS a, collect_list(100 - id) AS other, first(id) AS f, first(100 - id) AS g FROM orders"
    analysis = analysed(spark, query)
    rows = frame(spark, "orders", table_rows("orders", 1))
    (row,) = run(spark, make_whole(analysis, 0, whole_inputs(analysis)[0]), [rows]).collect()
    assert all(a + b == 100 for a, b in zip(row.a, row.other, strict=True))
    assert row.f + row.g == 100


def test_a_partner_too_many(spark: SparkSession) -> None:
    from pyspark.errors import PySparkException

    from viewlet.spark.fragments.fragments import make_whole, run, whole_inputs

    analysis = analysed(spark, "SELECT id, (SELECT name FROM customers c WHERE c.region = o.s) AS n FROM orders o")
    cuts, names = whole_inputs(analysis)
    fragment = make_whole(analysis, 0, cuts)
    orders = frame(spark, "orders", [(1, *[None] * 5, "a", *[None] * 4)])
    for customers, fails in (
        ([(1, "x", "a"), (2, "y", "b"), (3, "z", "b")], False),
        ([(1, "x", "a"), (2, "y", "a")], True),
    ):
        given = {"orders": orders, "customers": frame(spark, "customers", customers)}
        result = run(spark, fragment, [given[n] for n in names])
        if fails:
            with pytest.raises(PySparkException, match="SCALAR_SUBQUERY_TOO_MANY_ROWS"):
                result.collect()
        else:
            assert [tuple(r) for r in result.collect()] == [(1, "x")]


OTHER_PROCESS = """
import sys, pathlib
from viewlet.spark.session.session import start_spark
from viewlet.spark.fragments.fragments import run
spark = start_spark(master="local[1]")
for path in sys.argv[1:]:
    rows = spark.createDataFrame([(1, 5), (2, 5), (3, None)], "id bigint, cust bigint")
    print(sorted(map(tuple, run(spark, pathlib.Path(path).read_bytes(), [rows]).collect()), key=repr))
"""


@pytest.mark.slow
def test_another_process_runs_it(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import functions as F

    from viewlet.spark.analyse import analyse
    from viewlet.spark.fragments.fragments import make_whole, whole_inputs

    table = {"pairs": (Field("id", Type("bigint")), Field("cust", Type("bigint")))}
    analyse(spark, "SELECT * FROM pairs", table)
    add = F.udf(lambda x: None if x is None else x + 1, "bigint")
    definitions: list[str | DataFrame] = [
        "SELECT cust, collect_list(id) AS l FROM pairs GROUP BY cust",
        spark.table("pairs").select(add("cust").alias("x")),
    ]
    paths = []
    for i, definition in enumerate(definitions):
        analysis = analyse(spark, definition, table)
        paths.append(tmp_path / f"{i}")
        paths[-1].write_bytes(make_whole(analysis, 0, whole_inputs(analysis)[0]))
    command = [sys.executable, "-c", OTHER_PROCESS, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.stdout.splitlines() == ["[(5, [1, 2]), (None, [3])]", "[(6,), (6,), (None,)]"], done.stderr[-3000:]


def test_a_fragment_of_another_time(spark: SparkSession) -> None:
    from viewlet.spark.fragments.fragments import make_whole, run

    fragment = make_whole(analysed(spark, "SELECT 1 AS one"), 0, ())
    assert bag(run(spark, fragment, [])) == Counter(["[1]"])
    with pytest.raises(StoreError, match="compiled by Spark 3"):
        run(spark, fragment.replace(spark.version.encode(), b"3.9.9", 1), [])
    with pytest.raises(StoreError, match="another version of Viewlet"):
        run(spark, b"????" + fragment, [])


def test_plans_that_are_row_wise(spark: SparkSession) -> None:
    plan = analysed(spark, golden("explode")).plan
    assert isinstance(plan, Generate)
    assert isinstance(plan.rows, Project)
