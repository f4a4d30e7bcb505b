"""Errors of matrix programs: Viewlet's errors that are also NumPy's.

    UnsupportedQuery
    ├── ShapeError (ValueError)         shapes that do not fit, as NumPy would say
    └── UntraceableError (TypeError)    what a traced matrix cannot do
    EvaluationError
    └── SingularMatrix (LinAlgError)    a matrix without an inverse

A change that does not fit its matrix raises `RejectedEpoch`. No error changes the state.
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
    """An operation that a traced matrix does not support, because its entries are not known yet."""


class SingularMatrix(EvaluationError, np.linalg.LinAlgError):
    """A matrix that is singular, exactly or numerically."""
