"""Defining a view again without changing its meaning: with its plan stored, over narrower tables, or renamed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from viewlet.errors import InUse, SqlError, ViewletError
from viewlet.warehouse.declare.catalog import Catalog

if TYPE_CHECKING:
    from viewlet.views.view import View
    from viewlet.warehouse.warehouse import Warehouse


def with_plan(warehouse: Warehouse, view: View) -> View:
    """The view with Spark's plan of its definition over the current tables."""
    from viewlet.spark.fragments.fragments import make_whole, whole_inputs

    assert view.definition is not None, f"view {view.name} has neither a text nor a plan"
    with warehouse.sessions.analysed(view.definition, warehouse.catalog.schemas(), view.settings) as analysis:
        cuts, inputs = whole_inputs(analysis)
        return replace(view, fragments={**view.fragments, "whole": make_whole(analysis, 0, cuts)}, inputs=inputs)


def over_narrower(warehouse: Warehouse, view: View, catalog: Catalog, redefined: Collection[str], columns: str) -> View:
    """The view compiled again over tables that have lost columns; refused if it reads them."""
    from viewlet.views.define import define

    error = InUse(f"view {view.name} reads {columns}", hint="drop it first")
    if view.definition is None or "whole" in view.fragments:  # its text alone does not define it
        raise InUse(f"view {view.name} reads the table, and its definition is stored as a plan", hint="drop it first")
    try:
        made = define(
            warehouse,
            view.name,
            view.definition,
            policy=view.policy,
            replaced=redefined,
            settings=view.settings,
            catalog=catalog,
        )
    except ViewletError:
        raise error from None
    if made.fields != view.fields:
        raise error
    return replace(made, position=view.position, created=view.created)


def under_another_name(warehouse: Warehouse, view: View, to: str) -> View:
    """The view compiled again under another name."""
    from viewlet.views.define import define

    if view.definition is None:
        raise SqlError(
            f"view {view.name} was defined by a DataFrame, which has no text", hint="create it under the other name"
        )
    return define(warehouse, to, view.definition, policy=view.policy, replaced=[view.name], settings=view.settings)
