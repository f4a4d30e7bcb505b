"""Starting Spark when first needed. A caller's session is used as it is, and not changed."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable

import pyspark
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from viewlet.errors import SparkMissing
from viewlet.spark.session.gateway import quiet_start
from viewlet.spark.session.handles import is_alive
from viewlet.spark.session.settings import PLAIN
from viewlet.spark.session.versions import refuse_version

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.pyspark.fallback.enabled": "true",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
    **PLAIN,
}
SMALL_SHUFFLE = 8
"""Shuffle partitions on a single machine; Spark's default of 200 is meant for a cluster."""


def start_spark(*, master: str = "local[*]") -> SparkSession:
    """The running session, or a new one on this machine."""
    for running in (SparkSession.getActiveSession(), SparkSession._instantiatedSession):
        if running is not None and is_alive(running):
            return running
    return _new_session(master)


def _new_session(master: str) -> SparkSession:
    refuse_version(pyspark.__version__)
    if not has_java():
        raise SparkMissing("Spark is needed and Java was not found", hint="install Java 17 or set JAVA_HOME")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {"spark.master": master, "spark.app.name": "viewlet", **SETTINGS}
    if master.startswith("local"):
        settings["spark.sql.shuffle.partitions"] = str(min(SMALL_SHUFFLE, 2 * (os.cpu_count() or 1)))
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        with quiet_start(settings):
            return builder.getOrCreate()
    except PySparkRuntimeError as error:
        reason = str(error).splitlines()[0]
        raise SparkMissing(f"Spark could not be started: {reason}", hint="check Java with `java -version`") from error


_EXCLUDED = "spark.sql.optimizer.excludedRules"
FAULTY_RULES = (
    "catalyst.optimizer.PushProjectionThroughUnion",
    "catalyst.optimizer.PushProjectionThroughLimitAndOffset",
    "execution.planmerging.MergeSubplans",
)
"""Optimizer rules that fail on correlated subqueries, lose the ORDER BY of a LIMIT below them, or fail on Python
aggregates."""
EAGER_RULES = ("catalyst.optimizer.ConvertToLocalRelation",)
"""Optimizer rules that evaluate small tables before other rules have improved the order of conditions."""


def leave_out(spark: SparkSession, rules: Iterable[str]) -> None:
    """Exclude rules from the optimizer of a session of ours."""
    before = spark.conf.get(_EXCLUDED, None)
    spark.conf.set(_EXCLUDED, ",".join([*filter(None, [before]), *(f"org.apache.spark.sql.{r}" for r in rules)]))


def has_java() -> bool:
    """Whether a Java runtime is where Spark looks for it."""
    home = os.environ.get("JAVA_HOME")
    if home and os.access(os.path.join(home, "bin", "java"), os.X_OK):
        return True
    return shutil.which("java") is not None
