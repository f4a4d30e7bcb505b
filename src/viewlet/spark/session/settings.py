"""Session settings that are part of a definition's meaning: time zone, ANSI mode, case, decimal rules, and so on.

Spark records them with its own persistent views, and we do the same: every setting that differs from Spark's default is
recorded, except those that only say how to plan, run, read or show something. Time zone and ANSI mode are always
recorded, since their defaults depend on the machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from viewlet.spark.session.handles import config_entry, state_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ZONE, ANSI = "spark.sql.session.timeZone", "spark.sql.ansi.enabled"
PLAIN = {ZONE: "UTC", ANSI: "true"}
"""The settings of sessions that Viewlet starts, and of all work that no user's text determines."""

OURS = {"spark.sql.timeType.enabled": "true"}
"""Set in all our sessions: Spark 4.1 has TIME, but disabled."""

_WITHOUT_MEANING = tuple(
    f"spark.sql.{family}"
    for family in (
        "adaptive.", "artifact.", "autoBroadcastJoinThreshold", "broadcastTimeout", "bucketing.", "cache.", "catalog",
        "cbo.", "classic.", "cli.", "codegen.", "connect.", "debug.", "defaultCatalog", "defaultCacheStorageLevel",
        "event.", "execution.", "extendedExplainProviders", "extensions", "files.", "hive.", "inMemoryColumnarStorage.",
        "leafNodeDefaultParallelism", "maven.", "max", "metadataCacheTTLSeconds", "objectHashAggregate.", "optimizer.",
        "orc.", "parquet.", "pipelines.", "planner.", "pyspark.", "queryExecutionListeners", "redaction.", "repl.",
        "shuffle", "sources.", "stackTracesInDataFrameContext", "statistics.", "streaming.", "thriftServer.", "timeType.", "ui.",
        "view.", "warehouse.",
    )
)  # fmt: skip
_WITH_MEANING = ("spark.sql.execution.pandas.", "spark.sql.execution.pythonUDF.", "spark.sql.execution.pythonUDTF.")
"""They determine how values are passed to and from users' functions."""


def settings_of(spark: SparkSession) -> dict[str, str]:
    """All settings of a session."""
    entries = str(_conf(spark).getAllConfs().mkString("\0")).split("\0")
    return {name: value for name, _, value in (entry.partition(" -> ") for entry in entries)}


def meaning_of(spark: SparkSession) -> dict[str, str]:
    """The settings of a session that a definition in it depends on, sorted."""
    found = {name: value for name, value in settings_of(spark).items() if has_meaning(name)}
    found = {name: value for name, value in found.items() if value != _default(spark, name)}
    found |= {name: str(_conf(spark).getConfString(name)) for name in PLAIN}
    return dict(sorted(found.items()))


def has_meaning(name: str) -> bool:
    """Whether a setting can affect the meaning of a query."""
    if not name.startswith("spark.sql."):
        return False
    return name.startswith(_WITH_MEANING) or not name.startswith(_WITHOUT_MEANING)


def put(spark: SparkSession, settings: Mapping[str, str], *, others: Mapping[str, str]) -> None:
    """Give a session exactly these settings among those with meaning, and those without meaning from `others`."""
    conf, before = _conf(spark), settings_of(spark)
    wanted = {name: value for name, value in others.items() if not has_meaning(name)} | dict(settings) | OURS
    for name in before.keys() - wanted.keys():
        conf.unsetConf(name)
    for name, value in wanted.items():
        if before.get(name) != value:
            conf.setConfString(name, value)


def _default(spark: SparkSession, name: str) -> str | None:
    entry = config_entry(spark, name)
    return None if entry is None else str(entry.defaultValueString())


def _conf(spark: SparkSession) -> Any:
    return state_of(spark).conf()
