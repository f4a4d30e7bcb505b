"""Python and pandas functions of users in views: kept, checked, refused, and kept on by another process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import viewlet
from tests.marks import some
from viewlet.errors import EvaluationError, UnsupportedFunction

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_JAVA = {k: os.environ[k] for k in ("JAVA_HOME", "PATH") if k in os.environ}
VIEWS = {
    "computed": "SELECT k, plus_one(x) AS y FROM t",
    "filtered": "SELECT k, half(x) AS y FROM t WHERE plus_one(x) > 2",
    "summed": "SELECT k, sum(plus_one(x)) AS y, count(*) AS n FROM t GROUP BY k",
    "grouped": "SELECT plus_one(k) AS k1, max(half(x)) AS y FROM t GROUP BY plus_one(k)",
    "averaged": "SELECT k, mean_of(x) AS y FROM t GROUP BY k",
    "beside": "SELECT k, mean_of(x) AS y, count(*) AS n, max(s) AS word FROM t GROUP BY k",
    "all_averaged": "SELECT mean_of(x) AS y FROM t",
    "joined": "SELECT a.k, plus_one(a.x + b.x) AS y FROM t a JOIN t b ON plus_one(a.k) = b.k",
    "outer_joined": "SELECT a.k, a.x, b.s FROM t a LEFT JOIN t b ON plus_one(a.x) = b.k AND half(b.x) > 1",
    "above": "SELECT k, plus_one(sum(x)) AS y FROM t GROUP BY k HAVING half(count(*)) > 0.5",
    "over": "SELECT k, x, mean_of(x) OVER (PARTITION BY k) AS y FROM t",
    "ranked": "SELECT k, x, rank() OVER (PARTITION BY k ORDER BY plus_one(x)) AS y FROM t",
    "limited": "SELECT * FROM t ORDER BY plus_one(x) LIMIT 2",
    "nested": "SELECT * FROM t WHERE plus_one(x) IN (SELECT k FROM t)",
}
FIRST = [(1, 1, "a"), (1, 2, "b"), (2, None, "c"), (2, 5, "d"), (None, 3, None), (3, 2, "x"), (3, 2, "x")]


def half(x: pd.Series) -> pd.Series:
    return x / 2


def mean_of(x: pd.Series) -> float:
    return float(x.mean())


def vectorized(function: Callable[[pd.Series], Any]) -> Any:
    """A pandas function of doubles, whose annotations say what kind it is: a form that PySpark's types leave out."""
    from pyspark.sql.pandas.functions import pandas_udf

    return pandas_udf(function, "double")  # type: ignore[call-overload]


