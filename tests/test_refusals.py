"""What is refused, by name, with a hint; and that nothing is executed on the way."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.schemas import TABLES
from tests.test_analyse import analysed, frame_of
from viewlet.errors import SparkMissing, SqlError, UnknownName, UnsupportedFunction, UnsupportedQuery, ViewletError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FUNCTIONS = {
    "rand": "SELECT rand() AS r FROM orders",
    "randn": "SELECT id FROM orders WHERE randn() > 0",
    "uuid": "SELECT uuid() AS u",
    "current_timestamp": "SELECT current_timestamp() AS t FROM orders",
    "now": "SELECT now() AS t",
    "current_date": "SELECT id FROM orders WHERE day < current_date()",
    "localtimestamp": "SELECT localtimestamp() AS t",
    "current_user": "SELECT current_user() AS u",
    "monotonically_increasing_id": "SELECT monotonically_increasing_id() AS i FROM orders",
    "shuffle": "SELECT shuffle(arr) AS a FROM orders",
    "input_file_name": "SELECT input_file_name() AS f FROM orders",
    "spark_partition_id": "SELECT spark_partition_id() AS p FROM orders",
    "randstr": "SELECT randstr(3) AS r",
    "java_method": "SELECT reflect('java.util.UUID', 'randomUUID') AS r",
    "TABLESAMPLE": "SELECT * FROM orders TABLESAMPLE (10 PERCENT)",
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_that_change_are_refused_by_name(spark: SparkSession, name: str) -> None:
    with pytest.raises(UnsupportedFunction, match=name) as caught:
        analysed(spark, FUNCTIONS[name])
    assert caught.value.hint


@pytest.mark.parametrize(
    "where", ["SELECT id, (SELECT rand()) AS r FROM orders", "SELECT sum(id) OVER (ORDER BY rand()) AS s FROM orders"]
)
def test_also_where_they_hide(spark: SparkSession, where: str) -> None:
    with pytest.raises(UnsupportedFunction, match="rand"):
        analysed(spark, where)


def test_a_python_function_that_is_not_deterministic(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    guess = F.udf(lambda x: x, "bigint").asNondeterministic()
    with pytest.raises(UnsupportedFunction, match="lambda"):
        analysed(spark, frame_of(spark, "orders").select(guess("id").alias("x")))


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("DROP TABLE orders", UnsupportedQuery, "DROP is not a query"),
        ("INSERT INTO orders SELECT * FROM orders", UnsupportedQuery, "INSERT is not a query"),
        ("CREATE TABLE x AS SELECT 1", UnsupportedQuery, "CREATE is not a query"),
        ("SET x = 1", UnsupportedQuery, "SET is not a query"),
        ("SELECT * FROM nowhere", UnknownName, "nowhere"),
        ("SELECT nothing FROM orders", UnknownName, "nothing"),
        ("SELECT no_such(id) FROM orders", UnknownName, "no_such"),
        ("SELEC 1", SqlError, "SELEC"),
        ("SELECT id + arr FROM orders", SqlError, "DATATYPE_MISMATCH"),
        ("SELECT id, id FROM orders", UnsupportedQuery, "two columns named `id`"),
        ("SELECT id, cust AS ID FROM orders", UnsupportedQuery, "two columns named `id`"),
    ],
)
def test_what_is_no_definition(spark: SparkSession, text: str, kind: type[ViewletError], message: str) -> None:
    frame_of(spark, "orders")
    with pytest.raises(kind, match=message):
        analysed(spark, text)
    assert spark.catalog.tableExists("orders")


def test_data_from_elsewhere(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "files")
    spark.range(3).write.parquet(path)
    with pytest.raises(UnsupportedQuery, match=path):
        analysed(spark, f"SELECT id FROM parquet.`{path}`")
    with pytest.raises(UnsupportedQuery, match="zebra"):
        analysed(spark, spark.createDataFrame([(1,)], "zebra int"))
    with pytest.raises(UnsupportedQuery, match="stream"):
        analysed(spark, spark.readStream.format("rate").load())
    with pytest.raises(UnsupportedFunction, match="TABLESAMPLE"):
        analysed(spark, frame_of(spark, "orders").sample(0.5))


def test_a_table_that_is_gone(spark: SparkSession) -> None:
    from viewlet.spark.analyse import analyse

    analyse(spark, "SELECT * FROM gone", {**TABLES, "gone": TABLES["region"]})
    with pytest.raises(UnknownName, match="gone"):
        analysed(spark, "SELECT * FROM gone")


def test_no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import SparkSession

    from viewlet.spark.session import session

    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setattr(SparkSession, "_instantiatedSession", None)
    monkeypatch.setattr(session, "has_java", lambda: False)
    with pytest.raises(SparkMissing, match="Java was not found") as caught:
        session.start_spark()
    assert caught.value.hint
