"""Errors for refused rows: table, row, column, value and reason, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viewlet.errors import RejectedEpoch, shortened
from viewlet.formatting import suggestion
from viewlet.plan.types import Field


class Wrong(Exception):
    """A value that does not fit its column, with the reason and a hint."""

    def __init__(self, reason: str, hint: str | None = None) -> None:
        super().__init__(reason)
        self.hint = hint


class RejectedRow(RejectedEpoch):
    """A refused row; rows count from 1."""

    def __init__(self, table: str, row: int, reason: str, hint: str | None = None, count: int = 1) -> None:
        super().__init__(f"table {table}, row {row}{reason}", hint=hint)
        self._table, self._row, self._reason = table, row, reason
        self.count = count
        """How many rows are known to be refused for the same reason."""

    @property
    def reason(self) -> str:
        """The reason without table and row."""
        return self._reason.removeprefix(",").strip()

    def after(self, rows: int) -> RejectedRow:
        """The same error for a piece that comes after `rows` others."""
        return RejectedRow(self._table, self._row + rows, self._reason, self.hint, self.count)


def refuse_value(table: str, row: int, column: str, value: Any, reason: str, hint: str | None = None) -> RejectedRow:
    return RejectedRow(table, row, f", column {column}: {shortened(value)} {reason}", hint)


def refuse_null(table: str, row: int, field: Field) -> RejectedRow:
    return RejectedRow(table, row, f", column {field.name}: NULL in a NOT NULL column")


def refuse_row(table: str, row: int, reason: str, hint: str | None = None) -> RejectedRow:
    return RejectedRow(table, row, f": {reason}", hint)


def place_columns(where: str, wanted: Sequence[Field], given: Sequence[Any]) -> list[int]:
    """The position of each wanted column among the given ones; case matters only where both spellings occur."""
    if [field.name for field in wanted] == list(given):
        return list(range(len(wanted)))
    found = [_place(field.name, given) for field in wanted]
    if not_there := [f.name for f, at in zip(wanted, found, strict=True) if at < 0]:
        raise RejectedEpoch(f"{where}: column {not_there[0]} is missing", hint=f"given: {_listed(given)}")
    if twice := [name for at, name in enumerate(given) if name in given[:at]]:
        raise RejectedEpoch(f"{where}: column {shortened(twice[0])} is given twice", hint="name each column once")
    if more := [name for at, name in enumerate(given) if at not in found]:
        raise RejectedEpoch(
            f"{where}: there is no column {shortened(more[0])}", hint=suggestion(str(more[0]), [f.name for f in wanted])
        )
    return found


def _place(name: str, given: Sequence[Any]) -> int:
    if name in given:
        return list(given).index(name)
    alike = [at for at, other in enumerate(given) if isinstance(other, str) and other.lower() == name.lower()]
    return alike[0] if len(alike) == 1 else -1


def _listed(names: Sequence[Any]) -> str:
    return ", ".join(map(str, names)) or "none"
