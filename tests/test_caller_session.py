"""The caller's Spark session stays as it was: catalog, settings, active session, log level; warehouses keep apart."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import viewlet
from tests.marks import quickly
from viewlet.errors import UnknownName, UnsupportedQuery

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NIGHT = dt.datetime(2024, 3, 9, 4, 30, tzinfo=dt.UTC)


@pytest.fixture
def caller(spark: SparkSession, tmp_path: Path) -> Iterator[SparkSession]:
    """A session with settings, a temporary view and a persistent table of its own."""
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", "America/New_York")
    own.range(7).createOrReplaceTempView("orders")
    own.sql(f"CREATE TABLE kept USING parquet LOCATION '{tmp_path / 'kept'}' AS SELECT explode(array(1, 2)) AS id")
    yield own
    own.sql("DROP TABLE kept")


def state(spark: SparkSession) -> dict[str, Any]:
    """All that a user could notice of a session."""
    from pyspark import RDD
    from pyspark.sql import SparkSession

    jvm: Any = spark._jvm
    active = jvm.org.apache.spark.sql.classic.SparkSession.getActiveSession()
    return {
        "settings": spark._jsparkSession.sessionState().conf().getAllConfs().toString(),
        "tables": sorted(map(tuple, spark.sql("SHOW TABLES").collect())),
        "functions": spark._jsparkSession.sessionState().catalog().listTemporaryFunctions().toString(),
        "active": (SparkSession.getActiveSession(), active.get().hashCode() if active.isDefined() else None),
        "of an RDD": RDD.toDF,
        "log level": jvm.org.apache.logging.log4j.LogManager.getRootLogger().getLevel().toString(),
    }


@pytest.mark.parametrize("engine", quickly(1, ["inproc", "spark"]))
def test_a_session_is_left_as_it_was(caller: SparkSession, tmp_path: Path, engine: Any) -> None:
    before = state(caller)
    with viewlet.connect(tmp_path / "w", spark=caller, engine=engine) as db:
        db.sql("CREATE TABLE orders (id BIGINT, at TIMESTAMP, PRIMARY KEY (id))")
        db.sql("CREATE TABLE kept (id BIGINT)")
        db.sql("CREATE MATERIALIZED VIEW spread AS SELECT id, collect_list(at) AS l FROM orders GROUP BY id")
        db.create_view("big", db.spark.table("orders").where("id > 1"))
        db.insert("orders", [(1, NIGHT), (2, NIGHT)])
        db.sql("INSERT INTO orders SELECT id + 10, at FROM orders")
        db.sql("UPDATE orders SET id = id + 1 WHERE id > 10")
        assert db.sql("SELECT count(*) AS n FROM orders").to_pylist() == [{"n": 4}]
        assert db.table("orders").spark().count() == db.spark.table("orders").count() == 4
        assert db.check().num_rows == 0
        db.register_aggregate("most", _Most())
        with pytest.raises(viewlet.ViewletError):
            db.sql("SELECT nothing FROM orders")
        db.drop("spread")
    assert state(caller) == before
    assert caller.table("orders").count() == 7
    assert caller.table("kept").count() == 2


class _Most(viewlet.Aggregate):
    state, returns, zero = "n BIGINT", "BIGINT", (0,)

    def update(self, state: Any, weight: int, x: Any) -> Any:
        return (max(state[0], x or 0),)

    def result(self, state: Any) -> Any:
        return state[0]


def test_what_the_caller_registers_is_known(caller: SparkSession, tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "w", spark=caller, engine="inproc") as db:
        db.sql("CREATE TABLE t (id BIGINT)")
        spark = db.spark
        caller.udf.register("twice", lambda x: 2 * x, "bigint")
        caller.sql("CREATE TEMP VIEW colours AS SELECT * FROM VALUES (1, 'red'), (2, 'blue') AS c(id, colour)")
        spark.udf.register("thrice", lambda x: 3 * x, "bigint")
        db.create_view("v", "SELECT twice(id) AS a, thrice(id) AS b, colour FROM t JOIN colours USING (id)")
        db.create_view("w", db.spark.table("t").join(db.spark.table("colours"), "id"))
        caller.sql("CREATE OR REPLACE TEMP VIEW colours AS SELECT 2 AS id, 'green' AS colour")
        db.insert("t", [(2,)])
        assert db.table("v").rows() == [(4, 6, "blue")]
        assert db.table("w").rows() == [(2, "blue")]
        assert db.check().num_rows == 0
        caller.sql("DECLARE VARIABLE wanted BIGINT DEFAULT 2")
        query = "SELECT thrice(id) AS b, colour FROM colours WHERE id = wanted"
        assert db.sql(query).to_pylist() == [{"b": 6, "colour": "green"}]
        caller.catalog.dropTempView("colours")
        with pytest.raises(viewlet.ViewletError, match="colours"):
            db.create_view("x", "SELECT * FROM colours")


def test_a_name_of_the_callers_comes_back(caller: SparkSession, tmp_path: Path) -> None:
    """A table of the warehouse hides a view of the caller's in `db.spark`, for as long as it is there."""
    with viewlet.connect(tmp_path / "w", spark=caller) as db:
        assert db.spark.table("orders").count() == 7
        db.sql("CREATE TABLE orders (id BIGINT)")
        made_before = db.spark.table("orders")
        assert made_before.count() == 0
        db.drop("orders")
        assert db.spark.table("orders").count() == 7
        with pytest.raises(UnknownName, match="no table or view `orders`"):
            db.create_view("v", made_before)