@pytest.fixture
def functions(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The session with some functions registered: an increment, a half, a mean; as Python and pandas functions."""
    monkeypatch.setattr(spark.sparkContext, "pythonExec", sys.executable)

    spark.udf.register("plus_one", lambda x: None if x is None else x + 1, "bigint")
    spark.udf.register("half", vectorized(half))
    spark.udf.register("mean_of", vectorized(mean_of))
    yield spark
    for name in ("plus_one", "half", "mean_of"):
        spark.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {name}")


@pytest.fixture
def table(functions: SparkSession, tmp_path: Path) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "warehouse", spark=functions, engine="inproc") as db:
        db.sql("CREATE TABLE t (k BIGINT, x BIGINT, s STRING)")
        yield db


def changed(db: viewlet.Database) -> None:
    with db.epoch() as e:
        e.delete("t", [(1, 1, "a"), (3, 2, "x"), (None, 3, None)])
        e.insert("t", [(2, 7, "e"), (4, None, "y")])


def test_functions_are_kept(table: viewlet.Database) -> None:
    for name in some(2, ("filtered", "summed", "averaged")):
        table.create_view(name, VIEWS[name])
    table.insert("t", FIRST)
    changed(table)
    assert table.check().to_pylist() == []


@pytest.mark.slow
def test_functions_in_every_place(table: viewlet.Database) -> None:
    for name, query in VIEWS.items():
        table.create_view(name, query)
    table.insert("t", FIRST)
    assert table.check().to_pylist() == []
    changed(table)
    assert table.check().to_pylist() == []
    assert table.sql("SELECT plus_one(max(k)) AS k FROM t").to_pylist() == [{"k": 5}]


@pytest.mark.slow
def test_functions_on_the_spark_engine(functions: SparkSession, tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "warehouse", spark=functions, engine="spark") as db:
        db.sql("CREATE TABLE t (k BIGINT, x BIGINT, s STRING)")
        for name in ("filtered", "summed", "averaged"):
            db.create_view(name, VIEWS[name])
        db.insert("t", FIRST)
        changed(db)
        assert db.check().to_pylist() == []


def test_a_function_in_a_data_frame(table: viewlet.Database) -> None:
    from pyspark.sql import functions as F

    halved = vectorized(half)
    table.insert("t", FIRST)
    frame = table.spark.table("t").where(F.col("x").isNotNull())
    table.create_view("halves", frame.select("k", halved("x").alias("y")))
    changed(table)
    assert table.check("halves").num_rows == 0
    assert (2, 3.5) in table.table("halves").rows()


def test_what_is_not_deterministic_is_refused_by_name(table: viewlet.Database) -> None:
    from pyspark.sql import functions as F

    table._warehouse.session.udf.register("guess", F.udf(lambda x: x, "bigint").asNondeterministic())
    with pytest.raises(UnsupportedFunction, match=r"guess\(\) gives another answer every time"):
        table.create_view("v", "SELECT guess(k) AS y FROM t")


def test_a_view_keeps_the_function_that_it_was_made_with(table: viewlet.Database) -> None:
    table.create_view("v", VIEWS["computed"])
    table._warehouse.session.udf.register("plus_one", lambda x: -1, "bigint")
    table.insert("t", [(1, 1, "a")])
    assert table.table("v").rows() == [(1, 2)]
    assert table.check("v").num_rows == 0


def test_a_function_that_fails_rejects_the_epoch(table: viewlet.Database) -> None:
    table._warehouse.session.udf.register("inverse", lambda x: 100 // x, "bigint")
    table.create_view("v", "SELECT k, inverse(x) AS y FROM t")
    table.insert("t", [(1, 1, "a")])
    with pytest.raises(EvaluationError, match=r"view v: ZeroDivisionError: .*, in Project .*inverse"):
        table.insert("t", [(2, 2, "a"), (2, 0, "b")])
    assert table.table("t").rows() == [(1, 1, "a")]
    assert table.table("v").rows() == [(1, 100)]


THEIRS = """
import viewlet

def plus_one(x):
    return x + 1

class RowsIn(viewlet.Aggregate):
    state, returns, zero = "n BIGINT", "BIGINT", (0,)

    def update(self, state, weight, x):
        return (state[0] + weight,)

    def merge(self, a, b):
        return (a[0] + b[0],)

    def result(self, state):
        return state[0]
"""
MAKE = """
import sys, viewlet, their_functions
with viewlet.connect(sys.argv[1], engine="inproc") as db:
    db._warehouse.session.udf.register("plus_one", their_functions.plus_one, "bigint")
    db.register_aggregate("rows_in", their_functions.RowsIn())
    db._warehouse.session.udf.register("minus_one", lambda x: x - 1, "bigint")
    db.sql("CREATE TABLE t (x BIGINT)")
    db.sql("CREATE TABLE u (x BIGINT)")
    db.sql("CREATE TABLE v (x BIGINT) APPEND ONLY")
    db.create_view("up", "SELECT plus_one(x) AS y FROM t")
    db.create_view("counted", "SELECT x, rows_in(x) AS n FROM v GROUP BY x")
    db.create_view("down", "SELECT minus_one(x) AS y FROM u")
    db.insert("t", [(1,)])
"""
GO_ON = """
import sys, viewlet
with viewlet.connect(sys.argv[1], engine="inproc") as db:
    db.insert("u", [(5,)])
    print(db.table("down").rows(), db.check("down").num_rows)
    for table in ("t", "v"):
        try:
            db.insert(table, [(2,)])
        except viewlet.EvaluationError as error:
            print(error)
    try:
        db.check("up")
    except viewlet.EvaluationError as error:
        print(error)
    print(db.table("t").rows(), db.table("up").rows(), db.table("v").rows())
"""


@pytest.mark.slow
def test_another_process_goes_on(tmp_path: Path) -> None:
    (tmp_path / "their_functions.py").write_text(THEIRS)
    path = f"{tmp_path}:{':'.join(p for p in sys.path if p)}"

    def python(code: str, path: str) -> list[str]:
        command = [sys.executable, "-c", code, str(tmp_path / "warehouse")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, env={"PYTHONPATH": path, **_JAVA})
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout.splitlines()

    python(MAKE, path)
    down, error, other, checked, kept = python(GO_ON, path.partition(":")[2])
    assert down == "[(4,)] 0"
    assert error.startswith(
        "view up: ModuleNotFoundError: No module named 'their_functions', in Project x, plus_one(x)"
    )
    assert "make it importable" in error
    assert other.startswith("view counted: the aggregate rows_in cannot be loaded here: No module named 'their_")
    assert "register it again, and create the view again" in other
    assert checked.startswith("ModuleNotFoundError: No module named 'their_functions', in the definition of view up")
    assert kept == "[(1,)] [(2,)] []"
