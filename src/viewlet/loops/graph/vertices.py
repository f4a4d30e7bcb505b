"""Numbers the keys of vertices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Positions, from_numpy, values_of
from viewlet.columns.dense import dense

_FEW = 10_000
"""Fewer keys than this are looked up one by one."""
_ROOM = 4
"""New keys are close to the others if their distance from the least is below about _ROOM times the number of keys."""
_FULL = 2
"""If at least 1 / _FULL of the distances belong to keys, distances serve as numbers."""
_NONE = -1


class Vertices:
    """The keys of vertices, including NULL, with their numbers."""

    def __init__(self, kind: pa.DataType) -> None:
        self._keys = pa.array([], type=kind)
        self._numbers: dict[Any, int] | None = None
        """The number of each key; built when keys are first looked up one by one."""
        self._table: Positions | None = None
        """If keys are dense integers: the number of each key by its distance from the least one; `_NONE` for no key."""
        self._least = 0

    def __len__(self) -> int:
        return len(self._keys)

    def number(self, arrays: Sequence[pa.Array]) -> list[Positions]:
        """The numbers of keys; a new key gets the next number."""
        if self._table is not None and (found := self._in_table(arrays)) is not None:
            return found
        self._table = None
        total = sum(map(len, arrays))
        return [self._look_up(array) for array in arrays] if total < _FEW else self._encode(arrays)

    def keys(self, numbers: Positions) -> pa.Array:
        """The keys with these numbers."""
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
        """The numbers of the first keys if these are dense integers: by their order, without hashing.

        If at least half of the integers in the range are keys, the others become vertices without edges, so that
        distances serve as numbers.
        """
        found = dense(arrays)
        if found is None:
            return None
        is_there = np.zeros(found.width, dtype=np.bool_)
        for offsets in found.offsets:
            is_there[offsets] = True
        self._least, are_all = found.least, _FULL * np.count_nonzero(is_there) >= found.width
        if are_all:
            is_there[:] = True
        self._table = np.where(is_there, np.cumsum(is_there) - 1, _NONE)
        self._keys = self._at(np.flatnonzero(is_there))
        return found.offsets if are_all else [self._table[offsets] for offsets in found.offsets]

    def _in_table(self, arrays: Sequence[pa.Array]) -> list[Positions] | None:
        """The numbers of integer keys close to the first ones, without hashing; None if any is not close."""
        assert self._table is not None
        if any(array.null_count for array in arrays):
            return None
        kind = f"i{self._keys.type.bit_width // 8}"
        offsets = [values_of(array, kind).astype(np.int64, copy=False) - self._least for array in arrays]
        least = min((int(o.min()) for o in offsets if len(o)), default=0)
        most = max((int(o.max()) for o in offsets if len(o)), default=0)
        if least < 0 or most >= _ROOM * len(self._keys) + _FEW:
            return None
        if most >= len(self._table):
            self._table = np.concatenate([self._table, np.full(most + 1, _NONE)])
        self._add([o[self._table[o] == _NONE] for o in offsets])
        return [self._table[o] for o in offsets]

    def _add(self, offsets: Sequence[Positions]) -> None:
        """Give new keys the next numbers."""
        new = np.unique(np.concatenate(offsets))
        if len(new) and self._table is not None:
            self._table[new] = np.arange(len(self), len(self) + len(new))
            self._keys = pa.concat_arrays([self._keys, self._at(new)])

    def _at(self, offsets: Positions) -> pa.Array:
        """The keys at some distances from the least."""
        return from_numpy(offsets + self._least, pa.int64()).cast(self._keys.type)

    def _look_up(self, array: pa.Array) -> Positions:
        if self._numbers is None:
            self._numbers = {key: number for number, key in enumerate(self._keys.to_pylist())}
        before = len(self._numbers)
        found = [self._numbers.setdefault(key, len(self._numbers)) for key in array.to_pylist()]
        if len(self._numbers) > before:
            new = list(self._numbers)[before:]
            self._keys = pa.concat_arrays([self._keys, pa.array(new, type=self._keys.type)])
        return np.array(found, dtype=np.int64)
