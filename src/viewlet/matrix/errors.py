"""Errors of matrices: Viewlet's, which are NumPy's too.

    UnsupportedQuery
    ├── ShapeError (ValueError)         shapes that do not fit, as NumPy would say
    └── UntraceableError (TypeError)    what a traced matrix cannot do
    EvaluationError
    └── SingularMatrix (LinAlgError)    a matrix without an inverse

A change that does not fit its matrix is a `RejectedEpoch`. After any of them nothing has changed.
"""

from __future__ import annotations

import numpy as np

from viewlet.errors import EvaluationError, RejectedEpoch, UnknownName, UnsupportedQuery, ViewletError

__all__ = [
    "EvaluationError",
    "RejectedEpoch",
    "ShapeError",
    "SingularMatrix",
    "UnknownName",
    "UnsupportedQuery",
    "UntraceableError",
    "ViewletError",
]


class ShapeError(UnsupportedQuery, ValueError):
    """Shapes that do not fit together."""


class UntraceableError(UnsupportedQuery, TypeError):
    """What a traced matrix cannot do, because its numbers are not there yet."""


class SingularMatrix(EvaluationError, np.linalg.LinAlgError):
    """A matrix that has no inverse, or none in the precision at hand."""
