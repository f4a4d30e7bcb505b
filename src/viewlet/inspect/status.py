"""`status`: epochs, sizes and timings, as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from viewlet.sink.declared import sinks_status
from viewlet.store import Snapshot
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.declare.watermarks import shown_time
from viewlet.warehouse.epoch.clocks import mark_of
from viewlet.warehouse.maintained import Maintained

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse


def status(warehouse: Warehouse) -> dict[str, Any]:
    """Epochs, sizes and timings, as plain values."""
    snapshot = warehouse.store.snapshot()
    catalog = warehouse.catalog
    records = warehouse.store.history()
    return {
        "epoch": snapshot.epoch,
        "engine": warehouse.engine,
        "tables": {name: table_size(table, snapshot) for name, table in catalog.tables.items()},
        "views": {
            name: {**view_size(view, snapshot), **_rounds(view, records)} for name, view in catalog.views.items()
        },
        "sinks": sinks_status(catalog, snapshot),
        "epochs": [r for r in records if r.get("kind") == "epoch"],
    }


def table_size(table: Table, snapshot: Snapshot) -> dict[str, Any]:
    contents = snapshot.contents(table.name)
    index = snapshot.contents(table.index).bytes if table.index else 0
    size: dict[str, Any] = {"rows": contents.total(), "bytes": contents.bytes, "index_bytes": index}
    if table.late is not None:
        mark = mark_of(table, snapshot)
        size["watermark"] = None if mark is None else shown_time(mark)
        size["late"] = snapshot.contents(table.late.name).total()
    if table.rejected is not None:
        size["rejected"] = snapshot.contents(table.rejected.name).total()
    if table.dropped is not None:
        counted = snapshot.contents(table.dropped).consolidated()
        size["dropped"] = dict(zip(counted["constraint"].to_pylist(), counted.weights.tolist(), strict=True))
    if table.source is not None:
        size["source"] = table.source.status(table, snapshot)
    return size


def view_size(view: Maintained, snapshot: Snapshot) -> dict[str, Any]:
    maps = [snapshot.contents(bag).bytes for bag in view.bags if bag != view.name and snapshot.has(bag)]
    contents = snapshot.contents(view.name)
    return {
        "kind": view.kind,
        "rows": contents.total(),
        "bytes": contents.bytes,
        "maps": len(maps),
        "map_bytes": sum(maps),
    }


def _rounds(view: Maintained, records: list[dict[str, Any]]) -> dict[str, Any]:
    """How many rows each round of a loop's last epoch changed."""
    found = (r["views"][view.name] for r in reversed(records) if view.name in r.get("views", {}))
    done: dict[str, Any] = next(found, {})
    return {"rounds": {int(number): size for number, size in done["rounds"].items()}} if "rounds" in done else {}
