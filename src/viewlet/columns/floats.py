"""Floating-point numbers whose equal values have equal bits, as Spark groups, hashes and sorts them."""

from __future__ import annotations

from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[Any]]


def with_one_nan(values: Floats) -> Floats:
    """The same values, with one NaN."""
    return np.where(np.isnan(values), values.dtype.type(np.nan), values)


def canonical(values: Floats) -> Floats:
    """The same values, with one NaN and one zero, 0.0."""
    return with_one_nan(values + values.dtype.type(0))
