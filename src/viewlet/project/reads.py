"""Resolves what a project's queries read: datasets, streams of them, files.

While a project is defined, all tables are empty and only plans matter. While a flow runs, a stream has the rows added
to its table since the flow last read it, and other tables have their current rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from viewlet.errors import ProjectError
from viewlet.plan.words import quoted, read_words
from viewlet.project.definitions import Definitions
from viewlet.project.queries import FORMATS, Names, rewrite
from viewlet.source.bad_records import OnBad
from viewlet.source.files.folder_source import folder
from viewlet.sql.reader import unquoted
from viewlet.warehouse.read.relation import Relation

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from viewlet.database import Database
    from viewlet.spark.project_session import Files

MODES: dict[str, OnBad] = {"PERMISSIVE": "READ NULLS", "DROPMALFORMED": "DROP ROW", "FAILFAST": "FAIL EPOCH"}
"""Spark's modes for malformed records."""


def stream_name(table: str) -> str:
    """The name of a table's stream in queries."""
    return f"stream of {table}"


@dataclass
class Evaluation:
    """The reads of one query."""

    positions: dict[str, int] | None = None
    """For a running flow, the epoch up to which it has read each stream; None during definition."""
    streams: dict[str, int] = field(default_factory=dict)
    """The number of new rows of each stream."""
    epochs: dict[str, int] = field(default_factory=dict)
    """The epoch up to which each stream is read now."""
    temporary: bool = False
    """Whether it reads a temporary view."""


class ProjectReads:
    """The datasets, streams and files of a project, in its session."""

    def __init__(self, db: Database, spark: SparkSession, definitions: Definitions, *, is_trial: bool) -> None:
        self._db, self._spark, self._definitions, self._is_trial = db, spark, definitions, is_trial
        self.needed: Callable[[str], None] = lambda _: None
        """Creates the dataset of that name, if the project has one that this run has not created yet."""
        self.evaluation = Evaluation()
        self.sources: set[str] = set()
        """The tables that folders of files feed."""

    @contextmanager
    def evaluating(self, positions: dict[str, int] | None = None) -> Iterator[Evaluation]:
        """Record the reads of a block."""
        before, self.evaluation = self.evaluation, Evaluation(positions)
        try:
            yield self.evaluation
        finally:
            self.evaluation = before

    def table(self, name: str) -> DataFrame:
        return self._spark.table(quoted(self._show(self._definitions.plain(name))))

    def stream(self, name: str) -> DataFrame:
        return self._spark.table(quoted(self._show_stream(self._definitions.plain(name))))

    def query(self, text: str, args: Any = None) -> DataFrame:
        return self._spark.sql(self.text(text), args)

    def text(self, text: str) -> str:
        """A query's text with all names registered in the session."""
        streams = lambda name: quoted(self._show_stream(self._definitions.plain(name)))  # noqa: E731
        return rewrite(text, Names(self._known, streams, self._files_of_text, self._watermarked_in_text))

    def watermarked(self, frame: DataFrame, column: str, delay: str) -> DataFrame:
        """Set the watermark of a stream; for tables it has no effect, as in Spark."""
        from viewlet.spark.project_session import reads_stream
        from viewlet.spark.watermarked_flow import with_watermark

        return with_watermark(frame, column, delay) if reads_stream(frame, self.marks) else frame

    @property
    def marks(self) -> frozenset[str]:
        """The names of the streams read, as registered."""
        return frozenset(stream_name(name).lower() for name in self.evaluation.streams)

    def _watermarked_in_text(self, stream: str, time: str, delay: str) -> str:
        """Register a stream with a watermark in the session; return its name there."""
        *before, column, _ = read_words(time)
        rows = self._spark.sql(f"SELECT *, {time} FROM {stream}") if before else self._spark.table(stream)
        name = f"{stream.strip('`')} by {time}, {delay}"
        self.watermarked(rows, quoted(unquoted(column)), delay).createOrReplaceTempView(quoted(name))
        return quoted(name)

    def _files_of_text(self, format: str, path: str, is_stream: bool) -> str:
        from viewlet.spark.project_session import Files

        name = self._declare(Files(format, (path,), is_stream=is_stream))
        return self._show_stream(name) if is_stream else self._show(name)

    def files(self, files: Files) -> DataFrame:
        name = self._declare(files)
        return self.stream(name) if files.is_stream else self.table(name)

    def _known(self, name: str) -> str:
        """The name of a dataset or table in one part; other names stay."""
        *before, last = name.split(".")
        is_ours = self._definitions.find(last) or self._db._warehouse.catalog.known(last)
        if is_ours and all(part.lower() in self._definitions.qualifiers for part in before):
            return self._show(last)
        return name

    def _show(self, name: str) -> str:
        """Register a dataset or table in the session."""
        from viewlet.spark.session.leaves import Tables, register_mentioned

        self.needed(name)
        dataset = self._definitions.find(name)
        warehouse = self._db._warehouse
        if dataset is not None and dataset.kind == "temporary view":
            self.evaluation.temporary = True
        elif (known := warehouse.catalog.known(name)) is not None:
            if self.evaluation.positions is None:
                tables = Tables({known: warehouse.catalog.find(known).fields}, warehouse.sessions.warehouse)
                register_mentioned(self._spark, tables, known)
            else:
                warehouse.reading.show(self._spark, [known])
        return name

    def _show_stream(self, name: str) -> str:
        """Register the new rows of a table in the session; return their name there."""
        from viewlet.spark.session.arrow_frames import from_arrow
        from viewlet.spark.session.leaves import Tables, register, register_mentioned

        self.needed(name)
        dataset = self._definitions.find(name)
        if dataset is not None and dataset.kind == "temporary view":
            return self._show(name)
        warehouse = self._db._warehouse
        relation = Relation(warehouse, warehouse.catalog.find(name))
        mark = stream_name(relation.name)
        if self.evaluation.positions is None:
            self.evaluation.streams[relation.name] = 0
            register_mentioned(self._spark, Tables({mark: relation.fields}, warehouse.sessions.warehouse), mark)
        else:
            rows = new_rows(relation, self.evaluation.positions.get(relation.name))
            self.evaluation.streams[relation.name] = rows.num_rows
            self.evaluation.epochs[relation.name] = relation.epoch
            frame = from_arrow(warehouse.sessions.plain, rows, relation.fields)
            register(self._spark, warehouse.sessions.warehouse, mark, frame)
        return mark

    def _declare(self, files: Files) -> str:
        """The name of the table that files feed; it is created and read on first use."""
        root, pattern = _place(files)
        options = {name.lower(): value for name, value in files.options.items()}
        given = {**({"enforceschema": "true"} if files.format == "csv" else {}), **options}
        mode = MODES[given.pop("mode", "PERMISSIVE").upper()]
        for inference in ("inferschema", "samplingratio", "mergeschema", "maxfilespertrigger", "latestfirst"):
            given.pop(inference, None)  # they only affect schema inference or the portions of files
        schema = files.schema or self._inferred(files)
        if files.format != "parquet":
            given.setdefault("timezone", str(self._spark.conf.get("spark.sql.session.timeZone")))
        if pattern:
            given["pathglobfilter"] = pattern
        source = folder(root, files.format, given, on_bad_record=mode)
        shape = schema if isinstance(schema, str) else schema.jsonValue()
        identity = json.dumps([source.document(), shape, files.is_stream], sort_keys=True, default=str)
        name = f"files_{Path(root).name}_{hashlib.sha256(identity.encode()).hexdigest()[:8]}"
        self.sources.add(name)
        if self._db._warehouse.catalog.known(name) is None:
            self._db.create_table(
                name, _nullable(schema), append_only=files.is_stream, source=source, read=not self._is_trial
            )
        return name

    def _inferred(self, files: Files) -> Any:
        """The schema that Spark infers from files."""
        paths = [str(_local(path)) for path in files.paths]
        return self._spark.read.format(files.format).options(**files.options).load(paths).schema


