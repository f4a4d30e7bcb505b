"""The clocks of tables with a watermark: read, advanced by an epoch, and the evictions that follow.

All of it is part of the epoch's own commit.
"""

from __future__ import annotations

from viewlet.columns.rows import Rows
from viewlet.engine.engine import Cluster
from viewlet.store import Snapshot, Transaction
from viewlet.warehouse.declare import watermarks
from viewlet.warehouse.declare.catalog import Catalog
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.declare.watermarks import Clock


def mark_of(table: Table, snapshot: Snapshot) -> int | None:
    """The watermark of a table, in microseconds since 1970; None if it has none, or no row yet."""
    if table.watermark is None or table.clock is None:
        return None
    clock = Clock.read(snapshot.contents(table.clock))
    return None if clock is None else clock.latest - table.watermark.delay


def advance(
    catalog: Catalog, transaction: Transaction, table: Table, latest: int | None, cluster: Cluster | None = None
) -> None:
    """Move a table's clock on to a time; after every delay that it advances, views let go of groups that are closed."""
    if table.watermark is None or table.clock is None or latest is None:
        return
    delay = table.watermark.delay
    was = Clock.read(transaction.before(table.clock))
    if was is not None and latest <= was.latest:
        return
    swept = latest - delay if was is None else was.swept
    if latest - delay > swept + delay:
        swept = latest - delay
        evict_closed(catalog, transaction, table.name, swept, cluster)
    parts = [Clock(latest, swept).rows(1)] + ([] if was is None else [was.rows(-1)])
    transaction.append(table.clock, Rows.concat(parts), watermarks.LAYOUT)


def evict_closed(
    catalog: Catalog, transaction: Transaction, table: str, mark: int, cluster: Cluster | None = None
) -> None:
    """Drop what a watermark has passed from the state of views that no other view shares."""
    for view in catalog.views.values():
        if table in view.reads:
            view.evict(transaction, table, mark, catalog.own_bags(view), cluster)
