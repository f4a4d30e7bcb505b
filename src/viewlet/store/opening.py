"""Contents of runs: of those that a store has at hand, or of files in another process."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from viewlet.store import tablerun
from viewlet.store.contents import Contents, Types
from viewlet.store.layout import Layout
from viewlet.store.runs import Run, RunRef
from viewlet.store.tablecontents import TableContents


def make_contents(layout: Layout, runs: Sequence[Run], types: Types) -> Contents:
    return (Contents if layout.form == "map" else TableContents)(layout, runs, types)


_KEPT = 512
_opened: OrderedDict[tuple[str, str, int], Run] = OrderedDict()


def open_contents(root: Path | str, refs: Sequence[RunRef], layout: Layout, types: Types | None = None) -> Contents:
    """Contents in a process without a store; `types` are needed only where there may be no runs at all."""
    runs = [_open_kept(Path(root), ref, layout) for ref in refs]
    if types is None:
        types = column_types(runs[0]) if runs else {}
    return make_contents(layout, runs, types)


def _open_kept(root: Path, ref: RunRef, layout: Layout) -> Run:
    """A handle of a run, kept for the next task of this process, which then need not check the file again."""
    if ref.data is not None:
        return Run(root, ref, layout)
    key = (str(root), ref.file, ref.offset)
    run = _opened.get(key)
    if run is None or run.layout != layout or run.ref != ref:
        run = _opened[key] = Run(root, ref, layout)
    _opened.move_to_end(key)
    while len(_opened) > _KEPT:
        _opened.popitem(last=False)
    return run


def column_types(run: Run) -> Types:
    """The types of the columns of a run."""
    match run.ref.kind:
        case "map":
            schema, first = run.map.batch.schema, 1
        case "recent":
            schema, first = run.body.schema, 0
        case _:
            schema, first = tablerun.read_schema(run), 0
    return {name: schema.field(first + i).type for i, name in enumerate(run.layout.columns)}
