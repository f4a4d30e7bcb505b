"""The JVM objects behind PySpark's: no other module reads PySpark's private attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeGuard

from viewlet.spark.session.versions import version_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def java_of(spark: SparkSession) -> Any:
    """The packages of a session's JVM."""
    return spark._jvm


def gateway_of(spark: SparkSession) -> Any:
    """PySpark's gateway to the JVM."""
    return spark.sparkContext._gateway


def context_of(spark: SparkSession) -> Any:
    return spark.sparkContext._jsc


def is_alive(spark: SparkSession) -> bool:
    """Whether a session has not been stopped."""
    return context_of(spark) is not None


def session_of(spark: SparkSession) -> Any:
    return spark._jsparkSession


def state_of(spark: SparkSession) -> Any:
    """A session's parser, optimizer, catalog, settings and functions."""
    return session_of(spark).sessionState()


def plan_of(frame: DataFrame) -> Any:
    """The analysed plan of a DataFrame."""
    return frame._jdf.queryExecution().analyzed()


def has_plan(frame: Any) -> TypeGuard[DataFrame]:
    """Whether a DataFrame is a classic one, not one of Spark Connect."""
    return hasattr(frame, "_jdf")


def estimated_bytes(frame: DataFrame) -> int:
    """The size of a DataFrame in bytes, as Spark estimates it."""
    return int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))


def partitions_of(frame: DataFrame) -> Iterator[bytes]:
    """The rows of a DataFrame as Arrow messages, partition by partition, with the next one computed ahead."""
    from pyspark.serializers import NoOpSerializer
    from pyspark.util import _local_iterator_from_socket

    python = java_of(frame.sparkSession).org.apache.spark.api.python.PythonRDD
    served = python.toLocalIteratorAndServe(frame._jdf.toArrowBatchRdd(), True)
    messages: Iterator[bytes] = _local_iterator_from_socket(served, NoOpSerializer())
    return messages


def functions_of(spark: SparkSession) -> dict[str, Any]:
    """The names of a session's temporary functions, with their identifiers in the function registry."""
    found = state_of(spark).catalog().listTemporaryFunctions()
    known = [found.apply(i) for i in range(found.length())]
    if version_of(spark.version) >= (4, 2):  # there the catalog's names are shorter than the registry's
        some, identifier = java_of(spark).scala.Option, java_of(spark).org.apache.spark.sql.catalyst.FunctionIdentifier
        known = [identifier(name.funcName(), some.apply("session"), some.apply("system")) for name in known]
    return {str(name.funcName()): name for name in known}


def config_entry(spark: SparkSession, name: str) -> Any:
    """Spark's declaration of a setting; None for an unknown setting."""
    settings = getattr(java_of(spark).org.apache.spark.sql.internal, "SQLConf$")
    return getattr(settings, "MODULE$").getConfigEntry(name)
