"""Reads files into rows and bad records: text through Spark, Parquet through Arrow."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from viewlet.columns.arrays import Mask, truth_of
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.rows import Rows
from viewlet.errors import RejectedEpoch
from viewlet.intake.to_columns import to_arrow
from viewlet.plan.types import Field
from viewlet.source.bad_records import BadRecord
from viewlet.source.files.folder_source import Folder
from viewlet.source.files.listing import FileChange, FileState, state_of
from viewlet.source.files.records import BadHeader, Record, reason, records_of
from viewlet.source.files.xml_records import Unclosed
from viewlet.warehouse.declare.tables import Table

if TYPE_CHECKING:
    from viewlet.spark.sessions import Sessions

HANDLED = ("encoding", "header", "enforceschema", "multiline", "comment", "pathglobfilter", "recursivefilelookup")
"""Options handled here rather than by Spark's parser."""


@dataclass(slots=True)
class FileRows:
    """The rows and bad records of one version of a file."""

    file: str
    state: FileState
    rows: pa.Table
    bad: list[BadRecord] = field(default_factory=list)
    events: int = 0
    """The number of change events, if it holds these instead of rows."""


def read_files(sessions: Sessions, table: Table, folder: Folder, changes: Sequence[FileChange]) -> list[FileRows]:
    """The contents of files; a file that changes meanwhile is left for the next reading."""
    fields = tuple(replace(f, nullable=True) for f in table.fields)
    read = _read_parquet if folder.format == "parquet" else _read_text
    found = []
    for change in changes:
        if change.now is not None and (opened := _open(Path(folder.path) / change.file)) is not None:
            with opened as file:
                before, contents = state_of(file), io.BytesIO(file.read())
                if state_of(file) == before:
                    found.append((change.file, before, read(folder, fields, change.file, contents)))
    return [_checked(table, made) for made in _parsed(sessions, table.name, folder, fields, found)]


def _open(path: Path) -> BinaryIO | None:
    try:
        return path.open("rb")
    except FileNotFoundError:  # deleted since it was listed; the next listing shows it
        return None


def _read_parquet(folder: Folder, fields: Sequence[Field], name: str, file: io.BytesIO) -> pa.Table | BadRecord:
    """The table's columns of a Parquet file; missing ones are NULL and further ones ignored, as in Spark."""
    try:
        opened = pq.ParquetFile(file)
        there = {given.lower(): given for given in opened.schema_arrow.names}
        data = opened.read(columns=[there[f.name.lower()] for f in fields if f.name.lower() in there])
        columns = [
            data[there[f.name.lower()]]
            if f.name.lower() in there
            else pa.nulls(opened.metadata.num_rows, arrow_type(f.type))
            for f in fields
        ]
        return pa.table(columns, names=[f.name for f in fields])
    except (pa.ArrowException, OSError) as error:
        return BadRecord(None, f"not a Parquet file that can be read: {' '.join(str(error).split())}", None)


def _read_text(folder: Folder, fields: Sequence[Field], name: str, file: io.BytesIO) -> list[Record] | BadRecord:
    try:
        return list(records_of(folder, fields, name, file))
    except BadHeader as error:
        return BadRecord(1, str(error), None)
    except Unclosed as error:
        return BadRecord(None, str(error), None)
    except (OSError, EOFError) as error:
        return BadRecord(None, f"cannot be read: {error}", None)


def _parsed(
    sessions: Sessions, table: str, folder: Folder, fields: tuple[Field, ...], found: list[tuple[str, FileState, Any]]
) -> list[FileRows]:
    """The rows of text files, parsed by one Spark query."""
    nothing = pa.schema([(f.name, arrow_type(f.type)) for f in fields]).empty_table()
    made = [FileRows(name, state, nothing) for name, state, _ in found]
    texts = [(at, record) for at, (_, _, given) in enumerate(found) if isinstance(given, list) for record in given]
    if texts:
        _parse_texts(sessions, folder, fields, made, texts)
    for file, (_, _, given) in zip(made, found, strict=True):
        if isinstance(given, BadRecord):
            file.bad.append(given)
        elif isinstance(given, pa.Table):
            _take_table(table, fields, file, given)
    return made


def _parse_texts(
    sessions: Sessions,
    folder: Folder,
    fields: tuple[Field, ...],
    made: list[FileRows],
    texts: list[tuple[int, Record]],
) -> None:
    """Parse the records of files with Spark, and add rows and bad records to `made`."""
    from viewlet.spark.parse_records import parse_records

    options = {name: value for name, value in folder.options if name not in HANDLED}
    array = pa.array([text for _, (_, text) in texts], pa.string())
    parsed, corrupt = parse_records(sessions.plain, folder.format, array, fields, options)
    arrays = _are_arrays(folder, array)
    bad = truth_of(corrupt.is_valid()) | arrays
    for at in np.flatnonzero(bad).tolist():
        file, (line, text) = texts[at]
        why = reason(folder, fields, text, list(parsed.slice(at, 1).to_pylist()[0].values()))
        made[file].bad.append(BadRecord(line, why, text))
    files = np.array([file for file, _ in texts])
    left_out = arrays if folder.on_bad == "READ NULLS" else bad
    for number in np.unique(files).tolist():
        made[number].rows = parsed.take(np.flatnonzero((files == number) & ~left_out))


def _are_arrays(folder: Folder, texts: pa.Array) -> Mask:
    """Which records are JSON arrays, of which Spark would parse only the first element."""
    if folder.format != "json":
        return np.zeros(len(texts), dtype=np.bool_)
    return truth_of(pc.starts_with(pc.utf8_ltrim_whitespace(texts), "["))


def _take_table(table: str, fields: tuple[Field, ...], file: FileRows, given: pa.Table) -> None:
    try:
        file.rows = to_arrow(table, fields, given)
    except RejectedEpoch as error:
        file.bad.append(BadRecord(None, error.args[0].removeprefix(f"table {table}, "), None))


def _checked(table: Table, file: FileRows) -> FileRows:
    """A file with rows that have NULL in NOT NULL columns moved to the bad records."""
    for f in (f for f in table.fields if not f.nullable):
        missing = truth_of(file.rows[f.name].combine_chunks().is_null())
        for row in file.rows.filter(pa.array(missing)).to_pylist():
            file.bad.append(BadRecord(None, f"{f.name} is NULL", str(row)))
        file.rows = file.rows.filter(pa.array(~missing))
    return file


def file_rows(column: str, file: FileRows) -> Rows:
    """The rows of a file, with its name as a column."""
    names = pa.array([file.file] * file.rows.num_rows, pa.string())
    return Rows.of(file.rows.add_column(0, column, names))
