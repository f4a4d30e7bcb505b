"""AUTO CDC: a streaming table of change events, and a view of the resulting state.

The view is a function of all events, so the order of their arrival does not matter. SCD type 1 is the last event of
each key, unless it is a deletion. Type 2 has a row for each sequence of a key's events with equal tracked columns: the
values of the last one, the start of the sequence, and its end, where the next one starts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from viewlet.errors import ProjectError
from viewlet.formatting import suggestion
from viewlet.plan.words import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SEQUENCE, DELETED = "__sequence", "__deleted"
"""The additional columns of the table of events."""
START_AT, END_AT = "__START_AT", "__END_AT"


@dataclass(frozen=True)
class Columns:
    """A selection of columns: those named, or all others."""

    names: tuple[str, ...] = ()
    is_except: bool = True

    def of(self, there: Sequence[str], where: str) -> list[str]:
        """The selected ones of existing columns, in their order."""
        known, named = {name.lower() for name in there}, {name.lower() for name in self.names}
        if unknown := [name for name in self.names if name.lower() not in known]:
            raise ProjectError(f"{where}: there is no column {unknown[0]}", hint=suggestion(unknown[0], there))
        return [name for name in there if (name.lower() in named) != self.is_except]


@dataclass(frozen=True)
class AutoCdc:
    """A flow of change events into a table with the resulting state."""

    name: str
    target: str
    source: str
    """The text after FROM: a stream."""
    keys: tuple[str, ...]
    sequence_by: str | Column
    where: str
    deletes: str | Column | None = None
    columns: Columns = Columns()
    scd_type: Literal[1, 2] = 1
    tracked: Columns = Columns()
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def events(self) -> str:
        """The name of the table of events."""
        return f"{self.target}_events"

    @property
    def required(self) -> tuple[str, ...]:
        """The NOT NULL columns of the table of events."""
        return (*self.keys, SEQUENCE, DELETED)

    def read_events(self) -> DataFrame:
        """The rows that the flow appends to the table of events."""
        from pyspark.sql import SparkSession
        from pyspark.sql import functions as sf

        def column(given: str | Column) -> Column:
            return sf.expr(given) if isinstance(given, str) else given

        source = SparkSession.active().sql(f"SELECT * FROM {self.source}")
        kept = self.columns.of(source.columns, self.where)
        self._check(kept)
        deleted = sf.lit(False) if self.deletes is None else sf.coalesce(column(self.deletes), sf.lit(False))
        extra = [column(self.sequence_by).alias(SEQUENCE), deleted.alias(DELETED)]
        return source.select(*(sf.col(quoted(name)) for name in kept), *extra)

    def _check(self, kept: Sequence[str]) -> None:
        there = {name.lower() for name in kept}
        if lost := [key for key in self.keys if key.lower() not in there]:
            raise ProjectError(f"{self.where}: the key {lost[0]} is not among the columns that are kept")
        if taken := there & {name.lower() for name in (SEQUENCE, DELETED, START_AT, END_AT)}:
            raise ProjectError(f"{self.where}: {min(taken)} is a column name that AUTO CDC reserves", hint="rename it")

    def query(self, columns: Sequence[str]) -> str:
        """The query of the view over the table of events, which has these columns."""
        kept = [name for name in columns if name not in (SEQUENCE, DELETED)]
        return _newest(self, kept) if self.scd_type == 1 else _history(self, kept)


def _list(names: Collection[str]) -> str:
    return ", ".join(map(quoted, names))


def _newest(flow: AutoCdc, columns: Sequence[str]) -> str:
    """SCD type 1: the last event of each key, unless it is a deletion."""
    order = f"PARTITION BY {_list(flow.keys)} ORDER BY {SEQUENCE} DESC, {DELETED} DESC"
    ranked = f"SELECT *, row_number() OVER ({order}) AS __place FROM {quoted(flow.events)}"
    return f"SELECT {_list(columns)} FROM ({ranked}) WHERE __place = 1 AND NOT {DELETED}"


def _history(flow: AutoCdc, columns: Sequence[str]) -> str:
    """SCD type 2: a row for each sequence of events with equal tracked columns; at equal times, deletions are last."""
    keys = {key.lower() for key in flow.keys}
    tracked = flow.tracked.of([name for name in columns if name.lower() not in keys], flow.where)
    order = f"PARTITION BY {_list(flow.keys)} ORDER BY {SEQUENCE}, {DELETED}"

    def differs(other: str) -> str:
        """The condition that an event and the one before or after it belong to different sequences."""
        values = [f"NOT ({other}({quoted(name)}) OVER w <=> {quoted(name)})" for name in tracked]
        return " OR ".join([f"coalesce({other}({DELETED}) OVER w, true)", *values])

    marked = (
        f"SELECT *, {differs('lag')} AS __begins, {differs('lead')} AS __ends, lead({SEQUENCE}) OVER w AS {END_AT} "
        f"FROM {quoted(flow.events)} WINDOW w AS ({order})"
    )
    begun = f"max(CASE WHEN __begins THEN {SEQUENCE} END) OVER ({order} ROWS UNBOUNDED PRECEDING) AS {START_AT}"
    stretches = f"SELECT *, {begun} FROM ({marked})"
    whole = f"__ends AND NOT {DELETED} AND ({END_AT} IS NULL OR {START_AT} < {END_AT})"
    return f"SELECT {_list(columns)}, {START_AT}, {END_AT} FROM ({stretches}) WHERE {whole}"
