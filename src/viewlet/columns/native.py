"""The compiled inner loops of `_native.c`, and the choice between them and the NumPy versions with the same signatures.

They are built if there is a C compiler when Viewlet is installed. Without them everything runs on NumPy, a few times
slower, with the same results.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa

Hashes = np.ndarray[Any, np.dtype[np.uint64]]
Positions = np.ndarray[Any, np.dtype[np.int64]]


def _built() -> ModuleType | None:
    """The compiled module, if it exists; it requires a little-endian machine."""
    try:
        return import_module("viewlet.columns._native") if sys.byteorder == "little" else None
    except ImportError:
        return None


kernels: Any = _built()
"""The compiled functions, or None."""


def hash_numbers(array: pa.Array, salt: int) -> Hashes:
    kind, values = array.type, array.buffers()[1]
    out = np.empty(len(array), dtype=np.uint64)
    width = kind.bit_width // 8
    if values is None:
        values = bytes(width * (array.offset + len(array)))
    kernels.hash_numbers(out, values, array.offset, width, pa.types.is_floating(kind), salt)
    return out


def hash_texts(array: pa.Array, salt: int) -> Hashes:
    _, offsets, data = array.buffers()
    wide = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    out = np.empty(len(array), dtype=np.uint64)
    if offsets is None or not offsets.size:
        offsets = bytes(8 * (array.offset + len(array) + 1))
    kernels.hash_texts(out, offsets, b"" if data is None else data, array.offset, 8 if wide else 4, salt)
    return out


def mix(numbers: Hashes) -> Hashes:
    """Every bit of each number diffused over all 64."""
    out = np.empty(len(numbers), dtype=np.uint64)
    kernels.mix_all(out, np.ascontiguousarray(numbers))
    return out


def order_of(hashes: Hashes) -> Positions:
    """The stable order that sorts hashes."""
    out = np.empty(len(hashes), dtype=np.int64)
    kernels.order_of(out, np.ascontiguousarray(hashes))
    return out


def distinct(hashes: Hashes) -> tuple[Positions, Positions]:
    """The first position of each distinct hash, and each hash's number in order of appearance."""
    first, codes = np.empty(len(hashes), dtype=np.int64), np.empty(len(hashes), dtype=np.int64)
    count = kernels.distinct(first, codes, np.ascontiguousarray(hashes))
    return first[:count], codes


def find(hashes: np.ndarray[Any, Any], probes: np.ndarray[Any, Any]) -> tuple[Positions, Positions] | None:
    """All pairs (place among the probes, place among the sorted hashes) with equal hashes; `hashes` is not empty."""
    hashes, probes, room = np.ascontiguousarray(hashes), np.ascontiguousarray(probes), len(probes)
    while True:
        which, at = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
        found = kernels.find(which, at, hashes, probes, hashes.itemsize)
        if found <= room:
            return (which[:found], at[:found]) if found else None
        room = found
