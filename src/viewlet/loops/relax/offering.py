"""What an edge offers its target."""

from __future__ import annotations

from dataclasses import dataclass

from viewlet.plan.expr import Expr
from viewlet.plan.types import Field, Type

_NO_VALUE = Type("tinyint")
"""Where a row is its key alone, all values are the same."""


@dataclass(frozen=True)
class Offering:
    """What an edge offers its target, of the value at its source and the edge's own columns."""

    key: Type
    columns: tuple[Field, ...]
    """The edge's own columns."""
    value: Expr | None
    """None where a row is its key alone."""
    known: Field | None
    """The value at the source, as `value` calls it."""
    is_greatest: bool = False

    @property
    def kind(self) -> Type:
        return _NO_VALUE if self.known is None else self.known.type
