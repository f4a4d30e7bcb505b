"""Creating a matrix program in a warehouse, with the views of moments that it needs, in one commit."""

from __future__ import annotations

from dataclasses import replace as with_values
from typing import TYPE_CHECKING

from viewlet.errors import WrongArgument, kind_of, shortened
from viewlet.matrix.program import MatrixProgram
from viewlet.matrix.tables.define import ProgramDefinition, define_matrix
from viewlet.matrix.tables.moment_inputs import Summed, summed
from viewlet.matrix.tables.moments import is_query, moments_query
from viewlet.matrix.tables.resolve import number_columns, refuse_names, table_named
from viewlet.plan.types import Field
from viewlet.views.define import define
from viewlet.views.view import View
from viewlet.warehouse.fill import create

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse


def create_matrix(warehouse: Warehouse, wanted: ProgramDefinition, *, replace: bool = False) -> int:
    """Create a program or, with `replace`, replace the one of its name; return the epoch."""
    if not isinstance(wanted.program, MatrixProgram):
        raise WrongArgument(
            f"the program of {wanted.name} is {shortened(wanted.program)}, {kind_of(wanted.program)}",
            hint='viewlet.matrix.program(function, X=("n", 3), …)',
        )
    catalog = warehouse.catalog
    refuse_names([i.name for i in wanted.program.source.inputs], wanted.given)
    sums = summed(wanted.name, wanted.program.source, wanted.given)
    if not replace:
        catalog.refuse_taken(wanted.name)
    views = _moments(warehouse, sums)
    schemas = {**catalog.schemas(), **{view.name: view.fields for view in views}}
    made = define_matrix(wanted, sums, schemas, warehouse.next_position() + len(views))
    return create(warehouse, made, replace=replace, first=views)


def _moments(warehouse: Warehouse, sums: Summed) -> list[View]:
    """The missing views of moments, ready to be filled."""
    views: list[View] = []
    for name, (table, columns) in sums.views.items():
        query = moments_query(table, _fields(warehouse, table, columns))
        there = warehouse.catalog.views.get(name)
        if isinstance(there, View) and there.definition == query:
            continue  # left by a program that was dropped or is replaced
        view = define(warehouse, name, query)
        views.append(with_values(view, position=view.position + len(views), created=warehouse.store.epoch + 1))
    return views


def _fields(warehouse: Warehouse, table: str, columns: tuple[str, ...]) -> list[Field]:
    """The columns of a table or query."""
    schemas = warehouse.catalog.schemas()
    if not is_query(table):
        return number_columns(*table_named(table, schemas), columns)
    with warehouse.sessions.analysed(table, schemas) as analysis:
        return number_columns("the query", analysis.columns, columns)
