"""Contents of runs, from a store's handles or, in another process, from files."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from viewlet.store.contents import Contents
from viewlet.store.runs.layout import Layout
from viewlet.store.runs.runs import Run, RunRef, Types
from viewlet.store.storage.open_storage import Address, storage_at
from viewlet.store.storage.storage import Storage
from viewlet.store.table_contents import TableContents


def make_contents(layout: Layout, runs: Sequence[Run], types: Types) -> Contents:
    """Contents of runs; rechecks from time to time that their files are unchanged."""
    for run in runs:
        run.check_now_and_then()
    return (Contents if layout.form == "map" else TableContents)(layout, runs, types)


_KEPT = 512
_opened: OrderedDict[tuple[str, str, int], Run] = OrderedDict()


def open_contents(warehouse: Address, refs: Sequence[RunRef], layout: Layout, types: Types) -> Contents:
    """Contents in a process without a store, given the address of the warehouse."""
    storage = storage_at(warehouse)
    return make_contents(layout, [_open_kept(storage, ref, layout, types) for ref in refs], types)


def _open_kept(storage: Storage, ref: RunRef, layout: Layout, types: Types) -> Run:
    """A cached handle of a run, so that later tasks in this process need not check the file again."""
    if ref.data is not None:
        return Run(ref, layout, types)
    key = (storage.address, ref.file, ref.offset)
    run = _opened.get(key)
    if run is None or run.layout != layout or run.ref != ref:
        run = _opened[key] = Run(ref, layout, types, storage=storage)
    _opened.move_to_end(key)
    while len(_opened) > _KEPT:
        _opened.popitem(last=False)
    return run
