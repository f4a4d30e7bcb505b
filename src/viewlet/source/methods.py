"""What a `Database` can do with the sources of its tables."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from viewlet.errors import UnknownName

if TYPE_CHECKING:
    from viewlet.source.sources import Source
    from viewlet.warehouse.tables import Table
    from viewlet.warehouse.warehouse import Warehouse


class SourceMethods:
    """Reading sources: once, or for as long as one likes."""

    _warehouse: Warehouse

    def read_sources(self, *tables: str) -> list[int]:
        """Take in what is new for some tables, or for all that are fed by a source; the numbers of the epochs."""
        with self._warehouse.writing():
            fed = [_fed(self._warehouse, name) for name in tables] or _all_fed(self._warehouse)
            return [number for table, source in fed for number in source.read(self._warehouse, table)]

    def watch(self, *tables: str, every: float = 1.0, seconds: float | None = None) -> Iterator[int]:
        """Go on reading sources, looking `every` so many seconds; the epochs' numbers, as they are committed.

        `seconds`: for so long; unless said, until the caller stops asking. The lag is in each epoch's record.
        """
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            began = time.monotonic()
            yield from self.read_sources(*tables)
            pause = began + every - time.monotonic()
            if end is not None and time.monotonic() + max(pause, 0) >= end:
                return
            time.sleep(max(pause, 0))


def _fed(warehouse: Warehouse, name: str) -> tuple[Table, Source]:
    table = warehouse.catalog.table(name)
    if table.source is None:
        raise UnknownName(f"table {table.name} is fed by no source", hint="CREATE TABLE … FROM FOLDER …, POSTGRES …")
    return table, table.source


def _all_fed(warehouse: Warehouse) -> list[tuple[Table, Source]]:
    return [(table, table.source) for table in warehouse.catalog.tables.values() if table.source is not None]
