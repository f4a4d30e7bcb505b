"""A folder of files as the source of a table: new files insert rows, replaced and deleted ones change them.

Bags beside the table hold the state of each file (size, time, inode, number of rows) and its rows, so that replacing or
deleting a file deletes its rows. An APPEND ONLY table reads every file once, by its path, as Spark's streams do, and
stores no rows by file. So does a table whose files hold change events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import pyarrow as pa

from viewlet import arguments
from viewlet.columns.fresh_names import free_name
from viewlet.errors import SqlError
from viewlet.plan.words import option_text, options_text, quoted_text
from viewlet.source.bad_records import OnBad, bad_table, read_on_bad
from viewlet.source.events.formats import read_format
from viewlet.source.files.xml_records import row_tag
from viewlet.source.row_versions import versions_bags
from viewlet.store import Layout, Snapshot
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.source import Bag, Source

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse

Format = Literal["csv", "json", "xml", "parquet", "debezium"]
POSITION_TYPES: dict[str, pa.DataType] = {
    "file": pa.string(),
    **dict.fromkeys(("size", "changed", "inode", "rows", "bad"), pa.int64()),
}
POSITION_LAYOUT = Layout(columns=tuple(POSITION_TYPES), key=("file",))
_ANY = ("pathglobfilter", "recursivefilelookup")
_TEXT = ("encoding", "locale", "timezone", "dateformat", "timestampformat", "timestampntzformat")
_OPTIONS: Mapping[Format, tuple[str, ...]] = {
    "csv": (
        *_ANY, *_TEXT, "header", "enforceschema", "multiline", "sep", "delimiter", "quote", "escape", "comment",
        "nullvalue", "emptyvalue", "nanvalue", "positiveinf", "negativeinf", "ignoreleadingwhitespace",
        "ignoretrailingwhitespace", "chartoescapequoteescaping", "maxcolumns", "maxcharspercolumn",
    ),
    "json": (
        *_ANY, *_TEXT, "primitivesasstring", "prefersdecimal", "allowcomments", "allowunquotedfieldnames",
        "allowsinglequotes", "allownumericleadingzeros", "allowbackslashescapinganycharacter",
        "allowunquotedcontrolchars", "allownonnumericnumbers", "dropfieldifallnull",
    ),
    "xml": (
        *_ANY, *_TEXT, "rowtag", "attributeprefix", "valuetag", "nullvalue", "ignoresurroundingspaces",
        "ignorenamespace", "excludeattribute",
    ),
    "parquet": _ANY,
    "debezium": (*_ANY, "encoding", "times"),
}  # fmt: skip
"""The options of Spark that each format supports; `times`, the unit of integers in time columns, is Viewlet's own."""


@dataclass(frozen=True)
class Folder(Source):
    """A folder of files of one format as a source."""

    kind: ClassVar[str] = "folder"
    path: str
    format: Format
    options: tuple[tuple[str, str], ...] = ()
    """Options by name, in lower case."""
    on_bad: OnBad = "FAIL EPOCH"

    def option(self, name: str, default: str = "") -> str:
        return dict(self.options).get(name.lower(), default)

    def is_set(self, name: str) -> bool:
        return self.option(name).lower() == "true"

    def read(self, warehouse: Warehouse, table: Table) -> Iterator[int]:
        from viewlet.source.events.take_events import take_event_files
        from viewlet.source.files.take_files import take_files

        return (take_event_files if self.tells_changes else take_files)(warehouse, table, self)

    @property
    def tells_changes(self) -> bool:
        """Whether files hold change events rather than rows."""
        return self.format == "debezium"

    def bags(self, table: Table) -> list[Bag]:
        kept: list[Bag] = [(position_bag(table), POSITION_LAYOUT, POSITION_TYPES)]
        if self.tells_changes:
            kept += versions_bags(table)
        elif not table.append_only:
            file = file_column(table)
            columns = (file, *table.names)
            kept.append((rows_bag(table), Layout(columns, (file,)), {file: pa.string(), **table.types}))
        return kept

    def asides(self, table: Table) -> list[Table]:
        return [bad_table(table, by_file=True)] if self.on_bad == "KEEP ASIDE" else []

    def status(self, table: Table, snapshot: Snapshot) -> dict[str, Any]:
        from viewlet.source.files.take_files import reading_status

        return {"kind": self.kind, "path": self.path, **reading_status(snapshot, table)}

    def document(self) -> dict[str, Any]:
        return {"path": self.path, "format": self.format, "options": dict(self.options), "on_bad": self.on_bad}

    @property
    def statement(self) -> str:
        options = options_text(dict(self.options))
        return f"FROM FOLDER {quoted_text(self.path)} FORMAT {self.format.upper()}{options} ON BAD RECORD {self.on_bad}"


def position_bag(table: Table) -> str:
    return f"{table.name}.files"


def rows_bag(table: Table) -> str:
    return f"{table.name}.file_rows"


def file_column(table: Table) -> str:
    return free_name("_file", table.names)


def folder(
    path: str | Path,
    format: str,
    options: Mapping[str, Any] | None = None,
    *,
    on_bad_record: str = "FAIL EPOCH",
) -> Folder:
    """A folder of files, for `db.create_table(…, source=…)`; `options` are Spark's options for the format.

    `on_bad_record`: "FAIL EPOCH", "DROP ROW", "KEEP ASIDE" (in a separate table), or "READ NULLS" (as Spark does).
    """
    known = next((f for f in get_args(Format) if f == arguments.text("the format of a folder", format).lower()), None)
    if known is None:
        raise SqlError(
            f"{format} is not a file format that can be read", hint=f"there are: {', '.join(get_args(Format))}"
        )
    given = {name.lower(): option_text(value) for name, value in arguments.mapping("the options", options).items()}
    for name in given:
        if name not in _OPTIONS[known]:
            raise SqlError(f"a folder of {known} files has no option {name}", hint=", ".join(sorted(_OPTIONS[known])))
    if known == "xml":
        row_tag(given)
    on_bad = read_on_bad(on_bad_record, *(("READ NULLS",) if known == "debezium" else ()))
    read_format("debezium", given.get("times", ""))
    return Folder(str(Path(path).absolute()), known, tuple(sorted(given.items())), on_bad)


def read(document: Mapping[str, Any]) -> Folder:
    """Decode a folder source."""
    options = tuple(sorted(document["options"].items()))
    return Folder(document["path"], document["format"], options, document["on_bad"])