def _place(files: Files) -> tuple[str, str]:
    """The folder of files, and the pattern of their names."""
    if files.format not in FORMATS or len(files.paths) != 1:
        raise ProjectError(
            f"{files.format} of {', '.join(files.paths) or 'no path'} cannot be kept fresh",
            hint="one folder of CSV, JSON, XML or Parquet files",
        )
    path = _local(files.paths[0])
    if any(c in path.name for c in "*?[{") or path.is_file():
        return str(path.parent), path.name
    return str(path), ""


def _local(path: str) -> Path:
    """A path of the project, relative to its folder."""
    return Path(path.removeprefix("file://").removeprefix("file:")).absolute()


def _nullable(schema: Any) -> Any:
    """A schema with all columns nullable, as in files."""
    if isinstance(schema, str):
        return schema
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(f.name, f.dataType) for f in schema.fields])


def new_rows(relation: Relation, since: int | None) -> pa.Table:
    """The rows added to a table after an epoch; all rows if it was never read."""
    columns = relation.columns
    if since is None:
        return relation.arrow()
    if relation.oldest > since:
        raise ProjectError(
            f"{relation.name} was read up to epoch {since}, but its changes are kept only from epoch {relation.oldest} on",
            hint="run the project with --full-refresh for what reads it, and more often; or db.set_retention",
        )
    changes = relation.changes(since)
    if gone := pc.sum(pc.not_equal(changes["_change_type"], "insert")).as_py():
        raise ProjectError(
            f"{relation.name} is read as a stream, and {gone} of its rows were deleted or replaced",
            hint="read it as a table, in a materialized view",
        )
    return changes.select(columns)
