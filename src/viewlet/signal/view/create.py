"""Creating signals: sources from tables and views, and pipelines over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from viewlet import arguments
from viewlet.errors import UnsupportedQuery, WrongArgument, shortened
from viewlet.plan.types import Field
from viewlet.signal.build.pipeline import Signal
from viewlet.signal.change.reach import is_bounded
from viewlet.signal.plan.kinds import kind_of
from viewlet.signal.plan.nodes import Node, Sample, Source, in_order, sources
from viewlet.signal.plan.numbers import whole
from viewlet.signal.stored.kept import Schema
from viewlet.signal.stored.readings import Keyed, readings, source_of
from viewlet.signal.stored.sample_rows import Columns, time_field
from viewlet.signal.view.maintained import SignalView
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.fill import create
from viewlet.warehouse.refresh import visible

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse

READINGS = 64
"""The approximate number of a group's readings in a block."""
SEEN = 1_000_000
"""How many rows the distance of readings is estimated from."""
MERGES = ("error", "mean", "sum", "min", "max")


def make_source(
    warehouse: Warehouse,
    table: str,
    by: Any,
    time: str,
    value: Any,
    is_complex: bool,
    merge: str,
    until: str | None,
    width: int | None,
) -> Signal:
    """A signal of the rows of a table or view; the width of arrays is known if they come from another signal."""
    found = warehouse.catalog.find(arguments.text("the name of a table or view", table))
    keys, values = arguments.texts("by", by), arguments.texts("value", value)
    if not values or (is_complex and len(values) != 2):
        wanted = "two columns, the real and the imaginary part" if is_complex else "one column or more"
        raise WrongArgument(f"value is {shortened(value)}", hint=f"give {wanted}")
    if merge not in MERGES:
        raise WrongArgument(f"merge is {shortened(merge)}", hint=f"one of {', '.join(MERGES)}")
    ends = None if until is None else arguments.text("until", until)
    named = arguments.text("time", time)
    if width is None and isinstance(found, SignalView):
        width = found.schema.result.kind.width
    long = None if width is None else whole("width", width)
    return Signal(source_of(found.name, found.fields, keys, named, values, is_complex, merge, ends, long))


def create_signal(warehouse: Warehouse, name: str, signal: Signal, tolerance: float, replace: bool) -> None:
    """Create a view of a pipeline's result."""
    if not isinstance(signal, Signal):
        raise WrongArgument(f"{shortened(signal)} is not a signal", hint="begin with db.signal(…)")
    if not 0 <= tolerance < 1e-6:
        raise WrongArgument(f"the tolerance is {shortened(tolerance)}", hint="0 or a small part, such as 1e-12")
    if signal.kind.is_held:
        raise UnsupportedQuery("readings with `until` must be sampled first", hint="call .sample(period)")
    catalog = warehouse.catalog
    known = catalog.known(name) if replace else None
    if known not in catalog.views:
        catalog.refuse_taken(name)
    schema = _schema(warehouse, known or name, signal.node)
    view = SignalView(
        known or name, schema, float(tolerance), _closing(warehouse, signal.node), warehouse.next_position()
    )
    create(warehouse, view, replace=replace)


def _schema(warehouse: Warehouse, name: str, node: Node) -> Schema:
    """The schema of a signal: names are those of its first source, blocks fit the existing readings."""
    found = {source: _fields(warehouse, source) for source in sources(node)}
    by, time = found[sources(node)[0]]
    for source, (other_by, other_time) in found.items():
        if [f.type for f in other_by] != [f.type for f in by] or other_time.type != time.type:
            raise UnsupportedQuery(f"{source.table} has groups or times of other types than {sources(node)[0].table}")
    block = READINGS * _distance(warehouse, node)
    grid = kind_of(node).grid
    schema = Schema(name, node, by, time, block, block if grid is None else READINGS * grid.period)
    names = [n.lower() for n in schema.result.names]
    if twice := {n for n in names if names.count(n) > 1}:
        raise UnsupportedQuery(
            f"the result would have two columns named {', '.join(sorted(twice))}", hint="select(…, channels=[…])"
        )
    return schema


def _fields(warehouse: Warehouse, source: Source) -> tuple[tuple[Field, ...], Field]:
    known = {f.name: f for f in warehouse.catalog.find(source.table).fields}
    return tuple(known[name] for name in source.by), time_field(known[source.time])


def _distance(warehouse: Warehouse, node: Node) -> int:
    """The approximate distance of a group's readings, from existing ones, or else the least period."""
    source = sources(node)[0]
    by, time = _fields(warehouse, source)
    columns = Columns(by, time, kind_of(source), 1)
    there = warehouse.store.snapshot().contents(source.table).scan()
    some = there.take(np.arange(min(len(there), SEEN)))
    rows = readings(source, columns, visible(warehouse.catalog.find(source.table), some))
    groups, times = Keyed.of(columns, [rows]).groups, columns.times(rows)
    order = np.lexsort((times, groups))
    gaps = np.diff(times[order])[np.diff(groups[order]) == 0]
    if len(gaps := gaps[gaps > 0]):
        return int(np.median(gaps))
    periods = [one.period for one in in_order(node) if isinstance(one, Sample)]
    return min(periods, default=1_000_000 if source.clock == "timestamp" else 1)


def _closing(warehouse: Warehouse, node: Node) -> str | None:
    """The table whose watermark makes samples final: the only source, if its time is the watermark's column."""
    read = {(source.table, source.time) for source in sources(node)}
    if len(read) != 1 or not is_bounded(node):
        return None
    ((name, time),) = read
    table = warehouse.catalog.find(name)
    timed = isinstance(table, Table) and table.watermark is not None and table.watermark.column == time
    return name if timed else None
