"""Parsed statements, as frozen values. Names are as written by the user, without quotes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from viewlet.plan.types import Field

Policy = Literal["AUTO", "INCREMENTAL", "INCREMENTAL STRICT", "FULL"]
Kind = Literal["table", "view"]
Assignments = tuple[tuple[str, str], ...]
"""Columns with the expressions of their values."""


@dataclass(frozen=True, slots=True)
class FromSource:
    """The source of a table."""

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
    """CREATE SINK: a destination of a table or view."""

    name: str
    of: str
    to: FromSource


@dataclass(frozen=True, slots=True)
class DropSink:
    """DROP SINK."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateTable:
    """CREATE TABLE; the columns of the primary key are NOT NULL."""

    name: str
    fields: tuple[Field, ...]
    primary_key: tuple[str, ...] = ()
    append_only: bool = False
    trusted: bool = False
    static: bool = False
    watermark: tuple[str, str] | None = None
    """The column of event times, and the delay."""
    if_not_exists: bool = False
    or_replace: bool = False
    defaults: Assignments = ()
    constraints: tuple[tuple[str, tuple[str, str]], ...] = ()
    """By name, a condition, and the action for rows that violate it."""
    query: str | None = None
    """The query that fills it and, if no columns are given, defines them."""
    source: FromSource | None = None
    """The source that feeds it."""


@dataclass(frozen=True, slots=True)
class AddColumns:
    """ALTER TABLE … ADD COLUMN; existing rows get the default, or NULL."""

    table: str
    fields: tuple[Field, ...]
    defaults: Assignments = ()


@dataclass(frozen=True, slots=True)
class DropColumns:
    """ALTER TABLE … DROP COLUMN."""

    table: str
    columns: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """ALTER TABLE … RENAME COLUMN."""

    table: str
    column: str
    to: str


@dataclass(frozen=True, slots=True)
class Rename:
    """ALTER TABLE or VIEW … RENAME TO."""

    kind: Kind
    name: str
    to: str


@dataclass(frozen=True, slots=True)
class CreateView:
    """CREATE MATERIALIZED VIEW, with a refresh policy."""

    name: str
    query: str
    or_replace: bool = False
    if_not_exists: bool = False
    policy: Policy = "AUTO"


@dataclass(frozen=True, slots=True)
class Drop:
    """DROP TABLE or VIEW; with `cascade`, also the views that read it."""

    kind: Kind
    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class Refresh:
    """REFRESH of a view; `full` recomputes it from its inputs."""

    name: str
    full: bool = False


@dataclass(frozen=True, slots=True)
class RefreshTable:
    """REFRESH TABLE: read new data of the table's source."""

    name: str


@dataclass(frozen=True, slots=True)
class Explain:
    """EXPLAIN of an existing view, or of one that a statement would create."""

    target: str | CreateView


@dataclass(frozen=True, slots=True)
class DescribeHistory:
    """DESCRIBE HISTORY: the records of a table's or view's epochs."""

    name: str


@dataclass(frozen=True, slots=True)
class Describe:
    """DESCRIBE: the columns of a table or view; with `extended`, its other properties, too."""

    name: str
    extended: bool = False


@dataclass(frozen=True, slots=True)
class DescribeQuery:
    """DESCRIBE QUERY: the columns of a query."""

    query: str


@dataclass(frozen=True, slots=True)
class Show:
    """SHOW TABLES or VIEWS: their names, or those that match a pattern."""

    kind: Literal["tables", "views"]
    like: str | None = None


@dataclass(frozen=True, slots=True)
class ShowColumns:
    """SHOW COLUMNS."""

    name: str


@dataclass(frozen=True, slots=True)
class ShowCreate:
    """SHOW CREATE TABLE: the statement that creates a table or view."""

    kind: Kind
    name: str


@dataclass(frozen=True, slots=True)
class InsertInto:
    """INSERT; `query` may be VALUES."""

    table: str
    columns: tuple[str, ...] | None
    query: str
    by_name: bool = False
    """Whether the query's columns are matched by name instead of by position."""
    overwrite: bool = False
    """Whether the rows replace all existing ones."""


@dataclass(frozen=True, slots=True)
class DeleteFrom:
    """DELETE: of all rows, or those that meet a condition."""

    table: str
    where: str | None = None
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """UPDATE: sets columns to expressions over the old row."""

    table: str
    assignments: Assignments
    where: str | None = None
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class MergeClause:
    """A WHEN clause of MERGE; the first one for a row's kind whose condition is true applies."""

    rows: Literal["matched", "not matched", "not matched by source"]
    condition: str | None
    action: Literal["update", "insert", "delete"]
    assignments: Assignments | None = ()
    """None: every column gets the source's column of that name."""


@dataclass(frozen=True, slots=True)
class Merge:
    """MERGE: matches a table with a source, and updates, deletes or inserts rows."""

    table: str
    alias: str | None
    source: str
    """A table or query, as in FROM."""
    source_alias: str | None
    on: str
    clauses: tuple[MergeClause, ...]


@dataclass(frozen=True, slots=True)
class BackUp:
    """BACKUP: copy the current epoch to a place of backups."""

    place: str


@dataclass(frozen=True, slots=True)
class Restore:
    """RESTORE: make a new warehouse from a backup, the last one or that of an epoch."""

    place: str
    path: str
    epoch: int | None = None


@dataclass(frozen=True, slots=True)
class Select:
    """A query."""

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
