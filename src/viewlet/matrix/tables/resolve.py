"""Resolves the sources of inputs against the existing tables, with their spelling of names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from viewlet import arguments
from viewlet.errors import UnknownName, UnsupportedQuery, WrongArgument, kind_of, shortened
from viewlet.formatting import suggestion
from viewlet.matrix.delta.factors import Array
from viewlet.matrix.refresh.input_changes import checked
from viewlet.matrix.tables.sources import Fixed, Long, Moments, Source, Wide
from viewlet.plan.types import INTEGRAL, Field
from viewlet.warehouse.declare.catalog import Catalog

if TYPE_CHECKING:
    from viewlet.matrix.tables.view import MatrixView

Schemas = Mapping[str, tuple[Field, ...]]
"""The columns of each table and view."""
LABEL_TYPES = (*INTEGRAL, "string", "varchar", "char", "boolean", "date", "timestamp", "timestamp_ntz", "decimal")
"""The types of labels."""
LARGEST = 1 << 20
"""The most entries of an array that is stored with a definition."""


def reads_only_what_is_there(view: MatrixView, catalog: Catalog) -> bool:
    """Whether all columns that a program reads exist in a catalog."""
    schemas = catalog.schemas()
    try:
        for given in view.inputs:
            resolved(given.name, given.source, schemas)
    except UnknownName:
        return False
    return True


def refuse_names(names: Sequence[str], given: Collection[str]) -> None:
    """Refuse missing and unknown inputs."""
    hint = f"its inputs are {', '.join(names)}"
    if missing := [n for n in names if n not in given]:
        raise UnknownName(f"the program's input {missing[0]} is not given", hint=hint)
    if unknown := [n for n in given if n not in names]:
        raise UnknownName(f"the program has no input {unknown[0]}", hint=hint)


def resolved(name: str, source: Any, schemas: Schemas) -> Source:
    match source:
        case Wide(table, columns, row):
            known, fields = table_named(table, schemas)
            wanted = arguments.texts(f"the columns of {name}", columns)
            found = _entry_columns(known, fields, wanted)
            return Wide(known, found, None if row is None else label_column(known, fields, row).name)
        case Long(table, row, column, value):
            known, fields = table_named(table, schemas)
            return Long(
                known,
                label_column(known, fields, row).name,
                label_column(known, fields, column).name,
                number_columns(known, fields, [value])[0].name,
            )
        case Moments(table):
            return replace(source, table=table_named(table, schemas)[0])
        case Fixed():
            return source
        case _:
            return Fixed(_array(name, source))


def _array(name: str, value: Any) -> Array:
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or array.ndim != 2:
        raise WrongArgument(
            f"{name} is {shortened(value)}, {kind_of(value)}",
            hint="Wide(table, columns, row), Long(table, row, column, value), or a NumPy array of two dimensions",
        )
    if array.size > LARGEST:
        raise WrongArgument(f"{name} has {array.size:,} entries", hint="keep a matrix that large in a table")
    return checked(name, array, (array.shape[0], array.shape[1]), np.float64)


def table_named(table: str, schemas: Schemas) -> tuple[str, tuple[Field, ...]]:
    wanted = arguments.text("the table of a matrix", table).lower()
    known = next((n for n in schemas if n.lower() == wanted), None)
    if known is None:
        raise UnknownName(f"there is no table or view named {table}", hint=suggestion(table, schemas))
    return known, schemas[known]


def _column(table: str, fields: tuple[Field, ...], name: str) -> Field:
    wanted = arguments.text(f"the name of a column of {table}", name).lower()
    found = next((f for f in fields if f.name.lower() == wanted), None)
    if found is None:
        raise UnknownName(f"{table} has no column {name}", hint=suggestion(name, [f.name for f in fields]))
    return found


def _entry_columns(table: str, fields: tuple[Field, ...], names: Sequence[str]) -> tuple[str, ...]:
    """Validate the columns of a wide matrix: numbers, or one array of numbers."""
    if len(names) == 1 and _holds_arrays(column := _column(table, fields, names[0])):
        return (column.name,)
    return tuple(f.name for f in number_columns(table, fields, names))


def is_array(source: Wide, schemas: Schemas) -> bool:
    """Whether the rows of a wide matrix are arrays in one column."""
    return len(source.columns) == 1 and _holds_arrays(_column(source.table, schemas[source.table], source.columns[0]))


def _holds_arrays(column: Field) -> bool:
    return column.type.name == "array" and column.type.parts[0].is_numeric


def number_columns(table: str, fields: tuple[Field, ...], names: Sequence[str]) -> list[Field]:
    """The named columns; raise if one is not numeric."""
    found = [_column(table, fields, name) for name in names]
    for column in found:
        if not column.type.is_numeric and column.type.name != "boolean":
            raise UnsupportedQuery(f"{table}.{column.name} is a {column.type}: a matrix takes numbers")
    return found


def label_column(table: str, fields: tuple[Field, ...], name: str) -> Field:
    found = _column(table, fields, name)
    if found.type.name not in LABEL_TYPES:
        raise UnsupportedQuery(
            f"{table}.{found.name} is a {found.type}, which cannot identify the rows of a matrix",
            hint="a whole number, a text, a date",
        )
    return found
