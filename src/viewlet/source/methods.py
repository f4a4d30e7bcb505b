"""The methods of `Database` for sources."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from viewlet import arguments
from viewlet.errors import UnknownName
from viewlet.progress import Wanted, reporting
from viewlet.warehouse.epoch.open_epoch import open_epoch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from viewlet.warehouse.declare.tables import Table
    from viewlet.warehouse.source import Source
    from viewlet.warehouse.warehouse import Warehouse


class SourceMethods:
    """Loading rows, and reading sources once or continuously."""

    _warehouse: Warehouse

    def load(
        self,
        table: str,
        rows: Any,
        *,
        format: str = "parquet",
        options: Mapping[str, Any] | None = None,
        progress: Wanted = None,
    ) -> int:
        """Insert many rows into a table in one epoch, writing them as they arrive, and return its number.

        `rows`: whatever `insert` accepts, or the path of a file or a folder of files in a `format`: "parquet", "csv" or
        "json". Spark reads the last two with its `options`; a malformed record rejects the whole load.
        """
        from viewlet.source.files.load_files import load_files

        with reporting(progress, self._warehouse.progress), open_epoch(self._warehouse) as epoch:
            if isinstance(rows, str | Path):
                given = arguments.mapping("the options", options)
                load_files(self._warehouse, epoch, table, Path(rows).expanduser(), format, given)
            else:
                epoch.insert(table, rows)
        return epoch.number

    def read_sources(self, *tables: str) -> list[int]:
        """Read new data for some tables, or for all that have a source; return the numbers of the epochs."""
        with self._warehouse.writing():
            fed = [_fed(self._warehouse, name) for name in tables] or _all_fed(self._warehouse)
            return [n for source, tables in _groups(fed) for n in source.read_together(self._warehouse, tables)]

    def watch(self, *tables: str, every: float = 1.0, seconds: float | None = None) -> Iterator[int]:
        """Read sources once every `every` seconds; yield the epochs' numbers as they are committed.

        `seconds`: for how long; by default until the caller stops iterating. Each epoch's record has the lag.
        """
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            began = time.monotonic()
            yield from self.read_sources(*tables)
            pause = began + every - time.monotonic()
            if end is not None and time.monotonic() + max(pause, 0) >= end:
                return
            time.sleep(max(pause, 0))

    def batch_writer(self, table: str, stream: str, *, upsert: bool = False) -> Callable[[DataFrame, int], None]:
        """Return a function for Structured Streaming's `foreachBatch` that ingests each batch exactly once.

        `stream`: a name for the stream, as lasting as its checkpoint. `upsert`: rows replace those with their key.
        """
        from viewlet.source.stream_batches import batch_writer

        return batch_writer(self._warehouse, table, stream, upsert=upsert)


def _fed(warehouse: Warehouse, name: str) -> tuple[Table, Source]:
    table = warehouse.catalog.table(name)
    if table.source is None:
        raise UnknownName(f"table {table.name} has no source", hint="CREATE TABLE … FROM FOLDER …, POSTGRES …")
    return table, table.source


def _groups(fed: Iterable[tuple[Table, Source]]) -> Iterable[tuple[Source, list[Table]]]:
    """Tables whose sources are read in the same epochs, with the source of the first of each group."""
    groups: dict[tuple[str, str], tuple[Source, list[Table]]] = {}
    for table, source in fed:
        key = (source.kind, source.together) if source.together else ("", table.name)
        groups.setdefault(key, (source, []))[1].append(table)
    return groups.values()


def _all_fed(warehouse: Warehouse) -> list[tuple[Table, Source]]:
    return [(table, table.source) for table in warehouse.catalog.tables.values() if table.source is not None]
