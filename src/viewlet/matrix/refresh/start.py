"""The arrays that a program starts from; their shapes determine the named sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from viewlet.matrix.algebra.ops import Declared
from viewlet.matrix.algebra.sizes import measured, symbol_of
from viewlet.matrix.blocks.large import is_large
from viewlet.matrix.delta.factors import Array
from viewlet.matrix.errors import ShapeError, UnknownName
from viewlet.matrix.refresh.input_changes import checked

TOLERANCE = {np.dtype(np.float64): 1e-8, np.dtype(np.float32): 1e-4}
"""The supported dtypes, with the default residual beyond which a statement is re-evaluated."""


def intake(
    inputs: tuple[Declared, ...], given: Mapping[str, ArrayLike], dtype: Any
) -> tuple[dict[str, Array], dict[str, int]]:
    """Validate the matrices to start from; return them and the values of symbolic sizes."""
    missing = [i.name for i in inputs if i.name not in given]
    unknown = sorted(given.keys() - {i.name for i in inputs})
    if missing or unknown:
        raise UnknownName(f"inputs missing: {missing}, not known: {unknown}", hint="one matrix for each input")
    sizes: dict[str, int] = {}
    arrays = {i.name: _bound(i, given[i.name], sizes) for i in inputs}
    kind = np.dtype(dtype or np.result_type(*(array.dtype for array in arrays.values()), np.float32))
    if kind not in TOLERANCE:
        raise ShapeError(f"matrices of {kind} are not maintained", hint="float64 or float32")
    return {i.name: _checked(i, arrays[i.name], sizes, kind) for i in inputs}, sizes


def _checked(declared: Declared, array: Any, sizes: Mapping[str, int], kind: np.dtype[Any]) -> Array:
    if is_large(array):  # checked when its blocks were written
        return cast("Array", array.astype(kind))
    return checked(declared.name, array, measured(declared.shape, sizes), kind)


def _bound(declared: Declared, value: ArrayLike, sizes: dict[str, int]) -> Array:
    """Validate an input; symbols get their values from the first matrix that has them."""
    array: Any = value if is_large(value) else np.asarray(value)
    if array.ndim == 1:
        array = array[:, None] if declared.shape[1] == 1 else array[None, :]
    if array.ndim != 2:
        raise ShapeError(f"{declared.name}: an array of {array.ndim} dimensions is not a matrix")
    for dim, size in zip(declared.shape, array.shape, strict=True):
        if (symbol := symbol_of(dim)) is not None and sizes.setdefault(symbol, size) != size:
            raise ShapeError(f"{declared.name}: {symbol} is {sizes[symbol]} in another matrix and {size} here")
    return array
