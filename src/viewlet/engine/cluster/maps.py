"""Maps as tasks read them: opened where their runs are, in full or restricted to one partition.

A look-up by the columns that partition a map finds only rows of the task's own partition. Rows that are on every
partition, however, must not match rows of others: for them each run is cut, once for as long as a worker holds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import pyarrow as pa

from viewlet.engine.cluster.shares import share_of
from viewlet.program.distributed import Partitioned, Tag
from viewlet.store import Contents, Layout, RunRef, make_contents, open_contents
from viewlet.store.runs.runs import Run
from viewlet.store.runs.write_runs import make_map_run


@dataclass(frozen=True, slots=True)
class StoredMap:
    """Where a map's runs are at the start of the epoch, and how its rows are partitioned."""

    refs: tuple[RunRef, ...]
    layout: Layout
    types: dict[str, pa.DataType]
    tag: Tag

    @staticmethod
    def of(contents: Contents, tag: Tag) -> StoredMap:
        return StoredMap(contents.refs(), contents.layout, dict(contents.types), tag)

    def open(self, address: str) -> Contents:
        """The whole map."""
        return open_contents(address, self.refs, self.layout, self.types)

    def share(self, whole: Contents, part: int, parts: int) -> Contents:
        """The rows of one partition."""
        if not isinstance(self.tag, Partitioned):
            return whole
        if self.tag.columns == self.layout.key:
            return whole.partition(part, parts)
        cut = [piece for run in whole.runs if (piece := _share(run, self.tag.columns, part, parts)) is not None]
        return make_contents(self.layout, cut, self.types)


_shares: WeakKeyDictionary[Run, dict[tuple[tuple[str, ...], int, int], Run | None]] = WeakKeyDictionary()


def _share(run: Run, columns: tuple[str, ...], part: int, parts: int) -> Run | None:
    """The rows of a run that belong to a partition; None if there are none."""
    known = _shares.setdefault(run, {})
    if (columns, part, parts) not in known:
        rows = share_of(run.map.as_rows(run.layout), columns, part, parts)
        known[columns, part, parts] = next(iter(make_map_run(rows, run.layout)), None)
    return known[columns, part, parts]
