"""A transaction: what one epoch adds, drops and records. Nothing of it is visible before `commit`.

No record names the files that it writes or adopts before that, so a crash leaves only garbage.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import accumulate
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from viewlet.columns.rows import Rows
from viewlet.errors import StoreError
from viewlet.store.contents import Contents
from viewlet.store.load import Load, MapLoad, TableLoad
from viewlet.store.log.state import State
from viewlet.store.open_contents import make_contents
from viewlet.store.runs.layout import Layout
from viewlet.store.runs.map_run import MapBody, build
from viewlet.store.runs.runs import Run, RunRef, Types, encode
from viewlet.store.runs.write_runs import IndexRows, are_many, make_runs, write_durably, write_index

if TYPE_CHECKING:
    from viewlet.store.log.writer import Writer


@dataclass(slots=True)
class Edit:
    """What a transaction does to one bag, in this order: drop it, create it, add runs to it."""

    drop: bool = False
    create: tuple[Layout, Types] | None = None
    runs: list[Run] = field(default_factory=list)
    rows: list[tuple[Rows, Layout]] = field(default_factory=list)
    """Rows of a table not yet in a run; an index that receives the same rows may share its run."""
    ahead: Future[Mapping[str, list[Run]]] | None = None
    """Runs, by bag, that are being written and made durable in the background."""
    loads: list[Load] = field(default_factory=list)
    """Rows that are written to files as they arrive."""
    passed_on: list[Run] | None = None
    """What the feed shows, if not exactly the added runs."""


class Transaction:
    """There is one at a time; it ends with `commit` or `abort`."""

    def __init__(self, writer: Writer) -> None:
        self._writer, self._state = writer, writer.state
        self._open = True
        self.began = time.time()
        self.edits: dict[str, Edit] = {}
        self._tables: dict[str, Edit] = {}
        """The edits that may hold rows of a table not yet in a run."""
        self._before: dict[str, Contents] = {}
        self._now: dict[str, Contents] = {}
        """Cached contents: all views of an epoch share them until more is added."""
        self.documents: dict[str, Any] = {}
        self.removed: set[str] = set()
        self.durable: set[str] = set()
        """Files that are durable already."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._open:
            self.abort()

    @property
    def address(self) -> str:
        """The address by which tasks open runs."""
        return self._writer.storage.address

    def create(self, bag: str, layout: Layout, types: Mapping[str, pa.DataType]) -> None:
        """Create an empty bag, unless it exists with a layout that serves and the same types."""
        assert self._open, "the transaction has ended"
        assert tuple(types) == layout.columns, f"types for {tuple(types)}, columns {layout.columns}"
        there = self._shape(bag)
        if there is None:
            self._edit(bag).create = (layout, dict(types))
            return
        assert there[0].serves(layout), f"`{bag}` has another layout: {there[0]}, not {layout}"
        assert there[1] == dict(types), f"`{bag}` has columns of other types: {there[1]}, not {dict(types)}"

    def append(self, bag: str, rows: Rows, layout: Layout) -> Rows:
        """Add rows to a bag, creating it if needed, even for no rows. Returns the netted rows if it is a map."""
        self.create(bag, layout, {name: rows[name].type for name in layout.columns})
        layout = self.layout(bag) or layout
        if layout.form == "table":
            edit = self._tables[bag] = self._edit(bag)
            edit.rows.append((rows, layout))
            limits = self._writer.limits  # no index will share its run with many rows
            if len(rows) > limits.recent_rows or _is_larger([rows], limits.recent_bytes):
                self._begin_to_write(bag, edit)
            return rows
        body = self._add_to_map(bag, rows, layout)
        return Rows.empty({name: rows[name].type for name in layout.columns}) if body is None else body.as_rows(layout)

    def append_index(self, bag: str, rows: Rows, layout: Layout) -> None:
        """Add a table's change to its index; many rows are sorted and written in the background."""
        if len(rows) < self._writer.limits.ahead_rows:
            self.append(bag, rows, layout)
            return
        self.create(bag, layout, {name: rows[name].type for name in layout.columns})
        layout = self.layout(bag) or layout
        edit = self._edit(bag)
        self._finish(bag, edit)
        table = self._waiting_for(rows, layout)
        index = IndexRows(bag, rows.apart(), layout, table)
        edit.ahead = self._writer.ahead.submit(
            write_index, index, self._placed, self._writer.storage, self._writer.limits
        )
        if table is not None:
            self.edits[table[0]].ahead = edit.ahead

    def _waiting_for(self, rows: Rows, layout: Layout) -> tuple[str, Layout] | None:
        """The table that received the same rows as its index, if they still wait for a run; removes them there."""
        for name, edit in self._tables.items():
            for waiting in edit.rows:
                shared = waiting[0] is rows and waiting[1].columns == layout.columns and not layout.indexes
                if shared and edit.ahead is None:
                    edit.rows.remove(waiting)
                    return name, waiting[1]
        return None

    def fill(self, bag: str, rows: Rows, layout: Layout) -> None:
        """Add many rows to a map without returning the netted rows."""
        self.create(bag, layout, {name: rows[name].type for name in layout.columns})
        self._add_to_map(bag, rows, self.layout(bag) or layout)

    def _add_to_map(self, bag: str, rows: Rows, layout: Layout) -> MapBody | None:
        body = build(rows.select(layout.columns), layout)
        if body is None:
            return None
        waited_for = any(waiting is rows for edit in self._tables.values() for waiting, _ in edit.rows)
        types = {name: rows[name].type for name in layout.columns}
        run = Run(self._encoded(body, now=waited_for), layout, types, body)
        runs = self._placed(bag, [run]) if run.is_placed else [run]
        self._edit(bag).runs += runs
        self._share(rows, layout, runs)
        return body

    def _encoded(self, body: MapBody, *, now: bool) -> RunRef | Future[RunRef]:
        """The bytes of a map's run; those of a middle-sized one are made in the background, unless needed `now`."""
        limits = self._writer.limits
        if not now and limits.inline_bytes < body.batch.nbytes <= limits.inline_most:
            return self._writer.ahead.submit(encode, "map", body.batch)
        return encode("map", body.batch)

    def _placed(self, bag: str, made: list[Run]) -> list[Run]:
        """New runs, large ones written to files."""
        return [run if self._is_small(bag, run) else self._writer.save(run) for run in made]

    def _is_small(self, bag: str, run: Run) -> bool:
        """Whether a run may go into the record: small runs, and larger ones if their bag is larger still."""
        limits, size = self._writer.limits, run.ref.size
        if run.ref.data is None:
            return True  # it is in a file already
        if run.ref.kind == "parquet" or size > max(limits.inline_bytes, limits.inline_most):
            return False
        there = self._state.bags[bag].runs if bag in self._state.bags else ()
        return size <= limits.inline_bytes or any(held >= size for held in accumulate(run.ref.size for run in there))

    def _share(self, rows: Rows, layout: Layout, runs: list[Run]) -> None:
        """Let a table that received the same rows share the run of its index."""
        if len(runs) != 1 or layout.indexes:
            return
        for edit in self._tables.values():
            for waiting in edit.rows:
                same = waiting[0] is rows and waiting[1].columns == layout.columns and len(rows) == len(runs[0].map)
                few = same and not are_many(len(rows), runs[0].ref.size, self._writer.limits)
                if few and (np.abs(rows.weights) == 1).all():
                    edit.rows.remove(waiting)
                    edit.runs.append(runs[0].as_recent(waiting[1]))
                    return

    def write_ahead(self) -> None:
        """Start writing the rows of tables with many rows to files, which no record names before the commit."""
        for bag, edit in self._tables.items():
            if _is_larger([rows for rows, _ in edit.rows], self._writer.limits.ahead_bytes):
                self._begin_to_write(bag, edit)

    def _begin_to_write(self, bag: str, edit: Edit) -> None:
        if edit.ahead is None:
            waiting, edit.rows = [(rows.apart(), layout) for rows, layout in edit.rows], []
            edit.ahead = self._writer.ahead.submit(
                write_durably, bag, self._writer.handles, waiting, self._writer.durable_epoch, self._writer.limits
            )

    def _finish(self, bag: str, edit: Edit) -> None:
        """Make runs of the rows that are in none yet."""
        while edit.loads:
            loaded = edit.loads[0].finish()
            edit.loads.pop(0)
            edit.runs += loaded
            self.durable |= {run.ref.file for run in loaded}
        self._take_written(bag, edit)
        while edit.rows:
            rows, layout = edit.rows.pop(0)
            made = make_runs(rows.select(layout.columns), layout, self._writer.limits)
            edit.runs += self._placed(bag, made)

    def _take_written(self, bag: str, edit: Edit) -> None:
        """Wait for the runs that are being written."""
        if edit.ahead is not None:
            ahead, edit.ahead = edit.ahead, None
            written = ahead.result()[bag]
            edit.runs += written
            self.durable |= {run.ref.file for run in written}

    def load(self, bag: str, layout: Layout, types: Types) -> TableLoad | MapLoad:
        """Start loading many rows into a bag, piece by piece; the bag is created if needed."""
        self.create(bag, layout, types)
        kind = TableLoad if layout.form == "table" else MapLoad
        made = kind(self._writer, self.layout(bag) or layout)
        self._edit(bag).loads.append(made)
        return made

    def withdraw(self, bag: str) -> None:
        """Undo this transaction's additions to a bag, and remove the files that hold them."""
        self._discard(bag, self.edits.pop(bag, Edit()))
        self._now.pop(bag, None)
        self._tables.pop(bag, None)

    def adopt(self, bag: str, refs: Sequence[RunRef], layout: Layout, types: Types) -> None:
        """Add runs that tasks wrote to files, or sent."""
        if refs:
            self.create(bag, layout, types)
            assert layout == self.layout(bag), f"runs of `{bag}` lack lookups of its layout"
            self._edit(bag).runs += self.opened(refs, layout, types)

    def opened(self, refs: Sequence[RunRef], layout: Layout, types: Types) -> list[Run]:
        """Handles of runs that tasks wrote to files, or sent."""
        handles = self._writer.handles
        return [handles.get(ref, layout, types) if ref.file else Run(ref, layout, types) for ref in refs]

    def placed(self, body: MapBody, layout: Layout, types: Types) -> Run:
        """A run that tasks can read: a large one is in a file, and belongs to no bag until it is adopted."""
        run = Run(encode("map", body.batch), layout, types, body)
        return self._writer.save(run) if run.ref.size > self._writer.limits.inline_bytes else run

    def drop(self, bag: str) -> None:
        """Drop a bag, including this transaction's additions; a missing bag is ignored."""
        assert self._open, "the transaction has ended"
        self.withdraw(bag)
        if bag in self._state.bags:
            self.edits[bag] = Edit(drop=True)

    def resume_feed(self, bag: str, difference: Rows) -> None:
        """Let the feed of a bag that was dropped and created again continue, with the difference of its contents."""
        layout, _ = self._shape(bag) or (None, None)
        assert layout is not None and self.edits[bag].drop, f"`{bag}` was not put in the place of another"
        if layout.form == "table":
            made = make_runs(difference.select(layout.columns), layout, self._writer.limits)
        else:
            body = build(difference.select(layout.columns), layout)
            types = {name: difference[name].type for name in layout.columns}
            made = [] if body is None else [Run(encode("map", body.batch), layout, types, body)]
        self.edits[bag].passed_on = self._placed(bag, made)

    def put(self, key: str, document: Any) -> None:
        """Set a document of the catalog."""
        self.removed.discard(key)
        self.documents[key] = json.loads(json.dumps(document))

    def remove(self, key: str) -> None:
        """Remove a document of the catalog."""
        self.documents.pop(key, None)
        self.removed.add(key)

    def contents(self, bag: str) -> Contents:
        """The contents of a bag including this transaction's additions."""
        shape = self._shape(bag)
        if shape is None:
            raise StoreError(f"there is no bag `{bag}`")
        edit = self.edits.get(bag, Edit())
        self._finish(bag, edit)
        old = () if edit.drop or bag not in self._state.bags else self._state.bags[bag].runs
        known = self._now.get(bag)
        if known is None or known.layout != shape[0] or len(known.runs) != len(old) + len(edit.runs):
            known = self._now[bag] = make_contents(shape[0], (*old, *edit.runs), shape[1])
        return known

    def before(self, bag: str) -> Contents:
        """The contents of a bag when the transaction began; nothing if the transaction created it."""
        shape = self._shape(bag)
        if bag not in self._state.bags and shape is not None:
            return make_contents(shape[0], (), shape[1])
        if bag not in self._before:
            self._before[bag] = contents_of(self._state.bags, bag)
        return self._before[bag]

    def has(self, bag: str) -> bool:
        """Whether the bag exists within this transaction."""
        return self._shape(bag) is not None

    def layout(self, bag: str) -> Layout | None:
        """The layout of a bag within this transaction; None if it does not exist."""
        shape = self._shape(bag)
        return None if shape is None else shape[0]

    def commit(self, record: Mapping[str, Any] | None = None) -> int:
        """Commit everything or nothing, and return the epoch. `record` goes into the history."""
        return self._commit(json.dumps(record or {}, separators=(",", ":")))

    def commit_unseen(self) -> None:
        """Commit without a new epoch: nothing visible to users changes."""
        self._commit(None)

    def _commit(self, record: str | None) -> int:
        assert self._open, "the transaction has ended"
        try:
            for bag, edit in self.edits.items():
                self._finish(bag, edit)
                edit.runs = self._placed(bag, edit.runs)
            return self._writer.commit(self, record)
        except BaseException:
            if self._open:
                self.abort()
            raise

    def abort(self) -> None:
        """Undo the transaction and remove the files that it wrote."""
        assert self._open, "the transaction has ended"
        if not self._writer.doubtful:
            while self.edits:
                self._discard(*self.edits.popitem())
        self.end()

    def end(self) -> None:
        """Release everything: files that only this transaction saw may be removed."""
        self._open = False
        self._state, self.edits, self._tables, self._before, self._now = State(), {}, {}, {}, {}
        self._writer.ended()

    def _shape(self, bag: str) -> tuple[Layout, Types] | None:
        """The layout and types of a bag within this transaction."""
        edit = self.edits.get(bag)
        if edit is not None and edit.create is not None:
            return edit.create
        if (edit is not None and edit.drop) or bag not in self._state.bags:
            return None
        there = self._state.bags[bag]
        return there.layout, there.types

    def _edit(self, bag: str) -> Edit:
        return self.edits.setdefault(bag, Edit())

    def _discard(self, bag: str, edit: Edit) -> None:
        """Remove the files of an edit that no other edit shares."""
        for load in edit.loads:
            load.abandon()
        ahead = edit.ahead
        if ahead is not None and ahead.exception() is None:
            for name, other in ((bag, edit), *self.edits.items()):
                if other.ahead is ahead:
                    self._take_written(name, other)
        shared = {run.ref.file for other in self.edits.values() for run in other.runs}
        own = {run.ref.file for run in (*edit.runs, *(edit.passed_on or ())) if run.ref.file} - shared
        self._writer.storage.remove(own)


def _is_larger(parts: Sequence[Rows], most: int) -> bool:
    """Whether rows exceed `most` bytes; the exact size is computed only if the whole buffers do."""
    arrays = [array for rows in parts for array in rows.columns.values()]
    return sum(array.get_total_buffer_size() for array in arrays) > most and _size(arrays) > most


def _size(arrays: Sequence[pa.Array]) -> int:
    return sum(array.nbytes for array in arrays)


def contents_of(bags: Mapping[str, Any], bag: str) -> Contents:
    if bag not in bags:
        raise StoreError(f"there is no bag `{bag}`")
    contents: Contents = bags[bag].contents()
    return contents
