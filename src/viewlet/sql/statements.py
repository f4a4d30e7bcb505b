"""What a statement says, as frozen values. Names are as the user wrote them, without quotes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from viewlet.plan.types import Field

Policy = Literal["AUTO", "INCREMENTAL", "INCREMENTAL STRICT", "FULL"]
Kind = Literal["table", "view"]
Assignments = tuple[tuple[str, str], ...]
"""Columns, each with the expression that gives its value."""


@dataclass(frozen=True, slots=True)
class FromSource:
    """What feeds a table."""

    kind: str
    """FOLDER, POSTGRES …"""
    place: str
    name: str | None = None
    """The table or topic at that place."""
    format: str | None = None
    options: Assignments = ()
    on_bad: str = "FAIL EPOCH"


@dataclass(frozen=True, slots=True)
class CreateSink:
    """Where a table or view goes on to."""

    name: str
    of: str
    to: FromSource


@dataclass(frozen=True, slots=True)
class DropSink:
    """A sink is forgotten."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateTable:
    """A new table; the columns of its primary key are NOT NULL."""

    name: str
    fields: tuple[Field, ...]
    primary_key: tuple[str, ...] = ()
    append_only: bool = False
    trusted: bool = False
    static: bool = False
    watermark: tuple[str, str] | None = None
    """The column of a row's time, and how late a row may be."""
    if_not_exists: bool = False
    or_replace: bool = False
    defaults: Assignments = ()
    constraints: tuple[tuple[str, tuple[str, str]], ...] = ()
    """By name: a condition, and what becomes of rows that break it."""
    query: str | None = None
    """What fills it and, where no columns are given, says what they are."""
    source: FromSource | None = None
    """The folder of files that feeds it."""


@dataclass(frozen=True, slots=True)
class AddColumns:
    """New columns for a table; the rows that are there get their defaults, or NULL."""

    table: str
    fields: tuple[Field, ...]
    defaults: Assignments = ()


@dataclass(frozen=True, slots=True)
class DropColumns:
    """Columns that a table no longer has."""

    table: str
    columns: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """Another name for a column of a table."""

    table: str
    column: str
    to: str


@dataclass(frozen=True, slots=True)
class Rename:
    """Another name for a table or view."""

    kind: Kind
    name: str
    to: str


@dataclass(frozen=True, slots=True)
class CreateView:
    """A new view, kept fresh under a refresh policy."""

    name: str
    query: str
    or_replace: bool = False
    if_not_exists: bool = False
    policy: Policy = "AUTO"


@dataclass(frozen=True, slots=True)
class Drop:
    """A table or view goes away; with `cascade`, the views that read it too."""

    kind: Kind
    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class Refresh:
    """Bring a view up to date; `full` recomputes it from its inputs."""

    name: str
    full: bool = False


@dataclass(frozen=True, slots=True)
class RefreshTable:
    """Read what is new in a table's source."""

    name: str


@dataclass(frozen=True, slots=True)
class Explain:
    """How a view is kept fresh; of a view that exists, or of one that a statement would create."""

    target: str | CreateView


@dataclass(frozen=True, slots=True)
class DescribeHistory:
    """The records that the refreshes of a table or view left."""

    name: str


@dataclass(frozen=True, slots=True)
class Describe:
    """The columns of a table or view; `extended`: and everything else that is known of it."""

    name: str
    extended: bool = False


@dataclass(frozen=True, slots=True)
class DescribeQuery:
    """The columns that a query would give."""

    query: str


@dataclass(frozen=True, slots=True)
class Show:
    """The names of all tables or of all views, or of those that are like a pattern."""

    kind: Literal["tables", "views"]
    like: str | None = None


@dataclass(frozen=True, slots=True)
class ShowColumns:
    """The names of a table's or view's columns."""

    name: str


@dataclass(frozen=True, slots=True)
class ShowCreate:
    """The statement that makes a table or view."""

    kind: Kind
    name: str


@dataclass(frozen=True, slots=True)
class InsertInto:
    """Rows for a table; `query` is a query of its own, also where it was written VALUES."""

    table: str
    columns: tuple[str, ...] | None
    query: str
    by_name: bool = False
    """Whether the query's columns go by their names, not by position."""
    overwrite: bool = False
    """Whether they take the place of all rows that are there."""


@dataclass(frozen=True, slots=True)
class DeleteFrom:
    """The rows of a table for which a condition is true, or all, go away."""

    table: str
    where: str | None = None
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """Columns of a table's rows get the values of expressions over the old row."""

    table: str
    assignments: Assignments
    where: str | None = None
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class MergeClause:
    """What becomes of some rows of a merge: the first clause of a row's kind whose condition is true applies."""

    rows: Literal["matched", "not matched", "not matched by source"]
    condition: str | None
    action: Literal["update", "insert", "delete"]
    assignments: Assignments | None = ()
    """None: every column gets the source's value of that name."""


@dataclass(frozen=True, slots=True)
class Merge:
    """A table's rows, matched with those of a source, are updated, deleted, or added to."""

    table: str
    alias: str | None
    source: str
    """A table or query, as it stands after FROM."""
    source_alias: str | None
    on: str
    clauses: tuple[MergeClause, ...]


@dataclass(frozen=True, slots=True)
class BackUp:
    """The current epoch, copied to a place of backups."""

    place: str


@dataclass(frozen=True, slots=True)
class Restore:
    """A backup, the last one or that of an epoch, made a warehouse where nothing is."""

    place: str
    path: str
    epoch: int | None = None


@dataclass(frozen=True, slots=True)
class Select:
    """A query, to be answered and forgotten."""

    query: str


Statement = (
    CreateTable
    | CreateSink
    | DropSink
    | AddColumns
    | DropColumns
    | RenameColumn
    | Rename
    | CreateView
    | Drop
    | Refresh
    | RefreshTable
    | Explain
    | Describe
    | DescribeQuery
    | DescribeHistory
    | Show
    | ShowColumns
    | ShowCreate
    | InsertInto
    | DeleteFrom
    | Update
    | Merge
    | BackUp
    | Restore
    | Select
)
