"""Splits text files into records with line numbers, and explains bad ones."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, cast

from viewlet.errors import shortened
from viewlet.plan.types import Field
from viewlet.source.files.folder_source import Folder
from viewlet.source.files.xml_records import row_tag, split_records, values_of

Record = tuple[int, str]
"""The number of its first line, from 1, and its text."""
_SPACE = "".join(map(chr, range(33)))
"""The characters that Java's `trim` removes."""


class BadHeader(Exception):
    """The first line does not name the table's columns."""


def records_of(folder: Folder, fields: Sequence[Field], name: str, file: io.BytesIO) -> Iterator[Record]:
    """The records of a file as Spark's readers see them: without blank lines, comments and the header."""
    text = io.TextIOWrapper(_decompressed(name, file), folder.option("encoding", "utf-8"), errors="replace")
    if folder.format == "xml":
        return split_records(text.read(), row_tag(dict(folder.options)))
    lines = ((number, line.removesuffix("\n")) for number, line in enumerate(text, 1))
    whole = _joined(lines, _quote(folder)) if folder.is_set("multiLine") else lines
    comment = folder.option("comment") or "\0"
    records = ((n, record) for n, record in whole if record.strip(_SPACE) and not record.startswith(comment))
    if folder.is_set("header"):
        _check_header(folder, fields, next(records, None))
    return records


def _decompressed(name: str, file: io.BytesIO) -> BinaryIO:
    if name.endswith(".gz"):
        return cast(BinaryIO, gzip.open(file))
    return cast(BinaryIO, bz2.open(file)) if name.endswith(".bz2") else file


def _joined(lines: Iterator[Record], quote: str) -> Iterator[Record]:
    """Join lines into records while a quote is open."""
    for number, line in lines:
        while line.count(quote) % 2 and (more := next(lines, None)) is not None:
            line = f"{line}\n{more[1]}"
        yield number, line


def _check_header(folder: Folder, fields: Sequence[Field], header: Record | None) -> None:
    if header is None or folder.is_set("enforceSchema"):
        return
    found, wanted = [name.strip(_SPACE) for name in _cells(folder, header[1])], [f.name for f in fields]
    if [name.lower() for name in found] != [name.lower() for name in wanted]:
        raise BadHeader(f"the header names {', '.join(found)}; the columns are {', '.join(wanted)}")


def reason(folder: Folder, fields: Sequence[Field], text: str, values: Sequence[Any]) -> str:
    """The reason why a record cannot be read; `values` are Spark's, NULL where parsing failed."""
    if folder.format == "csv":
        cells = _cells(folder, text)
        if len(cells) != len(fields):
            return f"{len(cells)} values for {len(fields)} columns"
        given = dict(zip([f.name for f in fields], cells, strict=True))
    else:
        try:
            given = _named_values(folder, text)
        except ValueError as error:
            return str(error)
    for field, value in zip(fields, values, strict=True):
        if value is None and given.get(field.name) not in (None, "", folder.option("nullValue")):
            return f"{field.name}: {shortened(given[field.name])} is no {str(field.type).upper()}"
    return f"cannot be read as {folder.format.upper()}"


def _named_values(folder: Folder, text: str) -> dict[str, Any]:
    """The values of a JSON or XML record by name; raise ValueError with the reason if it cannot be parsed."""
    if folder.format == "xml":
        return values_of(text, folder.option("attributePrefix", "_"))
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")
    return found


def _cells(folder: Folder, text: str) -> list[str]:
    """The cells of a CSV record, close enough to Spark's parser to explain errors."""
    separator = folder.option("sep") or folder.option("delimiter") or ","
    if len(separator) > 1:
        return text.split(separator)
    return next(csv.reader(io.StringIO(text), delimiter=separator, quotechar=_quote(folder)), [])


def _quote(folder: Folder) -> str:
    return folder.option("quote") or '"'
