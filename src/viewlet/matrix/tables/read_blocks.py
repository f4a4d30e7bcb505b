"""Reads a large wide matrix from its table: each task scans the table and writes one block of rows.

The hashes of labels assign rows to blocks; if the matrix needs another order, its blocks are written again in that
order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import numpy as np

from viewlet.columns.rows import Rows
from viewlet.matrix.blocks.evaluate import Blocks, Shelf
from viewlet.matrix.blocks.large import Large
from viewlet.matrix.blocks.nodes import BLOCK, Moved, Stored
from viewlet.matrix.delta.factors import Indices
from viewlet.matrix.tables.axes import Label
from viewlet.matrix.tables.entries import difference
from viewlet.matrix.tables.inputs import Input
from viewlet.matrix.tables.sources import Wide
from viewlet.store import Contents, Layout, RunRef, open_contents
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.maintained import Maintained


@dataclass(frozen=True)
class Tables:
    """Access to the tables and views that a program reads: their rows, or their stored contents."""

    rows: Callable[[str], Rows]
    contents: Callable[[str], Contents]
    find: Callable[[str], Table | Maintained]
    address: str


@dataclass(frozen=True)
class Loaded:
    """A matrix in blocks, and the labels of its rows."""

    labels: list[Label]
    matrix: Large

    def placed(self, name: str, places: Indices, blocks: Blocks) -> Large:
        """The matrix with its rows at the given places."""
        if (places == np.arange(len(places))).all():
            return self.matrix
        order = np.empty(len(places), dtype=np.intp)
        order[places] = np.arange(len(places))
        return blocks.written(name, Moved(self.matrix.node, order, None))


@dataclass(frozen=True)
class _Loading:
    """A task: writes one part of a table's rows as a block."""

    address: str
    refs: tuple[RunRef, ...]
    layout: Layout
    types: dict[str, Any]
    stored: tuple[str, ...]
    names: tuple[str, ...]
    given: Input
    width: int
    dtype: str
    parts: int
    shelf: Shelf
    label: str

    def __call__(self, part: int) -> tuple[list[Label], Any]:
        source = self.given.source
        assert isinstance(source, Wide) and source.row is not None
        found = difference(self.given.name, source, self._own(source.row, part), self.width)
        block = np.ascontiguousarray(found.values[list(found.new.values())], dtype=self.dtype)
        return list(found.new), self.shelf.write(self.label, part, block)

    def _own(self, key: str, part: int) -> Rows:
        """The rows of a part, reading the table in batches."""
        contents = open_contents(self.address, self.refs, self.layout, self.types)
        size = max(1, BLOCK // self.width)
        found = [contents.nothing().select(self.stored).rename(self.names)]
        for batch in contents.batches(self.stored, size):
            rows = batch.rename(self.names)
            found.append(rows.filter(rows.hashes((key,)) % np.uint64(self.parts) == part))
        return Rows.concat(found)


def load(given: Input, width: int, tables: Tables, blocks: Blocks, dtype: str) -> Loaded:
    """Load a large matrix by tasks, without passing it through the driver."""
    assert isinstance(given.source, Wide)
    contents, table = tables.contents(given.source.table), tables.find(given.source.table)
    parts = max(1, -(-contents.total() * width // BLOCK))
    label = f"{given.name}@{uuid4().hex}"
    names = tuple(f.name for f in table.fields)
    loading = _Loading(
        tables.address,
        contents.refs(),
        contents.layout,
        dict(contents.types),
        tuple(table.stored),
        names,
        given,
        width,
        dtype,
        parts,
        blocks.shelf,
        label,
    )
    done = blocks.run(loading, range(parts))
    reader = blocks.shelf.hold(label, [written for _, written in done])
    labels = [key for own, _ in done for key in own]
    starts = np.cumsum([0, *(len(own) for own, _ in done)])[:-1]
    node = Stored(reader, label, (len(labels), width), np.dtype(dtype), tuple(starts.tolist()))
    return Loaded(labels, Large(node, blocks.run))
