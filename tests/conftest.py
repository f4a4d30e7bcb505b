"""What several test files share: one Spark session for the whole run, and how hard Hypothesis tries."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings as hypothesis_settings

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


hypothesis_settings.register_profile("quick", deadline=None, max_examples=20)
hypothesis_settings.register_profile("thorough", deadline=None, max_examples=300)
hypothesis_settings.load_profile(os.environ.get("VIEWLET_TEST_PROFILE", "quick"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    unmarked = [item.nodeid for item in items if "spark" in getattr(item, "fixturenames", ()) and not _is_marked(item)]
    if unmarked:
        raise pytest.UsageError("these tests need Spark and lack the mark `spark`: " + ", ".join(unmarked))


def _is_marked(item: pytest.Item) -> bool:
    return item.get_closest_marker("spark") is not None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    with _jvm_as_marked(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    with _jvm_as_marked(item):
        return (yield)


@contextmanager
def _jvm_as_marked(item: pytest.Item) -> Iterator[None]:
    """A test without the mark `spark` reaches no JVM: it cannot start one, and fails if it talks to one that is there."""
    with pytest.MonkeyPatch.context() as patch:
        if not _is_marked(item):
            patch.setenv("JAVA_HOME", "/this test lacks the mark spark")
            if "py4j.java_gateway" in sys.modules:
                patch.setattr("py4j.java_gateway.GatewayClient.send_command", _refuse(item))
        yield


def _refuse(item: pytest.Item) -> Callable[..., str]:
    from py4j.java_gateway import GatewayClient
    from py4j.protocol import MEMORY_COMMAND_NAME

    send = GatewayClient.send_command

    def refuse(client: GatewayClient, command: str, *args: Any, **kwargs: Any) -> str:
        if command.startswith(MEMORY_COMMAND_NAME):  # what an earlier test left is collected
            return send(client, command, *args, **kwargs)
        raise AssertionError(f"{item.nodeid} needs Spark and lacks the mark `spark`")

    return refuse


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = small_session()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def sql(spark: SparkSession) -> Iterator[Callable[[str], pa.Table]]:
    """A function that runs Spark SQL over the tables of values at the edges."""
    from tests.local_edges import FIELDS, TABLES

    for name, table in TABLES.items():
        ddl = ", ".join(f"`{f.name}` {f.type}" for f in FIELDS)
        spark.createDataFrame(table, ddl).createOrReplaceTempView(name)
    yield lambda text: spark.sql(text).toArrow()
    for name in TABLES:
        spark.catalog.dropTempView(name)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A PostgreSQL server of the tests' own; how to connect to it."""
    from tests.postgres_server import server

    with server() as database:
        yield database


@pytest.fixture
def postgres(postgres_server: str) -> Iterator[str]:
    """A database of a test's own."""
    from tests.postgres_server import new_database

    with new_database(postgres_server) as database:
        yield database


@pytest.fixture
def kafka() -> Iterator[Any]:
    """A cluster of a test's own."""
    from tests.kafka_cluster import cluster

    with cluster() as running:
        yield running


def small_session() -> SparkSession:
    """A small local session: UTC, ANSI, no user interface."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # else the workers take the first python3 that they find
    logging.getLogger("SQLQueryContextLogger").disabled = True  # it prints every error that a test expects
    builder = SparkSession.builder.master("local[2]").appName("viewlet-tests")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.codegen.wholeStage": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        # Thousands of small queries, each run once: compiling them to machine code does not pay.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
