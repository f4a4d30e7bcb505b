"""Access paths: how a statement reads a map.

A look-up finds for each of its rows those of the map:

    Scan      every row                         Get    the rows with equal columns
    Range     … and a column within bounds: row by row, or added up from prefix sums

A function over groups reads, for each group that a change touches:

    Group     all rows                          Extremes    those with the least or greatest values of some columns
    Leading   the first rows in an order        Ranked      those around some fractions of the group
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
    """Whether NULL equals NULL."""


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

    A bound is a column of the rows that look up, and whether it is inclusive. With `adds`, a range is returned as one
    row with its weights and sums, added up by prefix sums at the cost of a single row; if there are `lanes`, as one row
    for each combination of these columns.
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
    """The rows with the least or the greatest value of each of some columns."""

    columns: tuple[tuple[str, bool], ...]
    """Each with whether the greatest is wanted."""


@dataclass(frozen=True, slots=True)
class Leading:
    """The first `count` rows in the order of a column, including ties, and those where it is NULL."""

    column: str
    descending: bool
    count: int


@dataclass(frozen=True, slots=True)
class Ranked:
    """A few rows that represent the group for percentiles: those around some fractions of it, from 0 to 1."""

    column: str
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Nearby:
    """The rows that see a change, for a window with bounded frames.

    `order` is the first column of its order, `result` that column's name in the result; a row sees `back` rows before
    it and `ahead` rows after it. Without `back` it sees all rows before it, and resumes from the last of them.
    """

    order: str
    result: str
    descending: bool
    back: int | None
    ahead: int


GroupAccess = Group | Extremes | Leading | Ranked | Nearby
