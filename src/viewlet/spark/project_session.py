"""Running a project's own code on a classic session, with its reads directed through Viewlet.

Functions of Spark Declarative Pipelines call `spark.table`, `spark.read`, `spark.readStream` and `spark.sql` on
whichever session they hold. While users' code runs, these lead to `Reads`; while ours does, to Spark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame

from viewlet.errors import UnsupportedQuery
from viewlet.plan.words import option_text
from viewlet.spark.session.handles import java_of, plan_of
from viewlet.spark.session.jvm import Node, children, class_of

_PATCHED: tuple[tuple[type, str], ...] = (
    *((SparkSession, name) for name in ("table", "sql", "read", "readStream")),
    (ClassicFrame, "withWatermark"),
)
_PYTHON = re.compile(r"Python(UDF|UDAF|UDTF|MapInArrow)|MapInPandas|MapInArrow|InPandas|InArrow")
_VOLATILE = re.compile(r"#(\d+)L?|viewlet:[0-9a-f]*:")


@dataclass(frozen=True)
class Files:
    """Files that a project reads."""

    format: str
    paths: tuple[str, ...]
    schema: Any = None
    options: Mapping[str, str] = field(default_factory=dict)
    is_stream: bool = False


class Reads(Protocol):
    """What a project's code reads."""

    def table(self, name: str) -> DataFrame: ...
    def stream(self, name: str) -> DataFrame: ...
    def files(self, files: Files) -> DataFrame: ...
    def query(self, text: str, args: Any) -> DataFrame: ...
    def watermarked(self, frame: DataFrame, column: str, delay: str) -> DataFrame: ...


class FileReader:
    """`spark.read` and `spark.readStream`, for files and tables only."""

    def __init__(self, session: ProjectSession, files: Files) -> None:
        self._session, self._files = session, files

    def format(self, source: str) -> FileReader:
        return FileReader(self._session, replace(self._files, format=source.lower()))

    def schema(self, schema: Any) -> FileReader:
        return FileReader(self._session, replace(self._files, schema=schema))

    def option(self, key: str, value: Any) -> FileReader:
        return self.options(**{key: value})

    def options(self, **options: Any) -> FileReader:
        given = {key: option_text(value) for key, value in options.items() if value is not None}
        return FileReader(self._session, replace(self._files, options={**self._files.options, **given}))

    def load(self, path: Any = None, format: str | None = None, schema: Any = None, **options: Any) -> DataFrame:
        asked = self.options(**options)._files
        paths = [path] if isinstance(path, str) else list(path or [])
        paths = paths or [p for p in [asked.options.get("path")] if p]
        named = {key: value for key, value in asked.options.items() if key != "path"}
        asked = replace(asked, format=(format or asked.format).lower(), paths=tuple(paths), options=named)
        return self._session.ours(lambda reads: reads.files(replace(asked, schema=schema or asked.schema)))

    def csv(self, path: Any, schema: Any = None, **options: Any) -> DataFrame:
        return self.load(path, "csv", schema, **options)

    def json(self, path: Any, schema: Any = None, **options: Any) -> DataFrame:
        return self.load(path, "json", schema, **options)

    def xml(self, path: Any, rowTag: str | None = None, schema: Any = None, **options: Any) -> DataFrame:
        return self.load(path, "xml", schema, rowTag=rowTag, **options)

    def parquet(self, *paths: str, **options: Any) -> DataFrame:
        return self.load(list(paths), "parquet", **options)

    def table(self, tableName: str) -> DataFrame:  # PySpark's own name for it
        is_stream = self._files.is_stream
        return self._session.ours(lambda reads: reads.stream(tableName) if is_stream else reads.table(tableName))

    def __getattr__(self, name: str) -> NoReturn:
        where = "readStream" if self._files.is_stream else "read"
        raise UnsupportedQuery(f"spark.{where}.{name} cannot be kept fresh", hint="CSV, JSON, XML, Parquet, table")


