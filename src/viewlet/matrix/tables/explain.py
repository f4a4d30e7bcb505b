"""`explain` of a matrix program: its sources, its statements, the alternatives considered, and its state."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from viewlet.formatting import duration, plural, size
from viewlet.matrix.compile.explain import explain as explain_program
from viewlet.matrix.tables.durable import read_saved
from viewlet.matrix.tables.sources import Fixed, Long, Moments, Source, Wide
from viewlet.matrix.tables.waiting import is_waiting

if TYPE_CHECKING:
    from viewlet.matrix.tables.view import MatrixView
    from viewlet.warehouse.warehouse import Warehouse


def explain(warehouse: Warehouse, view: MatrixView) -> str:
    """The inputs, the statements with the last refresh of each, the estimate of each alternative, and the state."""
    snapshot = warehouse.store.snapshot()
    if is_waiting(snapshot.contents, view.state):
        return "\n".join(
            [_headline(view, 0), *_origins(view), _last(warehouse, view, ("epoch", "create matrix"))["technique"]]
        )
    saved = read_saved(snapshot.contents, view.state)
    sizes = {axis: len(kind.fixed or ()) for axis, kind in view.axes.items()}
    sizes |= {axis: snapshot.contents(view.state.labels(axis)).total() for axis in view.state.axes}
    last = _last(warehouse, view)
    lines = [_headline(view, snapshot.contents(view.name).total()), *_origins(view)]
    lines.append(explain_program(saved.compiled, sizes, last.get("steps", {})))
    since = snapshot.contents(view.state.since)
    kept = size(snapshot.contents(view.state.matrices).bytes)
    if view.state.has_blocks:
        kept = f"{size(snapshot.contents(view.state.blocks).bytes)} in blocks, {kept}"
    lines.append(f"kept: {kept} of matrices, and {size(since.bytes)} of what changed since")
    if last:
        lines.append(f"last epoch: {last['technique']}, {duration(last['ms'])}")
    return "\n".join(lines)


def _headline(view: MatrixView, rows: int) -> str:
    return f"matrix {view.name} → {', '.join(f.name for f in view.fields)}: {plural(rows, 'row')}"


def _origins(view: MatrixView) -> list[str]:
    return [f"  {i.name}: {' × '.join(i.axes)}, {_origin(i.source)}" for i in view.inputs]


def _origin(source: Source) -> str:
    match source:
        case Wide(table, columns, row):
            return f"rows of {table} by {row}: {', '.join(columns)}"
        case Long(table, row, column, value):
            return f"entries of {table}: {value} at {row}, {column}"
        case Moments(table, columns):
            return f"sums of products in {table} of 1, {', '.join(columns)}; no row is kept"
        case Fixed(array):
            return f"an array of {array.shape[0]} × {array.shape[1]} that stays"


def _last(warehouse: Warehouse, view: MatrixView, kinds: Collection[str] = ("epoch",)) -> dict[str, Any]:
    """The program's part of the last record of some kinds."""
    reached = (r for r in warehouse.history(view.name) if r["kind"] in kinds and view.name in r["views"])
    done: list[dict[str, Any]] = [record["views"][view.name] for record in reached]
    return done[-1] if done else {}
