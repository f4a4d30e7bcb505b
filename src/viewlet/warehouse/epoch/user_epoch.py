"""The public face of an epoch: methods that change tables, and the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from types import MappingProxyType
from typing import Any

from viewlet.warehouse.epoch.open_epoch import OpenEpoch


class Epoch:
    """An epoch: collects the changes of its block, and applies them together when the block ends."""

    def __init__(self, opened: OpenEpoch, show: Callable[[int], str]) -> None:
        self._opened = opened
        self._show = show

    def __repr__(self) -> str:
        return repr(self._opened)

    def _repr_html_(self) -> str:
        """For notebooks: what the epoch changed, once it is committed."""
        return self._show(self.number) if self._opened.is_committed else escape(repr(self))

    @property
    def number(self) -> int:
        """The epoch's number, once it is committed."""
        return self._opened.number

    @property
    def late(self) -> Mapping[str, int]:
        """How many rows of each table were late and kept aside, once the block has ended."""
        return MappingProxyType(self._opened.late)

    @property
    def rejected(self) -> Mapping[str, int]:
        """How many rows of each table violated a constraint and were kept aside, once the block has ended."""
        return MappingProxyType(self._opened.rejected)

    @property
    def dropped(self) -> Mapping[str, Mapping[str, int]]:
        """How many rows of each table each constraint dropped, once the block has ended."""
        return MappingProxyType(self._opened.dropped)

    def insert(self, table: str, rows: Any) -> None:
        """Insert rows: a PySpark or pandas DataFrame, a pyarrow Table, a list of dicts or tuples, a Parquet file.

        Many rows, and those of streams, are written as they arrive.
        """
        self._opened.insert(table, rows)

    def delete(self, table: str, rows: Any) -> None:
        """Delete whole rows, one copy for each row given; or, with a primary key, by key."""
        self._opened.delete(table, rows)

    def upsert(self, table: str, rows: Any) -> None:
        """Insert rows, each replacing the row with its key."""
        self._opened.upsert(table, rows)

    def replace(self, table: str, old: Any, new: Any) -> None:
        """Replace old rows by new ones, pair by pair; an old row stays if its new one is refused."""
        self._opened.replace(table, old, new)
