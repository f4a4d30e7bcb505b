"""The versions of Spark that Viewlet supports.

Definitions are decoded from Catalyst's own plans, and Catalyst is not a public interface: every minor version of Spark
changes some of it. The supported range is the one that is tested, and before a session's first definition its JVM is
probed once for what Viewlet builds plans from; a build of Spark that lacks it is refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING
from weakref import WeakSet

from viewlet.errors import UnsupportedSpark

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

FIRST, LAST = (4, 1), (4, 3)

CONSTRUCTORS = {
    "expressions.Alias": 6, "expressions.AttributeReference": 6, "expressions.Cast": 3, "expressions.SortOrder": 4,
    "expressions.ScalarSubquery": 7, "expressions.WindowSpecDefinition": 3, "expressions.GetArrayStructFields": 5,
    "expressions.GetArrayItem": 3, "expressions.RaiseError": 3, "expressions.aggregate.CollectList": 1,
    "expressions.aggregate.PercentileDisc": 6, "plans.logical.Project": 2, "plans.logical.Filter": 2,
    "plans.logical.Aggregate": 4, "plans.logical.Join": 5, "plans.logical.Sort": 4, "plans.logical.Union": 3,
    "plans.logical.Expand": 3, "plans.logical.LocalRelation": 4,
}  # fmt: skip
"""Classes whose constructors differ between versions, with the number of parameters that Viewlet passes."""

CHANGED = {
    "Upper": (4, 2), "Lower": (4, 2), "CollationKey": (4, 2),  # Unicode 17
    "Mode": (4, 2),  # -0.0 is 0.0
    "Ceil": (4, 3), "Floor": (4, 3),  # fail, under ANSI, beyond the range of BIGINT
    "Corr": (4, 3),  # NULL if a side does not vary, also under ANSI
    "Percentile": (4, 3),  # different rounding, and different infinities
}  # fmt: skip
"""Functions evaluated in process whose meaning changed, and since when. Each meaning has its own name and entry."""

_PROBED: WeakSet[SparkContext] = WeakSet()


def version_of(text: str) -> tuple[int, int]:
    """The major and minor number of a version."""
    major, minor = [*re.findall(r"\d+", text), "0", "0"][:2]
    return int(major), int(minor)


def change_of(kind: str, version: tuple[int, int]) -> str | None:
    """The version in which a function got the meaning that it has in `version`; None for its original meaning."""
    since = CHANGED.get(kind)
    return None if since is None or version < since else f"since {since[0]}.{since[1]}"


def changed_between(kinds: Iterable[str], then: str, now: str) -> list[str]:
    """The functions whose meaning differs between two versions of Spark."""
    made, used = version_of(then), version_of(now)
    return [kind for kind in kinds if change_of(kind, made) != change_of(kind, used)]


def refuse_version(text: str) -> None:
    """Raise for a version of Spark that Viewlet has not been tested with."""
    if not FIRST <= version_of(text) <= LAST:
        first, last, after = (f"{major}.{minor}" for major, minor in (FIRST, LAST, (LAST[0], LAST[1] + 1)))
        raise UnsupportedSpark(
            f"Spark {text} is not supported: Viewlet works with Spark {first} to {last}",
            hint=f'pip install "pyspark>={first},<{after}"',
        )


def probe(spark: SparkSession) -> None:
    """Raise, when a session is first used, if its Spark lacks what Viewlet builds plans from."""
    if spark.sparkContext in _PROBED:
        return
    refuse_version(spark.version)
    for name, count in CONSTRUCTORS.items():
        if count not in _parameter_counts(spark, f"org.apache.spark.sql.catalyst.{name}"):
            raise UnsupportedSpark(
                f"Spark {spark.version} is a build that Viewlet does not know: {name} takes other parameters",
                hint="use Apache Spark as it is released",
            )
    _PROBED.add(spark.sparkContext)


def _parameter_counts(spark: SparkSession, name: str) -> set[int]:
    """The numbers of parameters of a class's constructors; none if there is no such class."""
    from py4j.protocol import Py4JJavaError

    from viewlet.spark.session.handles import java_of

    java = java_of(spark)
    try:
        return {int(made.getParameterCount()) for made in java.java.lang.Class.forName(name).getConstructors()}
    except Py4JJavaError:
        return set()
