"""`check`: compares views of any kind with their definitions on the current inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from viewlet.columns.fresh_names import free_name
from viewlet.columns.rows import Rows
from viewlet.progress import report

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse


def check(warehouse: Warehouse, names: list[str]) -> pa.Table:
    """The rows in which views differ from their definitions: `expected` but missing, or `found` but wrong.

    For one view, rows have its columns; for several, whose columns may differ, they are texts.
    """
    wrong = list(_checked(warehouse, names))
    taken = warehouse.catalog.view(names[0]).fields if len(names) == 1 else ()
    view, which = (free_name(label, [f.name for f in taken]) for label in ("_view", "_which"))
    labels = {
        view: pa.array([name for name, rows in wrong for _ in range(len(rows))], pa.string()),
        which: pa.array(["expected" if w > 0 else "found" for _, rows in wrong for w in rows.weights], pa.string()),
    }
    if len(wrong) == 1:
        return pa.table({**labels, **wrong[0][1].columns})
    texts = [str(row) for _, rows in wrong for row in rows.arrow().to_pylist()]
    return pa.table({**labels, "row": pa.array(texts, pa.string())})


def _checked(warehouse: Warehouse, names: list[str]) -> Iterator[tuple[str, Rows]]:
    for number, name in enumerate(names):
        of = f", {number + 1} of {len(names)}" if len(names) > 1 else ""
        report("check", f"view {name}{of}", number / len(names) if of else None)
        yield name, warehouse.catalog.view(name).check(warehouse, warehouse.store.snapshot())