def test_rows_of_one_epoch_stay_together(caller: SparkSession, tmp_path: Path) -> None:
    """Whatever else is asked, `db.spark` shows the epoch at which it was asked for."""
    with viewlet.connect(tmp_path / "w", spark=caller) as db:
        db.sql("CREATE TABLE t (id BIGINT)")
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
        spark = db.spark
        db.insert("t", [(1,)])
        assert db.sql("SELECT count(*) AS n FROM t").to_pylist() == [{"n": 1}]
        db.create_view("w", "SELECT id FROM t")
        assert (spark.table("t").count(), spark.table("v").collect()) == (0, [(0,)])
        assert (db.spark.table("t").count(), db.spark.table("v").collect()) == (1, [(1,)])


def test_warehouses_keep_apart(caller: SparkSession, tmp_path: Path) -> None:
    """Two warehouses in one session, with tables whose names differ in case alone."""
    with (
        viewlet.connect(tmp_path / "a", spark=caller, engine="inproc") as one,
        viewlet.connect(tmp_path / "b", spark=caller, engine="inproc") as other,
    ):
        one.sql("CREATE TABLE customer (a INT)")
        one.sql("CREATE MATERIALIZED VIEW v AS SELECT a FROM customer")
        other.sql("CREATE TABLE CUSTOMER (b INT, a STRING)")
        other.sql("CREATE MATERIALIZED VIEW v AS SELECT a || b AS c FROM Customer")
        one.create_view("w", "SELECT max(a) + 1 AS m FROM Customer")
        one.insert("customer", [(1,)])
        other.insert("customer", [(1, "x")])
        assert (one.table("w").rows(), other.table("v").rows()) == ([(2,)], [("x1",)])
        assert one.check().num_rows == other.check().num_rows == 0
        with pytest.raises(UnsupportedQuery, match="`CUSTOMER` is a table of another warehouse"):
            one.create_view("x", other.spark.table("customer"))
        other.drop("CUSTOMER", cascade=True)
        other.sql("CREATE TABLE customer (d DATE)")
        other.sql("CREATE MATERIALIZED VIEW v AS SELECT year(d) AS y FROM CUSTOMER")
        assert one.sql("SELECT a FROM customer").to_pylist() == [{"a": 1}]


def test_a_session_that_was_stopped(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = spark.newSession()
    with viewlet.connect(tmp_path / "w", spark=own) as db:
        db.sql("CREATE TABLE t (id BIGINT)")
        monkeypatch.setattr("viewlet.spark.session.handles.is_alive", lambda _: False)
        with pytest.raises(viewlet.errors.SparkMissing, match="was stopped"):
            db.sql("SELECT 1 AS x FROM t")


ALONE = """
import sys, viewlet
with viewlet.connect(sys.argv[1]) as db:
    print(db.spark.sparkContext.uiWebUrl)
    db.sql("CREATE TABLE t (a INT)")
    db.create_view("v", "SELECT date_format(date_from_unix_date(10 / a), 'y') AS x FROM t")
    for wrong in ("SELECT nothing FROM t", "SELECT 1 / 0 AS x", "INSERT INTO t SELECT CAST('x' AS INT)"):
        try:
            db.sql(wrong)
        except viewlet.ViewletError as error:
            print(str(error)[:40])
    try:
        db.insert("t", [(0,)])
    except viewlet.ViewletError as error:
        print(str(error)[:40])
"""


@pytest.mark.slow
def test_spark_of_our_own_starts_and_fails_without_a_word(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ALONE, str(tmp_path / "w")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    page, *errors = done.stdout.splitlines()
    assert (page, len(errors)) == ("None", 4)


def test_what_java_says_while_it_starts_is_held_back(capfd: pytest.CaptureFixture[str]) -> None:
    from viewlet.spark.session.gateway import Relay

    before = set(threading.enumerate())
    relay = Relay()
    (thread,) = set(threading.enumerate()) - before
    os.write(relay.entrance, b"no such heap\n")
    later = os.dup(relay.entrance)
    while not relay.held:
        time.sleep(0.01)
    assert capfd.readouterr().err == ""
    relay.say()
    relay.open()
    os.write(later, b"later\n")
    os.close(later)
    thread.join(timeout=60)  # it ends when nobody can say anything any more
    assert capfd.readouterr().err == "no such heap\nlater\n"
