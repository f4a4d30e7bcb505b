"""Replaces matrices without a row key by the moments of their tables, which SQL views maintain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from viewlet import arguments
from viewlet.errors import UnsupportedQuery
from viewlet.matrix.algebra.ops import Declared, Program
from viewlet.matrix.compile.gram import over_moments
from viewlet.matrix.errors import ShapeError
from viewlet.matrix.tables.axes import AxisKind
from viewlet.matrix.tables.bind import axes_of
from viewlet.matrix.tables.sources import Moments, Wide
from viewlet.plan.types import STRING


@dataclass(frozen=True)
class Summed:
    """A program over moments, its sources, and the views of moments to create."""

    program: Program
    sources: Mapping[str, Any]
    columns: Mapping[str, AxisKind]
    """The axes whose labels are columns of tables that are read through moments."""
    views: Mapping[str, tuple[str, tuple[str, ...]]]
    """The table or query and the columns of each view of moments."""


def summed(name: str, program: Program, given: Mapping[str, Any]) -> Summed:
    """Rewrite a program to read matrices without a row key through their moments."""
    found = Summed(program, given, {}, {})
    for axis, names in _without_keys(program, given).items():
        found = _over(name, found, axis, names)
    return found


def _without_keys(program: Program, given: Mapping[str, Any]) -> dict[str, list[str]]:
    """The sizes of rows without a key, each with the matrices that have it."""
    found: dict[str, list[str]] = {}
    for declared in program.inputs:
        source = given.get(declared.name)
        if isinstance(source, Wide) and source.row is None:
            found.setdefault(axes_of(declared.name, declared.shape)[0], []).append(declared.name)
    return found


def _over(name: str, before: Summed, axis: str, names: list[str]) -> Summed:
    shapes = {i.name: axes_of(i.name, i.shape) for i in before.program.inputs}
    table = _one_table(axis, names, {n: s for n, s in shapes.items() if axis in s}, before.sources)
    columns, picked = _beside([(n, _columns(n, before.sources[n])) for n in names])
    kinds: dict[str, AxisKind] = {}
    for n, (start, stop) in picked.items():
        _name_columns(n, shapes[n][1], columns[start - 1 : stop - 1], kinds)
    sizes = {a: len(kind.fixed or ()) for a, kind in kinds.items()}
    view = f"{name}_moments" if not before.views else f"{name}_{axis}_moments"
    moments = Declared(_free("moments", {*shapes, *before.sources}), (1 + len(columns), 1 + len(columns)))
    left = {n: s for n, s in before.sources.items() if n not in names}
    return Summed(
        over_moments(before.program, axis, picked, moments, sizes),
        {**left, moments.name: Moments(view, columns)},
        {**before.columns, **kinds},
        {**before.views, view: (table, columns)},
    )


def _one_table(axis: str, names: list[str], having: Mapping[str, tuple[str, str]], sources: Mapping[str, Any]) -> str:
    """The table of all matrices that share such rows; raise if there are several."""
    first = arguments.text(f"the table of {names[0]}", sources[names[0]].table)
    for name, axes in having.items():
        same = name in names and axes[0] == axis != axes[1] and sources[name].table == first
        if not same:
            raise UnsupportedQuery(
                f"{names[0]} and {name} both have {axis} rows or columns, which no key identifies",
                hint="take all of them from one table, or name its key: Wide(table, columns, row=…)",
            )
    return first


def _columns(name: str, source: Wide) -> tuple[str, ...]:
    return arguments.texts(f"the columns of {name}", source.columns)


def _name_columns(name: str, axis: str, columns: tuple[str, ...], kinds: dict[str, AxisKind]) -> None:
    """Record the columns of a matrix as the labels of its second axis, if that is named."""
    if axis.isdigit() and int(axis) != len(columns):
        raise ShapeError(f"{name} is declared with {axis} columns, and given {len(columns)}: {', '.join(columns)}")
    if not axis.isdigit() and kinds.setdefault(axis, AxisKind(STRING, columns)).fixed != columns:
        raise ShapeError(f"{name} has other columns than another matrix with {axis} columns: {', '.join(columns)}")


def _beside(parts: list[tuple[str, tuple[str, ...]]]) -> tuple[tuple[str, ...], dict[str, tuple[int, int]]]:
    """The columns of matrices side by side, shared where they repeat, and each matrix's range in Z, after the ones."""
    columns: tuple[str, ...] = ()
    spans = {}
    for name, own in parts:
        starts = (i for i in range(len(columns)) if columns[i : i + len(own)] == own)
        start = next(starts, len(columns))
        columns += own if start == len(columns) else ()
        spans[name] = (1 + start, 1 + start + len(own))
    return columns, spans


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
