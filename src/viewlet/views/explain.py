"""`explain`: how a view is maintained, its state, and its costs."""

from __future__ import annotations

import statistics
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from viewlet.formatting import plural, size
from viewlet.program.brief import statements
from viewlet.program.program import Map, Note, Program, operators
from viewlet.program.show import show_map
from viewlet.spark.session.settings import PLAIN
from viewlet.store import Snapshot

if TYPE_CHECKING:
    from viewlet.views.view import View
    from viewlet.warehouse.maintained import Maintained
    from viewlet.warehouse.warehouse import Warehouse

_WIDTH = 76
_EPOCH = ("epoch",)


def explain(warehouse: Warehouse, view: View, *, verbose: bool = False) -> str:
    """Operators with tiers and reasons, maps with sizes, statements by table, and the cost of epochs."""
    snapshot = warehouse.store.snapshot()
    program = view.program
    head = padded(f"view {view.name} {heading(program)}", plural(snapshot.contents(view.name).total(), "row"))
    lines = [head, *operator_lines(program), *_settled(view), *_under(view), "maps"]
    sharers = _sharers(warehouse, view)
    lines += [
        f"  {padded(show_map(m), map_size(m, snapshot) + sharers.get(m.name, ''), 2)}"
        for m in program.maps
        if m.stored and m.name != view.name
    ]
    if len(program.maps) == 1:
        lines.append("  none but the view itself")
    lines += statement_lines(program, warehouse.history(view.name), warehouse.catalog.static(), verbose=verbose)
    lines += _evictions(program, set(warehouse.catalog.own_bags(view)))
    lines += _weighed(program)
    if view.weighed.reason:
        lines.append(f"considered again after epoch {view.weighed.epoch}: {view.weighed.reason}")
    lines += cost_lines(view, warehouse.history(view.name))
    return "\n".join(lines)


def explain_program(program: Program, *, verbose: bool = False) -> str:
    """The same for a view that is not created, without sizes and costs."""
    lines = [f"view {program.view} {heading(program)}", *operator_lines(program), "maps"]
    lines += [f"  {show_map(m)}" for m in program.maps if m.stored]
    own = {m.name for m in program.maps}
    return "\n".join(
        [*lines, *statement_lines(program, [], verbose=verbose), *_evictions(program, own), *_weighed(program)]
    )


_VARYING = ("histogram_numeric", "hll_sketch_agg", "hll_union_agg", "approx_top_k")
"""Sketches that depend on the order of rows."""


def _settled(view: View) -> list[str]:
    """Warnings: that Viewlet decided what the query leaves open, and that Spark's own result may vary."""
    settled = ["Spark leaves an answer open here (ties, orders, approximations); Viewlet uses the ordering shown"]
    labels = [note.label for _, note in operators(view.program.notes)]
    varying = [
        f"the result of {name} depends on the physical layout of the rows, in Spark itself too"
        for name in _VARYING
        if any(f"{name}(" in label for label in labels)
    ]
    return settled * view.is_stabilized + varying


def _under(view: View) -> list[str]:
    """The settings that the definition depends on, if they differ from those of a session that Viewlet starts."""
    own = [f"{name} = {value}" for name, value in view.settings.items() if PLAIN.get(name) != value]
    return [f"under {', '.join(own)}"] if own else []


def _sharers(warehouse: Warehouse, view: View) -> dict[str, str]:
    """For each map of a view, the other views that use it."""
    found: dict[str, list[str]] = {}
    for other in warehouse.catalog.views.values():
        if other.name != view.name:
            for bag in other.bags:
                found.setdefault(bag, []).append(other.name)
    return {name: f"  (shared with {', '.join(views)})" for name, views in found.items()}


def _evictions(program: Program, own: Collection[str]) -> list[str]:
    """Which maps evict groups that a watermark has passed."""
    if program.keeps:
        return [f"no group is evicted, despite the watermark: {program.keeps}"]
    return [
        f"{c.map} evicts {'sessions' if c.at_end else f'groups by `{c.column}`'} that the watermark of {c.table} has passed"
        if c.map in own
        else f"{c.map} keeps all groups, since other views read it"
        for c in program.evictions
    ]


def _weighed(program: Program) -> list[str]:
    return ["considered", *(f"  {line}" for line in program.choices)] if program.choices else []


def heading(program: Program) -> str:
    return f"→ {', '.join(f.name for f in program.columns)}"


def operator_lines(program: Program) -> list[str]:
    return [_operator(depth, note) for depth, note in operators(program.notes, 1)]


def _operator(depth: int, note: Note) -> str:
    line = padded("  " * depth + note.label, note.tier)
    return f"{line}  ({note.reason})" if note.reason else line


def padded(left: str, right: str, margin: int = 0) -> str:
    return f"{left:<{_WIDTH - margin}}  {right}".rstrip()


def map_size(kept: Map, snapshot: Snapshot) -> str:
    contents = snapshot.contents(kept.name)
    return f"{plural(contents.rows, 'row')}  {size(contents.bytes)}"


def statement_lines(
    program: Program, records: list[dict[str, Any]], static: frozenset[str] = frozenset(), *, verbose: bool
) -> list[str]:
    lines: list[str] = []
    if constants := statements(program, None, verbose=verbose):
        lines += ["on creation", *(f"  {line}" for line in constants)]
    for table in program.reads:
        if table in static:
            lines.append(f"on {table}: nothing, it is static")
            continue
        lines.append(padded(f"on {table}", _last_epoch(program.view, table, records)))
        lines += [f"  {line}" for line in statements(program, table, verbose=verbose)]
    return lines


def _last_epoch(view: str, table: str, records: list[dict[str, Any]]) -> str:
    """The view's part of the last epoch that changed a table."""
    for record in reversed(records):
        done = record.get("views", {}).get(view)
        if record["kind"] == "epoch" and done and table in done["rows_in"]:
            out = done["inserted"] + done["deleted"]
            return f"last epoch: {plural(done['rows_in'][table], 'row')} in, {out:,} out, {done['ms']:.1f} ms, {record['engine']}"
    return ""


def cost_lines(view: Maintained, records: list[dict[str, Any]]) -> list[str]:
    filled = (f"create {view.kind}", "rebuild")
    taken = {
        kind: [r["views"][view.name]["ms"] for r in records if r["kind"] in kind and view.name in r["views"]]
        for kind in (_EPOCH, filled)
    }
    lines = []
    if taken[_EPOCH]:
        last = taken[_EPOCH][-30:]
        lines.append(f"an epoch costs {statistics.median(last):.1f} ms (median of {len(last)})")
    if taken[filled]:
        lines.append(f"computing it from scratch took {taken[filled][-1]:,.1f} ms")
    epochs = [r["views"][view.name] for r in records if r["kind"] in _EPOCH and view.name in r["views"]]
    if epochs and "weighed" in epochs[-1]:
        weighed = epochs[-1]["weighed"]
        lines.append(
            f"last epoch, in rows handled: {weighed['increment']:,} to increment, {weighed['recompute']:,} to recompute"
        )
    return lines
