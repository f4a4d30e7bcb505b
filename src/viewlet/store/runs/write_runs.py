"""Making runs from rows: as bytes for a record, or as files.

Tasks write files under names of their own attempt; files that no record names in the end are garbage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

import numpy as np

from viewlet.columns.hash import Hashes
from viewlet.columns.rows import Rows
from viewlet.store.files import DATA
from viewlet.store.limits import Limits
from viewlet.store.runs import map_run as maprun
from viewlet.store.runs.layout import Layout
from viewlet.store.runs.runs import Handles, Run, RunRef, Types, encode, encode_parquet
from viewlet.store.runs.table_run import parquet_table, recent_batch, with_sign
from viewlet.store.storage.open_storage import Address, storage_at
from viewlet.store.storage.storage import Storage

SUFFIX = {"map": ".arrows", "recent": ".arrows", "shared": ".arrows", "parquet": ".parquet"}
_KEPT_OPEN = 16 << 20  # new runs up to this many bytes stay in memory, since they will soon be read


def make_runs(rows: Rows, layout: Layout, limits: Limits) -> list[Run]:
    """Runs in memory that hold these rows; many rows of a table become Parquet."""
    if layout.form == "map":
        return make_map_run(rows, layout)
    if are_many(len(rows), sum(array.nbytes for array in rows.columns.values()), limits):
        return make_parquet_runs(rows, layout)
    return make_recent_run(rows, layout)


def are_many(rows: int, size: int, limits: Limits) -> bool:
    """Whether these are too many rows or bytes of a table to be kept as recent rows."""
    return rows > limits.recent_rows or size > limits.recent_bytes


def make_recent_run(rows: Rows, layout: Layout) -> list[Run]:
    """The run of recent rows of a table; none if there are no rows."""
    batch = recent_batch(rows, layout)
    return [] if batch is None else [Run(encode("recent", batch), layout, _types(rows), batch)]


def make_map_run(rows: Rows, layout: Layout, hashes: Hashes | None = None) -> list[Run]:
    """The run of a map's rows; none if they cancel out."""
    body = maprun.build(rows, layout, hashes)
    return [] if body is None else [Run(encode("map", body.batch), layout, _types(rows), body)]


def _types(rows: Rows) -> Types:
    return {name: array.type for name, array in rows.columns.items()}


def make_parquet_runs(rows: Rows, layout: Layout) -> list[Run]:
    """A run of the inserted rows and one of the deleted rows, if there are any."""
    signed = [(sign, with_sign(rows, sign)) for sign in (1, -1)]
    return [Run(encode_parquet(parquet_table(part, layout), sign), layout) for sign, part in signed if len(part)]


def name_after(epoch: int) -> str:
    """A new file name that begins with the durable epoch: it reveals a log that has lost that epoch."""
    return f"{epoch}-{uuid4().hex}"


def save(run: Run, storage: Storage, name: str) -> Run:
    """Write a run that is in memory to a file of its own; not durable yet."""
    ref = run.ref
    assert ref.data is not None, f"{run} is in a file already"
    file = f"{DATA}/{name}{SUFFIX[ref.kind]}"
    storage.write(file, ref.data)
    saved = ref.at(file, 0)
    if ref.size <= _KEPT_OPEN and ref.kind != "parquet":
        return run.moved(saved, storage)
    return Run(saved, run.layout, run.types, storage=storage)


def write_durably(
    bag: str, handles: Handles, waiting: Sequence[tuple[Rows, Layout]], epoch: int, limits: Limits
) -> Mapping[str, list[Run]]:
    """The runs of some rows of a bag, each in a durable file of its own."""
    made = [run for rows, layout in waiting for run in make_runs(rows.select(layout.columns), layout, limits)]
    saved = [handles.put(save(run, handles.storage, name_after(epoch))) for run in made]
    handles.storage.sync(run.ref.file for run in saved)
    return {bag: saved}


Place = Callable[[str, list[Run]], list[Run]]
"""Writes the large runs of a bag to files."""


@dataclass(frozen=True, slots=True)
class IndexRows:
    """The rows to add to a table's index, and the table, if exactly the same rows are added to it."""

    bag: str
    rows: Rows
    layout: Layout
    table: tuple[str, Layout] | None


def write_index(index: IndexRows, place: Place, storage: Storage, limits: Limits) -> Mapping[str, list[Run]]:
    """The placed run of an index, and those of its table, which share its bytes if they can."""
    made = place(index.bag, make_map_run(index.rows, index.layout))
    storage.sync(run.ref.file for run in made if run.ref.file)
    if index.table is None:
        return {index.bag: made}
    name, layout = index.table
    if len(made) == 1 and _is_recent(index.rows, made[0], limits):
        return {index.bag: made, name: [made[0].as_recent(layout)]}
    return {index.bag: made, name: make_runs(index.rows.select(layout.columns), layout, limits)}


def _is_recent(rows: Rows, made: Run, limits: Limits) -> bool:
    """Whether an index's run also serves as recent rows: it has all rows, each once, and they are few."""
    few = len(rows) == made.ref.rows and not are_many(len(rows), made.ref.size, limits)
    return few and bool((np.abs(rows.weights) == 1).all())


def write_runs(warehouse: Address, rows: Rows, layout: Layout, *, name: str) -> tuple[RunRef, ...]:
    """Write rows to durable files of a warehouse: at most one for a map, at most two for a table."""
    made = make_map_run(rows, layout) if layout.form == "map" else make_parquet_runs(rows, layout)
    return tuple(save_durably(run, warehouse, name if run.ref.sign > 0 else f"{name}-gone").ref for run in made)


def save_durably(run: Run, warehouse: Address, name: str) -> Run:
    """Write a run that is in memory to a durable file of its own."""
    storage = storage_at(warehouse)
    saved = save(run, storage, name)
    storage.sync([saved.ref.file])
    return saved


def write_run(warehouse: Address, rows: Rows, layout: Layout, *, name: str) -> RunRef:
    """`write_runs` for rows that make exactly one run: nonempty and, in a table, all inserted or all deleted."""
    (ref,) = write_runs(warehouse, rows, layout, name=name)
    return ref
