"""The value that an edge offers its target."""

from __future__ import annotations

from dataclasses import dataclass

from viewlet.plan.expr import Expr
from viewlet.plan.types import Field, Type

_NO_VALUE = Type("tinyint")
"""The type of the constant value of states that have only a key."""


@dataclass(frozen=True)
class Offering:
    """How an edge computes its offer from the value at its source and its own columns."""

    key: Type
    columns: tuple[Field, ...]
    """The edge's own columns."""
    value: Expr | None
    """None if the state has only a key."""
    known: Field | None
    """The name of the value at the source in `value`."""
    is_greatest: bool = False

    @property
    def kind(self) -> Type:
        return _NO_VALUE if self.known is None else self.known.type
