"""Principal components that follow their rows: subspace iteration, continued from the last basis.

The covariance is kept from sums over rows, so a changed row costs O(m²) for m columns. Entries are kept relative to
the first mean, so that the sums do not lose digits to it. After a small change the last basis is almost right, and few
steps of V ← orth(C·V) bring it to within the tolerance; a spectrum without a gap is decomposed instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from viewlet.matrix.errors import ShapeError
from viewlet.matrix.factors import Array
from viewlet.matrix.program import program
from viewlet.matrix.state import Record
from viewlet.matrix.updates import RowChange

GUARD = 4
"""Directions that are iterated beside those asked for, so that these settle sooner."""
MOST = 100
"""Steps after which the covariance is decomposed instead."""


def covariance(X: Any) -> dict[str, Any]:
    """The covariance of the columns of X, over n − 1, and their means."""
    count = X.shape[0]
    mean = np.mean(X, axis=0, keepdims=True)
    return {"covariance": (X.T @ X - count * (mean.T @ mean)) / (count - 1), "mean": mean}


class PrincipalComponents:
    """The directions in which the rows of a matrix vary most."""

    def __init__(
        self, X: ArrayLike, count: int, *, tolerance: float = 1e-9, options: Mapping[str, Any] | None = None
    ) -> None:
        rows = np.array(X, dtype=np.float64)
        width = rows.shape[1]
        if not 0 < count <= width:
            raise ShapeError(f"{count} components of {width} columns cannot be had")
        self._shift = rows.mean(axis=0)
        self._count, self._tolerance = count, tolerance
        self.state = program(covariance, X=("n", width)).start(X=rows - self._shift, options=options)
        self._basis = np.linalg.qr(np.random.default_rng(0).normal(size=(width, min(width, count + GUARD))))[0]
        self.steps = 0
        """How many steps the last change took; `MOST` if the covariance was decomposed."""
        self._follow()

    def update(
        self, changed: Mapping[int, ArrayLike] | None = None, new: ArrayLike | None = None, gone: Iterable[int] = ()
    ) -> Record:
        """Rows that change, come and go."""
        shifted = {i: np.asarray(row) - self._shift for i, row in (changed or {}).items()}
        added = None if new is None else np.atleast_2d(np.asarray(new)) - self._shift
        record = self.state.update(X=RowChange(shifted, added, gone))
        self._follow()
        return record

    @property
    def components(self) -> Array:
        """One direction in each row, the widest first; its largest entry is positive."""
        directions = self._basis[:, : self._count].T
        largest = np.abs(directions).argmax(axis=1)
        return directions * np.sign(directions[np.arange(len(directions)), largest])[:, None]

    @property
    def variances(self) -> Array:
        """The variance along each."""
        return self._variances[: self._count].copy()

    @property
    def mean(self) -> Array:
        mean: Array = self.state["mean"][0] + self._shift
        return mean

    def transform(self, Z: ArrayLike) -> Array:
        """Rows in the coordinates of the components."""
        return (np.asarray(Z) - self.mean) @ self.components.T

    def _follow(self) -> None:
        matrix = self.state["covariance"]
        for self.steps in range(MOST + 1):
            image = matrix @ self._basis
            values, turn = np.linalg.eigh(self._basis.T @ image)
            self._variances, turn = values[::-1], turn[:, ::-1]
            self._basis, image = self._basis @ turn, image @ turn
            if self._is_settled(image):
                return
            self._basis = np.linalg.qr(image)[0]
        values, vectors = np.linalg.eigh(matrix)
        size = self._basis.shape[1]
        self._variances, self._basis = values[::-1][:size], vectors[:, ::-1][:, :size]

    def _is_settled(self, image: Array) -> bool:
        """‖C·v − λ·v‖ for each component, beside the largest λ."""
        off = image - self._basis * self._variances
        return bool(np.linalg.norm(off[:, : self._count]) <= self._tolerance * abs(self._variances[0]))
