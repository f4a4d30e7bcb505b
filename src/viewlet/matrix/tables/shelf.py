"""The blocks of large matrices in a warehouse: tasks write them as runs of a bag and open them in place.

Written blocks become visible with the epoch's commit; those that are not needed by then are removed.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from viewlet.columns.rows import Rows
from viewlet.engine.cluster.runner import SparkEngine, partitions_for, tasks_errors
from viewlet.engine.engine import Engine
from viewlet.matrix.blocks.evaluate import Blocks
from viewlet.matrix.delta.factors import Array
from viewlet.store import Contents, Layout, RunRef, Transaction, open_contents, write_runs
from viewlet.store.storage.open_storage import storage_at

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse

BLOCKS = Layout(columns=("matrix", "block", "entries"), key=("matrix", "block"))
TYPES = {"matrix": pa.string(), "block": pa.int64(), "entries": pa.binary()}


def block_rows(blocks: Sequence[tuple[str, int, bytes]]) -> Rows:
    """Blocks as rows of a bag: the matrix, the number of the block, the entries."""
    columns = {name: pa.array([block[at] for block in blocks], kind) for at, (name, kind) in enumerate(TYPES.items())}
    return Rows(columns, np.ones(len(blocks), dtype=np.int64))


@dataclass
class StoreReader:
    """Opens blocks, in the driver or in a task."""

    address: str
    refs: tuple[RunRef, ...]

    def block(self, name: str, number: int) -> Any:
        contents = open_contents(self.address, self.refs, BLOCKS, TYPES)
        probe = Rows({"matrix": pa.array([name]), "block": pa.array([number], pa.int64())}, np.ones(1, dtype=np.int64))
        found = contents.lookup(BLOCKS.key, probe.hashes())[1]
        return found["entries"][0].as_buffer()


@dataclass
class StoreShelf:
    """Stores blocks as runs of one bag."""

    reader: StoreReader
    held: dict[str, tuple[RunRef, ...]] = field(default_factory=dict)
    """The runs written since the last commit, by name."""

    def write(self, name: str, number: int, block: Array) -> tuple[RunRef, ...]:
        rows = block_rows([(name, number, block.tobytes())])
        return write_runs(self.reader.address, rows, BLOCKS, name=f"task-{uuid.uuid4().hex}")

    def hold(self, name: str, written: list[tuple[RunRef, ...]]) -> StoreReader:
        self.held[name] = tuple(ref for refs in written for ref in refs)
        self.reader.refs += self.held[name]
        return self.reader

    def release(self, name: str) -> None:
        gone = self.held.pop(name, ())
        self.reader.refs = tuple(ref for ref in self.reader.refs if ref not in gone)
        storage_at(self.reader.address).remove([ref.file for ref in gone])

    def keep(self, transaction: Transaction, bag: str, used: Sequence[str]) -> None:
        """Adopt the used blocks into a transaction and remove the others."""
        transaction.append(bag, block_rows([]), BLOCKS)
        for name in list(self.held):
            if name not in used:
                self.release(name)
        transaction.adopt(bag, [ref for refs in self.held.values() for ref in refs], BLOCKS, TYPES)
        self.held.clear()


@dataclass
class Tasks:
    """Runs work over blocks as tasks of a Spark job, or sequentially in process."""

    engine: Engine

    def __call__(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        if not isinstance(self.engine, SparkEngine):
            return [work(item) for item in items]
        from viewlet.spark.session.workers import own_workers

        context = self.engine.session().sparkContext
        slices = min(len(items), 2 * partitions_for(context.defaultParallelism))
        with own_workers(context), tasks_errors():
            found: list[Any] = context.parallelize(list(items), max(1, slices)).map(work).collect()
        return found


def blocks_of(warehouse: Warehouse, resident: int | None, contents: Contents | None) -> Blocks | None:
    """The evaluator of a program's large matrices; None if all matrices are in memory."""
    if resident is None:
        return None
    refs = () if contents is None else contents.refs()
    shelf = StoreShelf(StoreReader(warehouse.store.address, refs))
    return Blocks(shelf, Tasks(engine_for(warehouse, resident)), {}, resident)


def follow_store(blocks: Blocks, warehouse: Warehouse, contents: Contents) -> None:
    """Update blocks to the store's current runs, and to the engine of this epoch."""
    assert isinstance(blocks.shelf, StoreShelf) and isinstance(blocks.run, Tasks)
    blocks.shelf.reader.refs = contents.refs()
    blocks.run.engine = engine_for(warehouse, blocks.resident)


def keep_blocks(blocks: Blocks, transaction: Transaction, bag: str, used: Sequence[str]) -> None:
    """Adopt the used blocks into a transaction."""
    assert isinstance(blocks.shelf, StoreShelf)
    blocks.shelf.keep(transaction, bag, used)


def engine_for(warehouse: Warehouse, resident: int) -> Engine:
    """The engine for matrices with more entries than `resident`."""
    return warehouse.choose(resident, 1)[0]


@contextmanager
def scratch(blocks: Blocks | None) -> Iterator[Blocks | None]:
    """Remove the blocks that are written inside this context."""
    try:
        yield blocks
    finally:
        if blocks is not None and isinstance(blocks.shelf, StoreShelf):
            for name in list(blocks.shelf.held):
                blocks.shelf.release(name)
