"""What a statement says, as frozen values. Names are as the user wrote them, without quotes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from viewlet.plan.types import Field

Policy = Literal["AUTO", "INCREMENTAL", "INCREMENTAL STRICT", "FULL"]


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


@dataclass(frozen=True, slots=True)
class AddColumns:
    """New columns for a table, NULL in the rows that are there."""

    table: str
    fields: tuple[Field, ...]


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

    kind: Literal["table", "view"]
    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class Refresh:
    """Bring a view up to date; `full` recomputes it from its inputs."""

    name: str
    full: bool = False


@dataclass(frozen=True, slots=True)
class Explain:
    """How a view is kept fresh; of a view that exists, or of one that a statement would create."""

    target: str | CreateView


@dataclass(frozen=True, slots=True)
class DescribeHistory:
    """The records that the refreshes of a table or view left."""

    name: str


@dataclass(frozen=True, slots=True)
class Show:
    """The names of all tables or of all views."""

    kind: Literal["tables", "views"]


@dataclass(frozen=True, slots=True)
class InsertInto:
    """Rows for a table; `query` is a query of its own, also where it was written VALUES."""

    table: str
    columns: tuple[str, ...] | None
    query: str


@dataclass(frozen=True, slots=True)
class DeleteFrom:
    """The rows of a table for which a condition is true, or all, go away."""

    table: str
    where: str | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """Columns of a table's rows get the values of expressions over the old row."""

    table: str
    assignments: tuple[tuple[str, str], ...]
    where: str | None = None


@dataclass(frozen=True, slots=True)
class Select:
    """A query, to be answered and forgotten."""

    query: str


Statement = (
    CreateTable
    | AddColumns
    | CreateView
    | Drop
    | Refresh
    | Explain
    | DescribeHistory
    | Show
    | InsertInto
    | DeleteFrom
    | Update
    | Select
)
