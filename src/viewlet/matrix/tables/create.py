"""Making a matrix program of a warehouse, filled from what its tables hold, in one commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from viewlet.errors import WrongArgument, shortened
from viewlet.matrix.program import MatrixProgram
from viewlet.matrix.tables.define import define_matrix
from viewlet.matrix.tables.settings import Settings
from viewlet.warehouse.fill import Progress, create

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse


def create_matrix(
    warehouse: Warehouse,
    name: str,
    program: Any,
    given: Mapping[str, Any],
    outputs: Sequence[str] | None,
    is_wide: bool,
    settings: Settings,
    progress: Progress,
) -> int:
    """Make it; the number of the epoch that did it."""
    if not isinstance(program, MatrixProgram):
        raise WrongArgument(
            f"the program of {name} is {shortened(program)}, a {type(program).__name__}",
            hint='viewlet.matrix.program(function, X=("n", 3), …)',
        )
    warehouse.catalog.refuse_taken(name)
    return create(warehouse, define_matrix(warehouse, name, program, given, outputs, is_wide, settings), progress)