class ProjectSession:
    """Directs the reads of users' code to `Reads`."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._spark: Attributes = {}

    @contextmanager
    def theirs(self) -> Iterator[None]:
        """In the block, users' code runs."""
        saved = _current()
        ours: tuple[Any, ...] = (
            lambda _, name: self.ours(lambda reads: reads.table(name)),
            lambda _, text, args=None, **__: self.ours(lambda reads: reads.query(text, args)),
            property(lambda _: FileReader(self, Files("parquet", ()))),
            property(lambda _: FileReader(self, Files("parquet", (), is_stream=True))),
            lambda frame, eventTime, delayThreshold: self.ours(
                lambda reads: reads.watermarked(frame, eventTime, delayThreshold)
            ),
        )
        self._spark = saved
        _put(dict(zip(_PATCHED, ours, strict=True)))
        try:
            yield
        finally:
            _put(saved)

    def ours(self, action: Callable[[Reads], DataFrame]) -> DataFrame:
        """Run code of ours in the middle of users' code."""
        theirs = _current()
        _put(self._spark)
        try:
            return action(self._reads)
        finally:
            _put(theirs)


Attributes = dict[tuple[type, str], Any]


def _current() -> Attributes:
    return {(kind, name): kind.__dict__[name] for kind, name in _PATCHED}


def _put(attributes: Attributes) -> None:
    for (kind, name), value in attributes.items():
        setattr(kind, name, value)


def read_yaml(spark: SparkSession, text: str) -> Any:
    """The content of a YAML text, read by the parser among Spark's own jars."""
    mapper = java_of(spark).com.fasterxml.jackson.dataformat.yaml.YAMLMapper()
    return json.loads(mapper.readTree(text).toString())


def runs_python(frame: DataFrame) -> bool:
    """Whether a DataFrame contains users' functions."""
    return bool(_PYTHON.search(str(plan_of(frame).toJSON())))


def fingerprint(frame: DataFrame) -> str:
    """The meaning of a DataFrame as text that is the same in every session."""
    numbers: dict[str, str] = {}
    return _VOLATILE.sub(
        lambda found: f"#{numbers.setdefault(found[1], str(len(numbers)))}" if found[1] else "",
        str(plan_of(frame).toString()),
    )


_STATEFUL = frozenset(
    [
        "Aggregate",
        "Distinct",
        "Deduplicate",
        "DeduplicateWithinWatermark",
        "Window",
        "Sort",
        "GlobalLimit",
        "LocalLimit",
        "Offset",
        "Except",
        "Intersect",
        "Pivot",
        "FlatMapGroupsInPandas",
        "FlatMapGroupsInPandasWithState",
        "TransformWithStateInPySpark",
    ]
)
_STREAM_SIDE = {
    "Inner": (True, True),
    "LeftOuter": (True, False),
    "RightOuter": (False, True),
    "LeftSemi": (True, False),
}
"""For each kind of join with a table, the sides on which a stream may be."""


def stateful_over(frame: DataFrame, marks: frozenset[str]) -> list[tuple[str, Node]]:
    """The operators that would have to remember a stream's rows; none if each row can be processed alone."""
    found: list[tuple[str, Node]] = []
    _streams(plan_of(frame), marks, found)
    return found


def reads_stream(frame: DataFrame, marks: frozenset[str]) -> bool:
    return _streams(plan_of(frame), marks, [])


def _streams(plan: Node, marks: frozenset[str], found: list[tuple[str, Node]]) -> bool:
    """Whether a plan reads a stream; stateful operators over one are added to `found`."""
    name = class_of(plan)
    if name == "SubqueryAlias" and str(plan.alias()).lower() in marks:
        return True
    below = [_streams(child, marks, found) for child in children(plan)]
    if any(below) and name in _STATEFUL:
        found.append((name, plan))
    if any(below) and name == "Join":
        kind = str(plan.joinType())
        if all(below) or not any(s and a for s, a in zip(below, _STREAM_SIDE.get(kind, (False, False)), strict=True)):
            found.append((f"a {kind} join of {'two streams' if all(below) else 'a table with a stream'}", plan))
    return any(below)
