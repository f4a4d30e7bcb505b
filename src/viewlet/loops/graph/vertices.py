"""Vertices by number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Positions, from_numpy, values_of
from viewlet.columns.dense import dense

_FEW = 10_000
"""So few keys are looked up one by one."""


class Vertices:
    """The keys of vertices, NULL among them."""

    def __init__(self, kind: pa.DataType) -> None:
        self._keys = pa.array([], type=kind)
        self._numbers: dict[Any, int] | None = None
        """The number of each key, once few are looked up."""

    def __len__(self) -> int:
        return len(self._keys)

    def number(self, arrays: Sequence[pa.Array]) -> list[Positions]:
        """The numbers of keys; one that is new gets the next."""
        total = sum(map(len, arrays))
        return [self._look_up(array) for array in arrays] if total < _FEW else self._encode(arrays)

    def keys(self, numbers: Positions) -> pa.Array:
        """The keys that have some numbers."""
        return self._keys.take(from_numpy(numbers, pa.int64()))

    def _encode(self, arrays: Sequence[pa.Array]) -> list[Positions]:
        if not len(self._keys) and (numbers := self._placed(arrays)) is not None:
            return numbers
        found = pa.concat_arrays([self._keys, *arrays]).dictionary_encode("encode")
        codes = values_of(found.indices, "i4").astype(np.int64)
        bounds = np.cumsum([len(self._keys), *map(len, arrays)])
        self._keys, self._numbers = found.dictionary, None
        return np.split(codes, bounds)[1:-1]

    def _placed(self, arrays: Sequence[pa.Array]) -> list[Positions] | None:
        """The numbers of first keys that are whole numbers close together: by their order, without hashing."""
        found = dense(arrays)
        if found is None:
            return None
        is_there = np.zeros(found.width, dtype=np.bool_)
        for offsets in found.offsets:
            is_there[offsets] = True
        numbers = np.cumsum(is_there) - 1
        self._keys = from_numpy(np.flatnonzero(is_there) + found.least, pa.int64()).cast(self._keys.type)
        return [numbers[offsets] for offsets in found.offsets]

    def _look_up(self, array: pa.Array) -> Positions:
        if self._numbers is None:
            self._numbers = {key: number for number, key in enumerate(self._keys.to_pylist())}
        before = len(self._numbers)
        found = [self._numbers.setdefault(key, len(self._numbers)) for key in array.to_pylist()]
        if len(self._numbers) > before:
            new = list(self._numbers)[before:]
            self._keys = pa.concat_arrays([self._keys, pa.array(new, type=self._keys.type)])
        return np.array(found, dtype=np.int64)
