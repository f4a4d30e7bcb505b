"""The Spark sessions of a warehouse.

    caller ──▶ spark       a child with the settings and names of the caller's session, and the names of the warehouse
       │         └──▶ a clone of it for each definition and each statement
       └──▶ by settings    one for each set of recorded settings, in which views are maintained and checked

The caller's session is only read: nothing is registered in it, and it stays the active one.
"""

from __future__ import annotations

import importlib.metadata
import os
import sys
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from viewlet.errors import SparkMissing, UnsupportedQuery
from viewlet.spark.session.settings import PLAIN, has_meaning, meaning_of, put, settings_of

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession

    from viewlet.plan.types import Field
    from viewlet.spark.analyse import Analysis
    from viewlet.spark.session.follow import Follower

Settings = Mapping[str, str]


class Sessions:
    """The caller's session, or one that is started when first needed, and its children."""

    def __init__(self, given: SparkSession | None, names: Callable[[], Collection[str]]) -> None:
        self.warehouse = uuid.uuid4().hex
        """Marks the names of this warehouse, wherever a plan reads them."""
        self._given, self._names = given, names
        self._caller = given
        self._child: Follower | None = None
        self._by_settings: dict[tuple[tuple[str, str], ...], SparkSession] = {}

    @property
    def caller(self) -> SparkSession:
        """The given session, or one already running, or a new one."""
        from viewlet.spark.session.handles import is_alive
        from viewlet.spark.session.session import start_spark

        if self._caller is None or not is_alive(self._caller):
            if self._given is not None:
                raise SparkMissing("the Spark session was stopped", hint="connect again, with a running session")
            self._caller, self._child, self._by_settings = start_spark(), None, {}
        return self._caller

    @property
    def version(self) -> str:
        """The version of the Spark that is used, or would be started."""
        return self._caller.version if self._caller is not None else importlib.metadata.version("pyspark")

    @property
    def cores(self) -> int:
        """How many tasks run at once, as far as is known without starting Spark."""
        if self._caller is None:
            return os.cpu_count() or 1
        from viewlet.spark.session.handles import is_alive

        return self._caller.sparkContext.defaultParallelism if is_alive(self._caller) else 1

    @property
    def context(self) -> SparkContext | None:
        """The Spark context, if Spark runs."""
        from viewlet.spark.session.handles import is_alive

        is_running = self._caller is not None and is_alive(self._caller)
        return self._caller.sparkContext if is_running and self._caller is not None else None

    @property
    def child(self) -> SparkSession:
        """The child that users see, up to date with the caller's session."""
        from viewlet.spark.session.follow import Follower
        from viewlet.spark.session.handles import state_of

        leader = self.caller
        if self._child is None:
            self._child = Follower(leader)
        changed = self._child.follow(self._names())
        for name, value in changed.items():
            for spark in () if has_meaning(name) else self._by_settings.values():
                conf = state_of(spark).conf()
                conf.unsetConf(name) if value is None else conf.setConfString(name, value)
        return self._child.spark

    def under(self, settings: Settings) -> SparkSession:
        """A session with some settings, without anybody's views and functions."""
        from viewlet.spark.session.children import bare

        caller, key = self.caller, tuple(sorted(settings.items()))
        if key not in self._by_settings:
            self._by_settings[key] = bare(caller)
            put(self._by_settings[key], settings, others=settings_of(caller))
        return self._by_settings[key]

    @property
    def are_plain(self) -> bool:
        """Whether a text means the same here as in a session that Viewlet starts; does not start Spark."""
        if self._caller is None and not _is_running():
            return True
        known = [self.caller, *([self._child.spark] if self._child else [])]
        return all(meaning_of(spark) == PLAIN for spark in known)

    def statement(self, text: str) -> SparkSession:
        """A session for one text: a clone of the child, with the variables that the text may mention."""
        from viewlet.spark.session.children import clone
        from viewlet.spark.session.follow import share_variables

        spark = clone(child := self.child)
        for known in (self.caller, child):
            share_variables(known, spark, text)
        return spark

    @contextmanager
    def analysed(
        self,
        definition: Any,
        schemas: Mapping[str, tuple[Field, ...]],
        settings: Settings | None = None,
        queries: Mapping[str, DataFrame] | None = None,
    ) -> Iterator[Analysis]:
        """The analysis of a definition, in a session of its own that is active in the block.

        The session has the settings of the caller's session, of the DataFrame's, or the given ones. A text may read
        `queries` by name.
        """
        from viewlet.spark.analyse import analyse
        from viewlet.spark.session.children import active, clone
        from viewlet.spark.session.leaves import register_query

        spark = self.statement(definition) if isinstance(definition, str) else clone(_session_of(definition))
        if settings is not None:
            put(spark, settings, others=settings_of(spark))
        with active(spark):
            for name, query in (queries or {}).items():
                register_query(spark, name, query)
            yield analyse(spark, definition, schemas, self.warehouse)

    @property
    def plain(self) -> SparkSession:
        """A session in UTC with Spark's defaults, through which rows enter and leave Spark."""
        return self.under(PLAIN)


def _is_running() -> bool:
    """Whether Spark runs in this process, without importing it."""
    return "pyspark" in sys.modules and sys.modules["pyspark"].SparkContext._active_spark_context is not None


def _session_of(frame: Any) -> SparkSession:
    """The session that a DataFrame was created in."""
    from viewlet.spark.session.handles import has_plan

    if not has_plan(frame):
        raise UnsupportedQuery(
            "a DataFrame of Spark Connect does not show its plan", hint="give the definition as SQL text"
        )
    return frame.sparkSession
