"""Framing: which rows of a flow make up an increment for one of its consumers (§2.6).

A framing function receives a row and its own small state, and returns the row's framing key and its next state.
Consecutive rows with one key are an increment, which becomes readable when a row with another key arrives. If the
function returns a third value that is true, a punctuation, the row is the last of its increment, which is readable at
once.

Without a framing function, the output of each run of the producer is an increment, with the number of the run as its
key; for a table or view, the changes of each epoch are one, with the epoch as its key.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from viewlet.errors import FlowError, shortened
from viewlet.flow.increments.python_rows import Row

Framing = Callable[[Row, Any], tuple[Any, ...]]
"""`(row, state) -> (key, state)` or `(key, state, closes)`; the state starts as None and must fit JSON."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Consecutive rows of one chunk with one framing key."""

    key: Any
    start: int
    stop: int
    is_closed: bool


@dataclass(frozen=True, slots=True)
class ByColumn:
    """An increment for each sequence of rows with one value of a column."""

    column: str

    def __call__(self, row: Row, state: Any) -> tuple[Any, Any]:
        return row[self.column], None


@dataclass(frozen=True, slots=True)
class ByDay:
    """An increment for each day of a column of dates or times."""

    column: str

    def __call__(self, row: Row, state: Any) -> tuple[Any, Any]:
        value = row[self.column]
        return (value.date() if isinstance(value, dt.datetime) else value), None


@dataclass(frozen=True, slots=True)
class ByCount:
    """An increment for every `rows` rows."""

    rows: int

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise FlowError(f"increments cannot have {self.rows} rows", hint="by_count(n) needs n above zero")

    def __call__(self, row: Row, state: int | None) -> tuple[int, int, bool]:
        before = state or 0
        return before // self.rows, before + 1, (before + 1) % self.rows == 0


@dataclass(frozen=True, slots=True)
class ByPunctuation:
    """Increments that end with a row for which a condition holds."""

    is_last: Callable[[Row], bool]

    def __call__(self, row: Row, state: int | None) -> tuple[int, int, bool]:
        number, closes = state or 0, bool(self.is_last(row))
        return number, number + closes, closes


def by_column(column: str) -> Framing:
    """Frame by the values of a column."""
    return ByColumn(column)


def by_day(column: str) -> Framing:
    """Frame by day."""
    return ByDay(column)


def by_count(rows: int) -> Framing:
    """Frame by a number of rows."""
    return ByCount(rows)


def by_punctuation(is_last: Callable[[Row], bool]) -> Framing:
    """Frame by rows that close an increment."""
    return ByPunctuation(is_last)


def split(rows: list[Row], framing: Framing, state: Any) -> tuple[list[Frame], Any]:
    """The frames of the rows of a chunk, and the framing function's next state."""
    frames: list[Frame] = []
    for place, row in enumerate(rows):
        key, state, closes = _framed(row, framing, state)
        last = frames[-1] if frames else None
        if last is not None and last.key == key and not last.is_closed:
            frames[-1] = Frame(key, last.start, place + 1, closes)
        else:
            frames.append(Frame(key, place, place + 1, closes))
    return frames, state


def _framed(row: Row, framing: Framing, state: Any) -> tuple[Any, Any, bool]:
    answer = framing(row, state)
    if not isinstance(answer, tuple) or len(answer) not in (2, 3):
        raise FlowError(
            f"a framing function returned {shortened(answer)}", hint="return (key, state), or (key, state, closes)"
        )
    return _stored(answer[0]), answer[1], len(answer) == 3 and bool(answer[2])


def _stored(key: Any) -> Any:
    """A framing key as stored: dates and times become text, which sorts in the same order."""
    if isinstance(key, dt.date | dt.datetime):
        return key.isoformat()
    if key is None or isinstance(key, bool | int | float | str):
        return key
    raise FlowError(f"{shortened(key)} is not a framing key", hint="use a number, a string, a date or a time")
