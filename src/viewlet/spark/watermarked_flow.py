"""A flow that aggregates under a watermark, cut in two at its aggregate.

Below the cut each new row is processed by itself; above it, the rows of closed groups. Spark's own rules apply: a
watermark is metadata of the event-time column, and of windows of it; a group can close if such a column is among its
keys, and closes once the watermark has reached its end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from viewlet.errors import ProjectError
from viewlet.plan.words import quoted
from viewlet.spark.decode.session_windows import is_session
from viewlet.spark.session.handles import plan_of
from viewlet.spark.session.jvm import Jvm, Node, children, class_of, items, rebuild

DELAY = "spark.watermarkDelayMs"
"""Spark's mark on columns with a watermark."""
_TIMES = ("timestamp", "timestamp_ntz")


def with_watermark(frame: DataFrame, column: str, delay: str) -> DataFrame:
    """The same rows with a watermark on an event-time column.

    Spark's own `withWatermark` has no effect on rows that are not a Spark stream.
    """
    time = frame.select(sf.col(column)).schema.fields[0]
    if time.dataType.simpleString() not in _TIMES:
        raise ProjectError(f"a watermark needs a TIMESTAMP column, and {column} is {time.dataType.simpleString()}")
    try:
        marks = {**time.metadata, DELAY: Jvm(frame.sparkSession).delay(delay)}
    except PySparkException as error:
        raise ProjectError(f"{delay!r} is not the delay of a watermark", hint="such as 10 minutes") from error

    def marked(name: str) -> Column:
        found = sf.col(quoted(name))
        return found.alias(name, metadata=marks) if name.lower() == time.name.lower() else found

    return frame.select(*map(marked, frame.columns))


@dataclass(frozen=True)
class WatermarkedFlow:
    """A plan with one aggregate over a stream, and the column by which its groups close."""

    jvm: Jvm
    plan: Node
    aggregate: Node
    closing: Node
    """The key that determines when a group closes: a time, or a window, by its end."""
    marked: Node
    """The operator that gives rows their watermark."""

    @property
    def delay(self) -> int:
        """How many milliseconds late rows may be."""
        return int(self.closing.metadata().getLong(DELAY))

    @property
    def is_session(self) -> bool:
        return is_session(self.closing)

    @cached_property
    def columns(self) -> list[Node]:
        """The columns that the aggregate reads; the key by which groups close comes first."""
        used = self.aggregate.references()
        rest = [c for c in items(self.aggregate.child().output()) if used.contains(c)]
        return [self.closing, *(c for c in rest if not c.exprId().equals(self.closing.exprId()))]

    def arriving(self) -> DataFrame:
        """The rows that reach the aggregate, as its `columns`; for sessions, followed by the other keys."""
        keys = items(self.aggregate.groupingExpressions()) if self.is_session else []
        others = [k for k in keys if not k.semanticEquals(self.closing)]
        wanted = [*self.columns, *(self.jvm.alias(key, "key") for key in others)]
        frame = self.jvm.frame(self.jvm.project(wanted, self.aggregate.child()))
        return frame.toDF(*(f"c{at}" for at in range(len(wanted))))

    def times(self) -> DataFrame:
        """The event times of the new rows, as one column."""
        (time,) = [c for c in items(self.marked.output()) if c.metadata().contains(DELAY)]
        return self.jvm.frame(self.jvm.project([time], self.marked)).toDF("time")

    def results(self, rows: DataFrame) -> DataFrame:
        """The results for the rows of whole groups, given in the form of `arriving`."""
        plan = plan_of(rows)
        given = zip(items(plan.output()), self.columns, strict=False)
        named = [self.jvm.alias(g, c.name(), c.exprId()) for g, c in given]
        above = rebuild(self.jvm, self.aggregate, [self.jvm.project(named, plan)])
        return self.jvm.frame(_replaced(self.jvm, self.plan, self.aggregate, above))


def watermarked(frame: DataFrame, aggregate: Node) -> WatermarkedFlow | None:
    """A frame cut at an aggregate whose groups a watermark closes; None if none does."""
    keys = [key for key in items(aggregate.groupingExpressions()) if _is_marked(key)]
    marked = list(_marking(aggregate.child()))
    if len(keys) != 1 or len(marked) != 1:
        return None
    return WatermarkedFlow(Jvm(frame.sparkSession), plan_of(frame), aggregate, keys[0], marked[0])


def _is_marked(column: Node) -> bool:
    return class_of(column) == "AttributeReference" and DELAY in json.loads(column.metadata().json())


def _marking(plan: Node) -> Iterator[Node]:
    """The operators that give a column its watermark; their inputs have none."""
    below = children(plan)
    if not any(map(_is_marked, items(plan.output()))):
        return
    if any(_is_marked(column) for child in below for column in items(child.output())):
        for child in below:
            yield from _marking(child)
    else:
        yield plan


def _replaced(jvm: Jvm, plan: Node, old: Node, new: Node) -> Node:
    """A plan with one operator replaced."""
    if plan.fastEquals(old):
        return new
    parts = children(plan)
    replace: Callable[[Node], Node] = lambda part: _replaced(jvm, part, old, new)  # noqa: E731
    return plan.withNewChildren(jvm.seq(map(replace, parts))) if parts else plan
