"""Definitions to plans: golden texts, DataFrames, names, modes, what stays Spark's.

`tests/golden/plans/*.sql` hold a query and, below `-- plan`, the plan that it becomes. To rewrite them after a
change: `VIEWLET_GOLDEN=write pytest tests/test_analyse.py`, and read the diff.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.goldens import read_golden
from tests.marks import quickly
from tests.schemas import TABLES, fields
from viewlet.compile import compile_view
from viewlet.errors import UnsupportedQuery
from viewlet.plan import nodes
from viewlet.plan.expr import Call, Literal, Opaque
from viewlet.plan.nodes import Aggregate, Project, Scan, children
from viewlet.plan.show import show
from viewlet.plan.types import Field, Type, parse_type
from viewlet.program.codec import from_json, to_json
from viewlet.views.define import ABILITIES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from viewlet.spark.analyse import Analysis

pytestmark = pytest.mark.spark

GOLDEN = Path(__file__).parent / "golden" / "plans"
MARK = "-- plan"
PATHS = sorted(GOLDEN.glob("*.sql"))
UNORDERED = {"several_distinct"}
"""Spark numbers the groups of several DISTINCT aggregates in an order that varies: the same words, in another order."""


def analysed(spark: SparkSession, definition: Any) -> Analysis:
    from viewlet.spark.analyse import analyse

    return analyse(spark, definition, TABLES)


def frame_of(spark: SparkSession, name: str) -> DataFrame:
    """A table as a DataFrame, whichever tests ran in the session before."""
    from viewlet.spark.session.leaves import Tables, register_mentioned

    register_mentioned(spark, Tables(TABLES), name)
    return spark.table(name)


def golden(name: str) -> str:
    """The query of a golden file."""
    return (GOLDEN / f"{name}.sql").read_text().split(MARK)[0]


@pytest.mark.parametrize("path", quickly(15, PATHS[::2] + PATHS[1::2]), ids=lambda p: p.stem)
def test_golden_plan(spark: SparkSession, path: Path) -> None:
    """The plan is the one in the file, and its program survives being stored."""
    kept = read_golden(path, MARK, spark.version)
    analysis = analysed(spark, kept.query)
    plan = show(analysis.plan) + "\n"
    program = compile_view("v", analysis.plan, analysis.columns, ABILITIES)
    assert from_json(to_json(program)) == program
    if kept.is_rewritten(plan):
        return
    if path.stem in UNORDERED:
        assert sorted(re.findall(r"[\w.]+", plan)) == sorted(re.findall(r"[\w.]+", kept.expected))
    else:
        assert plan == kept.expected


@pytest.mark.parametrize(
    "name", quickly(2, ["several_distinct", "windows", "tpch_q21", "scalar_subqueries", "recursive"])
)
def test_plan_is_well_formed(spark: SparkSession, name: str) -> None:
    """Names are made once, expressions read only what the inputs have, and origins are Spark's preorder."""
    from viewlet.plan.expr import columns_of
    from viewlet.spark.session.jvm import walk_plan

    analysis = analysed(spark, golden(name))
    made: list[str] = []
    for origin, node in analysis.by_origin.items():
        below = {f.name for child in children(node) for f in child.columns}
        for expr in nodes.expressions(node):
            assert columns_of(expr) <= below
        made += [f.name for f in node.columns if f.name not in below]
        assert analysis.operators[origin].output().length() == len(node.columns)
    assert len(made) == len(set(made))
    assert len(list(walk_plan(analysis.operators[0]))) == len(analysis.operators)


def test_columns_have_the_names_of_the_query(spark: SparkSession) -> None:
    analysis = analysed(spark, "SELECT cust AS total, sum(total) AS Cust FROM orders GROUP BY cust")
    assert analysis.columns == (Field("total", Type("bigint")), Field("Cust", Type("decimal", (22, 2))))
    assert analysis.text is not None
    assert not analysis.is_stabilized


def test_a_name_is_found_whatever_its_case(spark: SparkSession) -> None:
    (leaf,) = nodes.leaves(analysed(spark, "SELECT ID FROM ORDERS").plan)
    assert isinstance(leaf, nodes.Scan)
    assert leaf.name == "orders"


