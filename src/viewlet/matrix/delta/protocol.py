"""The interface of delta rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from viewlet.matrix.algebra.sizes import Shape
from viewlet.matrix.delta.changes import Change
from viewlet.matrix.delta.factors import Array, Factor
from viewlet.matrix.delta.resize import Frame


@dataclass(frozen=True, slots=True)
class NoRule:
    """There is no delta for such a change; the reason."""

    reason: str


class Epoch(Protocol):
    """The inputs of delta rules: old matrices and their changes, in the common frame."""

    frame: Frame
    dtype: np.dtype[np.floating[Any]]

    def shape(self, name: str) -> Shape: ...

    def old(self, name: str) -> Array: ...

    def change(self, name: str) -> Change | None: ...

    def times(self, name: str, vectors: Array) -> Array:
        """The new matrix · vectors."""

    def meet(self, name: str, factor: Factor) -> Factor:
        """The new matrixᵀ · factor."""


Delta = Change | NoRule | None
