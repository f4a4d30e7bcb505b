"""Maintained principal components, by subspace iteration from the last basis (`subspace.py`).

The covariance is maintained from sums over rows, so a changed row costs O(m²) for m columns. Entries are relative to
the first mean, so that sums do not lose digits to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from viewlet.matrix.algebra.numpy_functions import diagonal, leading
from viewlet.matrix.arrays.subspace import follow, guarded, upright
from viewlet.matrix.delta.factors import Array
from viewlet.matrix.errors import ShapeError
from viewlet.matrix.program import program
from viewlet.matrix.refresh.maintained_program import Record
from viewlet.matrix.refresh.updates import RowChange


def covariance(X: Any) -> dict[str, Any]:
    """The covariance of the columns of X, over n − 1, and their means."""
    count = X.shape[0]
    mean = np.mean(X, axis=0, keepdims=True)
    return {"covariance": (X.T @ X - count * (mean.T @ mean)) / (count - 1), "mean": mean}


def principal_components(count: int) -> Callable[..., dict[str, Any]]:
    """The principal directions of the rows of X, as columns, the variance along each, the covariance, the means."""

    def components(X: Any) -> dict[str, Any]:
        found = covariance(X)
        directions = leading(found["covariance"], count)
        spread = diagonal(directions.T @ found["covariance"] @ directions)
        return {"components": directions, "variances": spread, **found}

    return components


class PrincipalComponents:
    """The principal components of the rows of a matrix."""

    def __init__(
        self, X: ArrayLike, count: int, *, tolerance: float = 1e-9, options: Mapping[str, Any] | None = None
    ) -> None:
        rows = np.array(X, dtype=np.float64)
        width = rows.shape[1]
        if not 0 < count <= width:
            raise ShapeError(f"{width} columns do not have {count} components")
        self._shift = rows.mean(axis=0)
        self._count, self._tolerance = count, tolerance
        self.state = program(covariance, X=("n", width)).start(X=rows - self._shift, options=options)
        self._basis = guarded(np.zeros((width, 0)), count)
        self.steps = 0
        """The number of steps of the last update; `MOST` if the covariance was decomposed."""
        self._follow()

    def update(
        self, changed: Mapping[int, ArrayLike] | None = None, new: ArrayLike | None = None, gone: Iterable[int] = ()
    ) -> Record:
        """Change, add and delete rows."""
        shifted = {i: np.asarray(row) - self._shift for i, row in (changed or {}).items()}
        added = None if new is None else np.atleast_2d(np.asarray(new)) - self._shift
        record = self.state.update(X=RowChange(shifted, added, gone))
        self._follow()
        return record

    @property
    def components(self) -> Array:
        """The components as rows, largest variance first; the largest entry of each is positive."""
        return upright(self._basis[:, : self._count]).T

    @property
    def variances(self) -> Array:
        """The variance along each component."""
        return self._variances[: self._count].copy()

    @property
    def mean(self) -> Array:
        mean: Array = self.state["mean"][0] + self._shift
        return mean

    def transform(self, Z: ArrayLike) -> Array:
        """Transform rows into the coordinates of the components."""
        return (np.asarray(Z) - self.mean) @ self.components.T

    def _follow(self) -> None:
        found = follow(self.state["covariance"], self._count, self._basis, self._tolerance)
        self._basis, self._variances, self.steps = found
