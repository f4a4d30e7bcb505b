"""Access paths: how a statement reads a map.

A look-up brings rows of its own and meets those of the map:

    Scan      every row                         Get    the rows with equal columns
    Range     … and a column within bounds: row by row, or added up from prefix sums

A function over groups reads, of each group that a change touches:

    Group     all rows                          Extremes    those with the least or greatest values of some columns
    Leading   so many that come first           Ranked      those around some shares of the way through it
    Nearby    those that see a change
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Match:
    """One equality of a look-up: a column of the rows, and one of the map."""

    column: str
    map_column: str
    null_safe: bool = False
    """Whether NULL finds NULL."""


@dataclass(frozen=True, slots=True)
class Scan:
    """Every row."""

    @property
    def on(self) -> tuple[Match, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Get:
    """The rows with equal columns."""

    on: tuple[Match, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """The rows with equal columns whose `order` lies within bounds.

    A bound is a column of the rows that look up and whether it is itself within. With `adds`, a range is met as one row:
    weights and sums added up over it, from prefix sums, so that it costs no more than one row does; as one for each
    combination of the `lanes`, where there are such columns.
    """

    on: tuple[Match, ...]
    order: str
    low: tuple[str, bool] | None
    high: tuple[str, bool] | None
    adds: bool
    lanes: tuple[str, ...] = ()


Lookup = Scan | Get | Range


@dataclass(frozen=True, slots=True)
class Group:
    """All rows of a group."""


@dataclass(frozen=True, slots=True)
class Extremes:
    """The rows with the least value of each of some columns, or with the greatest."""

    columns: tuple[tuple[str, bool], ...]
    """Each with whether the greatest is meant."""


@dataclass(frozen=True, slots=True)
class Leading:
    """The rows that come first in the order of a column, so many and those that tie with them; and those without a value."""

    column: str
    descending: bool
    count: int


@dataclass(frozen=True, slots=True)
class Ranked:
    """A few rows that stand for all where percentiles are taken: those around some shares of the way, from 0 to 1."""

    column: str
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Nearby:
    """The rows that see a change, for a window whose frames reach only so far.

    `order` is the column that its rows are ordered by first, `result` what the result calls it; `back` and `ahead` say
    how many rows before it and after it a row sees. Without `back` it sees all before it, and resumes from the last.
    """

    order: str
    result: str
    descending: bool
    back: int | None
    ahead: int


GroupAccess = Group | Extremes | Leading | Ranked | Nearby
