"""Programs over tables with too few rows, which have no result yet.

A regression over no rows has no coefficients. Such a program waits: its table is empty, and every epoch tries again.
Once it has had a result, an epoch that would leave none is an error, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from viewlet.errors import EvaluationError
from viewlet.matrix.tables.axes import AxisKind
from viewlet.matrix.tables.durable import MATRICES, SINCE, Bags, Contained, Keep, no_entries, write_labels
from viewlet.matrix.tables.read_blocks import Tables
from viewlet.matrix.tables.shelf import BLOCKS, block_rows
from viewlet.matrix.tables.sources import Long, Moments, Wide

if TYPE_CHECKING:
    from viewlet.matrix.tables.view import MatrixView


def lacks_rows(view: MatrixView, tables: Tables) -> bool:
    """Whether any table that the program reads is empty."""
    for given in view.inputs:
        match given.source:
            case Wide(table) | Long(table) if not tables.contents(table).total():
                return True
            case Moments(table) if not tables.rows(table)["m_0_0"][0].as_py():
                return True
    return False


def is_waiting(contained: Contained, bags: Bags) -> bool:
    """Whether a program has no result so far."""
    return not contained(bags.matrices).rows


def write_nothing(keep: Keep, bags: Bags, axes: Mapping[str, AxisKind]) -> None:
    """Write the bags of a program without a result."""
    for axis in bags.axes:
        write_labels(keep, bags, axis, axes[axis], [])
    keep(bags.matrices, block_rows([]), MATRICES)
    keep(bags.since, no_entries(), SINCE)
    if bags.has_blocks:
        keep(bags.blocks, block_rows([]), BLOCKS)


def waiting(error: EvaluationError) -> dict[str, Any]:
    """The record of a waiting program."""
    return {"technique": f"not determined yet: {error.message}"}
