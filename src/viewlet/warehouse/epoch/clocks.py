"""The clocks of tables with a watermark: reading and advancing them, and the evictions that follow.

All of this is part of the epoch's commit.
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
    """A table's watermark in microseconds since 1970; None if it has none, or no rows yet."""
    if table.watermark is None or table.clock is None:
        return None
    clock = Clock.read(snapshot.contents(table.clock))
    return None if clock is None else clock.latest - table.watermark.delay


def advance(
    catalog: Catalog, transaction: Transaction, table: Table, latest: int | None, cluster: Cluster | None = None
) -> None:
    """Advance a table's clock to a time; views evict closed groups each time it has advanced by more than the delay."""
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
    """Evict the groups that a watermark has passed from the unshared state of views."""
    for view in catalog.views.values():
        if table in view.reads:
            view.evict(transaction, table, mark, catalog.own_bags(view), cluster)
