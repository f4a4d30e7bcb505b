"""The methods of `Database` that inspect the warehouse."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from viewlet.progress import Wanted, reporting

if TYPE_CHECKING:
    from viewlet.warehouse.maintained import Placement
    from viewlet.warehouse.warehouse import Warehouse


class InspectMethods:
    """Explaining, listing, history and checks."""

    _warehouse: Warehouse

    def _repr_html_(self) -> str:
        """For notebooks: the tables and views with rows and freshness."""
        from viewlet.inspect.html import warehouse_html

        if self._warehouse.is_closed:
            return f"<p>{escape(repr(self))}</p>"
        return warehouse_html(self._warehouse)

    @property
    def last_epoch(self) -> int:
        """The number of the last committed epoch; for a reader, that of its last `refresh`."""
        return self._warehouse.store.epoch

    def explain(
        self, name: str, *, verbose: bool = False, distributed: bool = False, placement: Placement | None = None
    ) -> str:
        """Return how a view is maintained: operators with tiers, maps, statements, sizes, and the reasons.

        `verbose`: the statements in full. `distributed`: where its maps are on a cluster, and the jobs and stages of an
        epoch; `placement` tries `"driver"`, `"replicated"` or other columns for some maps.
        """
        view = self._warehouse.catalog.view(name)
        if distributed or placement:
            return view.explain_distributed(self._warehouse, placement, verbose=verbose)
        return view.explain(self._warehouse, verbose=verbose)

    def describe(self, name: str) -> dict[str, Any]:
        """Describe a table, view, flow, source or sink of `graph` as plain values, and how a view is maintained."""
        from viewlet.inspect.describe import describe

        return describe(self._warehouse, name)

    def graph(self) -> dict[str, Any]:
        """Return the sources, tables, views, flows and sinks with sizes and freshness, and their dependencies."""
        from viewlet.inspect.graph import graph

        return graph(self._warehouse)

    def check(self, name: str | None = None, *, progress: Wanted = None) -> pa.Table:
        """Recompute a view (or all) with Spark SQL, compare, and return the rows that differ."""
        from viewlet.inspect.check import check

        names = list(self._warehouse.catalog.views) if name is None else [self._warehouse.catalog.view(name).name]
        with reporting(progress, self._warehouse.progress):
            return check(self._warehouse, names)

    def status(self) -> dict[str, Any]:
        """Return epochs, sizes, timings, and the engine used."""
        from viewlet.inspect.status import status

        return status(self._warehouse)

    def history(self, name: str | None = None, *, since: int | None = None) -> list[dict[str, Any]]:
        """Return the records of epochs, newest last: of one table or view, or all; after an epoch, or all retained."""
        return self._warehouse.history(name, since)

    def failures(self) -> list[dict[str, Any]]:
        """Return the last epochs that were rejected or failed, newest last, with the reason and, if known, the row."""
        from viewlet.warehouse.epoch.failures import read_failures

        self._warehouse.check_open()
        return read_failures(self._warehouse.path)
