"""Nets a sequence of row changes to rows to insert, and rows or keys to delete.

With a primary key the last change of each key wins. Without one, rows are counted: old ones are deleted, new ones
inserted. The law: a row that cannot be read does not exist. So a bad new version of a row deletes the old one, and the
table always holds the readable rows of its source, whatever their history.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

import pyarrow as pa

from viewlet.errors import RejectedEpoch, shortened
from viewlet.intake.from_python import Convert, converter
from viewlet.intake.refusal import Wrong
from viewlet.intake.to_columns import to_arrow
from viewlet.plan.types import Field
from viewlet.source.bad_records import BadRecord, Placed
from viewlet.source.feed import Batch, Position
from viewlet.source.row_versions import Key, all_rows
from viewlet.warehouse.declare.tables import Table

Values = Sequence[Any]
"""The values of a row, in the order of the table's columns."""
Stored = Callable[[Sequence[Key]], Sequence[Values | None]]
KnownVersions = Callable[[Sequence[Key]], Mapping[Key, int]]


class Unchanged(Enum):
    """The value of a column that a log omits because the change did not affect it."""

    UNCHANGED = "unchanged"


UNCHANGED = Unchanged.UNCHANGED


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a change in its file or log."""

    file: str
    line: int | None = None
    text: str | None = None

    def bad(self, reason: str) -> Placed:
        return self.file, BadRecord(self.line, reason, self.text)


@dataclass(slots=True)
class _Row:
    """An inserted row."""

    values: list[Any]
    place: Place
    origin: Key | None = None
    """The key under which the table has the values that changes omitted."""


@dataclass
class NetChanges:
    """The net effect of a sequence of changes."""

    table: Table
    clear: bool = False
    records: int = 0
    oldest: float | None = None
    bad: list[Placed] = field(default_factory=list)
    versions: dict[Key, int] = field(default_factory=dict)
    """The version of each changed row, if changes have versions."""
    _latest: dict[Key, _Row | None] = field(default_factory=dict)
    _come: list[_Row] = field(default_factory=list)
    _gone: list[_Row] = field(default_factory=list)

    def put(self, new: Values, place: Place, old: Values | None = None, version: int | None = None) -> None:
        """Add an insertion or, with `old`, an update; of `old`, only the key is needed if there is one."""
        row = _Row(list(new), place)
        if not self.table.primary_key:
            self._count(row, old)
        elif (key := self._key(new, place)) is not None and not self._is_stale(key, version):
            before = key if old is None else self._key(old, place)
            if before is not None:
                self._carry(row, before)
                if before != key:
                    self._latest[before] = None
            self._latest[key] = row

    def take(self, old: Values, place: Place, version: int | None = None) -> None:
        """Add a deletion."""
        if not self.table.primary_key:
            self._gone.append(_Row(list(old), place))
        elif (key := self._key(old, place)) is not None and not self._is_stale(key, version):
            self._latest[key] = None

    def truncate(self, version: int | None = None) -> None:
        """Add a deletion of all rows."""
        if self.table.primary_key and self._is_stale(all_rows(self.table), version):
            return
        self.clear = True
        self._latest.clear()
        self._come.clear()
        self._gone.clear()

    def batch(self, position: Position, stored: Stored, known: KnownVersions = lambda _: {}) -> Batch:
        """The net changes as a batch, without those older than the stored versions."""
        self._leave_out_stale(known)
        self._fill(stored)
        rows = [*(row for row in self._latest.values() if row is not None), *self._come]
        come, wrong = readable(self.table, [row.values for row in rows])
        self.bad += [rows[at].place.bad(reason) for at, reason in wrong.items()]
        gone = self._keys_gone([rows[at] for at in wrong]) if self.table.primary_key else self._rows_gone()
        return Batch(position, come, gone, self.records, self.clear, self.oldest, self.bad, self.versions)

    def _is_stale(self, key: Key, version: int | None) -> bool:
        """Whether a change repeats one before a later change of its row, or of all rows; if not, record its version."""
        if version is None:
            return False
        every = all_rows(self.table)
        again = version == self.versions.get(every) and key == every
        if again or version < max(self.versions.get(key, version), self.versions.get(every, version)):
            return True
        self.versions[key] = version
        return False

    def _leave_out_stale(self, known: KnownVersions) -> None:
        """Drop changes of rows of which the table has a later version."""
        later = known(list(self.versions)) if self.versions else {}
        for key in [key for key, version in self.versions.items() if version < later.get(key, version)]:
            del self.versions[key]
            self._latest.pop(key, None)

    def _count(self, row: _Row, old: Values | None) -> None:
        if old is not None:
            row.values = [before if v is UNCHANGED else v for v, before in zip(row.values, old, strict=True)]
            self._gone.append(_Row(list(old), row.place))
        self._come.append(row)

    def _carry(self, row: _Row, before: Key) -> None:
        """Take the values that a change omits from the row's last version, here or later from the table."""
        if UNCHANGED not in row.values:
            return
        last = self._latest.get(before)
        row.origin = before
        if last is not None:
            row.origin = last.origin
            row.values = [known if v is UNCHANGED else v for v, known in zip(row.values, last.values, strict=True)]

    def _fill(self, stored: Stored) -> None:
        """Take the values that all changes omitted from the table."""
        lacking = [row for row in self._latest.values() if row is not None and UNCHANGED in row.values]
        found = stored([row.origin for row in lacking if row.origin is not None]) if lacking else []
        for row, known in zip(lacking, found, strict=True):
            if known is None:
                raise RejectedEpoch(
                    f"table {self.table.name}: {row.place.file} omits values that the table does not have either",
                    hint="ALTER TABLE … REPLICA IDENTITY FULL, or drop the table and create it again",
                )
            row.values = [k if v is UNCHANGED else v for v, k in zip(row.values, known, strict=True)]

    def _key(self, values: Values, place: Place) -> Key | None:
        """The key of a row; None if it cannot be read, which is recorded as a bad record."""
        key = []
        for at, f, convert in self._key_parts:
            if (reason := _reason(f, convert, values[at])) is not None:
                self.bad.append(place.bad(reason))
                return None
            key.append(convert(values[at]))
        return tuple(key)

    @cached_property
    def _key_parts(self) -> list[tuple[int, Field, Convert]]:
        table = self.table
        return [(table.names.index(n), table.field(n), converter(table.field(n).type)) for n in table.primary_key]

    def _keys_gone(self, bad: list[_Row]) -> pa.Table:
        unreadable = set(map(id, bad))
        keys = [key for key, row in self._latest.items() if row is None or id(row) in unreadable]
        return to_arrow(self.table.name, self.table.fields, keys, columns=self.table.primary_key)

    def _rows_gone(self) -> pa.Table:
        return readable(self.table, [row.values for row in self._gone])[0]


def readable(table: Table, rows: Sequence[Values]) -> tuple[pa.Table, Mapping[int, str]]:
    """The rows that fit the table's columns; for the others, the reasons by position."""
    try:
        return to_arrow(table.name, table.fields, list(rows)), {}
    except RejectedEpoch:
        wrong = {at: reason for at, row in enumerate(rows) if (reason := _reason_of_row(table.fields, row))}
        good = [row for at, row in enumerate(rows) if at not in wrong]
        return to_arrow(table.name, table.fields, good), wrong


def _reason_of_row(fields: Sequence[Field], row: Values) -> str | None:
    """The reason why a row cannot be read, or None."""
    reasons = (_reason(f, converter(f.type), value) for f, value in zip(fields, row, strict=True))
    return next((reason for reason in reasons if reason is not None), None)


def _reason(f: Field, convert: Convert, value: Any) -> str | None:
    """The reason why a value cannot be read, or None."""
    if value is None:
        return None if f.nullable else f"{f.name} is NULL"
    try:
        convert(value)
    except Wrong as wrong:
        return f"{f.name}: {shortened(value)} {wrong}"
    return None
