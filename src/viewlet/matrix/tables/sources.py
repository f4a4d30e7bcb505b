"""The sources of matrices in a warehouse: tables and views, wide or long, or constant arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viewlet.matrix.delta.factors import Array


@dataclass(frozen=True)
class Wide:
    """A row of the matrix for each row of a table or view, identified by the column `row`; `columns` are its columns.

    If a program only sums over rows, `row` may be omitted, and the table may be a query.
    """

    table: str
    columns: Sequence[str]
    row: str | None = None


@dataclass(frozen=True)
class Long:
    """An entry of the matrix for each row of a table or view: its position and its value. Other entries are zero."""

    table: str
    row: str = "row"
    column: str = "column"
    value: str = "value"


@dataclass(frozen=True)
class Moments:
    """A view with one row of moments m_i_j: the sums of products of columns, the first of which is all ones."""

    table: str
    columns: tuple[str, ...]

    @property
    def size(self) -> int:
        return 1 + len(self.columns)


@dataclass(frozen=True, eq=False)
class Fixed:
    """A constant array."""

    array: Array


Source = Wide | Long | Moments | Fixed