def test_dataframe_and_sql_are_one_case(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    text = analysed(spark, "SELECT cust, sum(total) AS t FROM orders WHERE id > 3 GROUP BY cust")
    frame = frame_of(spark, "orders").where("id > 3").groupBy("cust").agg(F.sum("total").alias("t"))
    assert analysed(spark, frame).plan == text.plan
    assert analysed(spark, frame).text is None


def test_tables_with_rows_are_still_only_names(spark: SparkSession) -> None:
    """A session where the tables are registered with real rows gives the same plan as one without."""
    from viewlet.spark.session.leaves import register

    query = "SELECT a.name, b.name AS other FROM customers a JOIN customers b ON a.cust = b.cust + 1"
    bare = analysed(spark, query).plan
    rows = spark.createDataFrame([(1, "x", "y")], "cust bigint, name string, region string")
    register(spark, "", "customers", rows.unionAll(rows))
    assert spark.table("customers").count() == 2
    assert analysed(spark, query).plan == bare
    frame = (
        spark.table("customers").alias("a").join(spark.table("customers").alias("b"), _equal("a.cust", "b.cust + 1"))
    )
    assert analysed(spark, frame.selectExpr("a.name", "b.name AS other")).plan == bare


def _equal(left: str, right: str) -> Any:
    from pyspark.sql import functions as F

    return F.expr(left) == F.expr(right)


def test_a_table_that_changed_its_columns(spark: SparkSession) -> None:
    from viewlet.spark.analyse import analyse

    before = {"t": fields("a int")}
    analyse(spark, "SELECT a FROM t", before)
    frame = spark.table("t")
    after = {"t": fields("a int", "b string")}
    assert len(analyse(spark, "SELECT * FROM t", after).columns) == 2
    with pytest.raises(UnsupportedQuery, match="before its columns changed"):
        analyse(spark, frame, after)


@pytest.mark.parametrize(
    ("ansi", "expected"),
    [("true", ["add", "cast", "try_add", "negate", "sum"]), ("false", ["wrapping_add", "legacy_cast", "try_add", "wrapping_negate", "wrapping_sum"])],
)  # fmt: skip
def test_the_mode_of_failing_is_part_of_the_name(spark: SparkSession, ansi: str, expected: list[str]) -> None:
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        row = analysed(spark, "SELECT id + cust, CAST(s AS int), try_add(id, cust), -id FROM orders").plan
        group = analysed(spark, "SELECT sum(id) FROM orders").plan
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    assert isinstance(row, Project)
    assert isinstance(group, Aggregate)
    assert [getattr(r.expr, "function", None) for r in (*row.results, *group.results)] == expected


def test_python_functions_are_told_apart_by_their_code(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    def opaque(step: int) -> Opaque:
        frame = frame_of(spark, "orders").select(F.udf(lambda x: x + step, "bigint")("id").alias("x"))
        plan = analysed(spark, frame).plan
        assert isinstance(plan, Project)
        assert isinstance(plan.rows, Project)
        (found,) = [r.expr for r in plan.rows.results if isinstance(r.expr, Opaque)]
        return found

    assert opaque(1) == opaque(1)
    assert opaque(1) != opaque(2)


def test_a_column_twice(spark: SparkSession) -> None:
    plan = analysed(spark, frame_of(spark, "orders").select("id", "id").toDF("a", "b")).plan
    assert [f.name for f in plan.columns] == ["a", "b_2"]


def test_constants(spark: SparkSession) -> None:
    plan = analysed(spark, "SELECT id FROM range(2) UNION ALL SELECT id FROM orders WHERE false").plan
    assert show(plan) == "Values [id] (0), (1)"
    large = analysed(spark, "SELECT id FROM range(5000)").plan
    assert isinstance(large, nodes.SparkOperator)
    assert large.inputs == ()


def test_types_survive_the_way_to_spark_and_back(spark: SparkSession) -> None:
    from viewlet.spark.analyse import analyse

    kinds = [
        "tinyint", "smallint", "int", "bigint", "float", "double", "boolean", "string", "binary", "date", "timestamp",
        "timestamp_ntz", "decimal(38,18)", "interval year to month", "interval day to second", "variant",
        "array<struct<a: int, b: map<string, decimal(5,2)>>>",
    ]  # fmt: skip
    table = {"kinds": tuple(Field(f"c{i}", parse_type(kind), i % 2 == 0) for i, kind in enumerate(kinds))}
    analysis = analyse(spark, "SELECT * FROM kinds", table)
    assert analysis.plan == Scan("kinds", table["kinds"])
    assert analysis.columns == table["kinds"]


def test_another_time_zone_is_not_ours_to_evaluate(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Europe/Rome")
    try:
        plan = analysed(spark, "SELECT hour(ts) AS h, CAST(ts AS date) AS d FROM orders").plan
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert all(isinstance(e, Opaque) for e in nodes.expressions(plan))


def test_like_with_another_escape_is_opaque(spark: SparkSession) -> None:
    plan = analysed(spark, "SELECT s LIKE '%a_b%' AS x, s LIKE '%a!_b%' ESCAPE '!' AS y FROM orders").plan
    plain, other = nodes.expressions(plan)
    assert isinstance(plain, Call)
    assert plain.args[1] == Literal("%a_b%", Type("string"))
    assert isinstance(other, Opaque)
