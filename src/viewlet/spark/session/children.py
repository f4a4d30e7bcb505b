"""Child sessions: Viewlet uses Spark only in sessions of its own.

A child shares the SparkContext and the persistent catalog with the caller's session. Settings, temporary views and
functions are its own, so the caller's stay as they are. Spark and PySpark both track an active session, and PySpark's
`createDataFrame` changes it: inside `active` it is the child, and afterwards the previous one again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark import RDD
from pyspark.sql import SparkSession

from viewlet.spark.session.handles import java_of, session_of
from viewlet.spark.session.jvm import quietly
from viewlet.spark.session.settings import OURS
from viewlet.spark.session.workers import own_workers


def clone(parent: SparkSession) -> SparkSession:
    """A session with a copy of another's current settings, temporary views and functions."""
    return _wrapped(parent, session_of(parent).cloneSession())


def bare(parent: SparkSession) -> SparkSession:
    """A session without temporary views and functions, with Spark's initial settings."""
    return _wrapped(parent, session_of(parent).newSession())


def _wrapped(parent: SparkSession, session: Any) -> SparkSession:
    """PySpark's object for a session, prevented from becoming the session of `rdd.toDF`."""
    to_frame = RDD.toDF
    for name, value in OURS.items():
        session.sessionState().conf().setConfString(name, value)
    try:
        return SparkSession(parent.sparkContext, session)
    finally:
        RDD.toDF = to_frame  # type: ignore[method-assign]


@contextmanager
def active(spark: SparkSession) -> Iterator[SparkSession]:
    """Make a session the active one in the block, without PySpark's own logging of errors."""
    sessions: Any = SparkSession._get_j_spark_session_class(java_of(spark))
    before, before_in_python = sessions.getActiveSession(), SparkSession._activeSession
    sessions.setActiveSession(session_of(spark))
    SparkSession._activeSession = spark
    try:
        with quietly(), own_workers(spark.sparkContext):
            yield spark
    finally:
        SparkSession._activeSession = before_in_python
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()
