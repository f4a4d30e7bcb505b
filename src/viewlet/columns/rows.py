"""Rows with weights: the one form of tables, views, maps and deltas in memory.

A weight says how often a row occurs or, if negative, how often it is deleted. Adding two bags is concatenating their
rows; `consolidate` nets a bag: each row once, and none of weight zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from viewlet.columns import native
from viewlet.columns.arrays import Mask, Positions, columns_of, from_numpy, truth_of, valid_mask, values_of
from viewlet.columns.dense import distinct_numbers
from viewlet.columns.hash import Hashes, fingerprint_rows, hash_array, hash_rows, identify_rows, order_of
from viewlet.columns.parallel import MANY, in_parallel

Weights = np.ndarray[Any, np.dtype[np.int64]]
Known = dict[tuple[int, tuple[int, ...]], tuple[Sequence[pa.Array], Hashes]]
"""Hashes by seed and the `id`s of the columns, which are held so that the ids stay valid."""
_FINGERPRINT = -1
"""Stands in for the seed of fingerprints."""


class Rows:
    """Columns of equal length, by name, and a weight for each row.

    Hashes are cached and carried over to taken rows, since an epoch asks for the same ones again and again. They are
    cached by column, so everything that reads the same columns of the same rows, under any names, shares them.
    """

    __slots__ = ("_hashes", "columns", "weights")

    def __init__(
        self,
        columns: Mapping[str, pa.Array],
        weights: Weights,
        hashes: Known | None = None,
    ) -> None:
        self.columns = dict(columns)
        self.weights = weights
        self._hashes = {} if hashes is None else hashes

    def __len__(self) -> int:
        return len(self.weights)

    def __getitem__(self, name: str) -> pa.Array:
        return self.columns[name]

    def __repr__(self) -> str:
        return f"Rows({len(self)} rows of {', '.join(self.columns)})"

    @property
    def nbytes(self) -> int:
        return self.weights.nbytes + sum(array.nbytes for array in self.columns.values())

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.columns)

    @staticmethod
    def of(table: pa.Table | pa.RecordBatch, weights: Weights | None = None) -> Rows:
        """The rows of an Arrow table, of weight one unless weights are given."""
        columns = dict(zip(table.schema.names, columns_of(table), strict=True))
        return Rows(columns, np.ones(table.num_rows, dtype=np.int64) if weights is None else weights)

    @staticmethod
    def each_once(columns: Mapping[str, pa.Array]) -> Rows:
        """Rows of at least one column, each of weight one."""
        return Rows(columns, np.ones(len(next(iter(columns.values()))), dtype=np.int64))

    @staticmethod
    def concat(parts: Sequence[Rows]) -> Rows:
        """The sum of some bags with the same columns."""
        if len(parts) == 1:
            return parts[0]
        columns = {name: pa.concat_arrays([p.columns[name] for p in parts]) for name in parts[0].columns}
        known = [p._by_name() for p in parts]
        shared = set(known[0]).intersection(*known[1:])
        result = Rows(columns, np.concatenate([p.weights for p in parts]))
        return result._learn_all({key: np.concatenate([k[key] for k in known]) for key in shared})

    @staticmethod
    def empty(types: Mapping[str, pa.DataType]) -> Rows:
        return Rows({name: pa.array([], type=kind) for name, kind in types.items()}, np.zeros(0, dtype=np.int64))

    def take(self, at: Positions) -> Rows:
        if len(at) == len(self) and bool((at == np.arange(len(at))).all()):
            return self
        if len(at) < 2 and len(self) < _FEW:
            return self._piece(int(at[0]) if len(at) else 0, len(at))
        indices = from_numpy(at.astype(np.int64, copy=False), pa.int64())
        columns = [c.take(indices) for c in self.columns.values()] if len(at) < MANY else self._take_many(indices)
        result = Rows(dict(zip(self.columns, columns, strict=True)), self.weights[at])
        return result._learn_all({key: known[at] for key, known in self._by_name().items()})

    def _take_many(self, indices: pa.Array) -> list[pa.Array]:
        return in_parallel(lambda column: column.take(indices), list(self.columns.values()))

    def _piece(self, start: int, length: int) -> Rows:
        """Consecutive rows of a small bag, without a copy, which keeps its memory alive."""
        stop = start + length
        result = Rows({n: c.slice(start, length) for n, c in self.columns.items()}, self.weights[start:stop])
        return (
            result._learn_all({key: known[start:stop] for key, known in self._by_name().items()}) if length else result
        )

    def copied(self) -> Rows:
        """The same rows in memory of their own."""
        columns = {name: pa.concat_arrays([array, array[:0]]) for name, array in self.columns.items()}
        return Rows(columns, self.weights)._learn_all(self._by_name())

    def apart(self) -> Rows:
        """The same rows for another thread; neither caches hashes for the other from now on."""
        return Rows(self.columns, self.weights, dict(self._hashes))

    def filter(self, keep: Mask) -> Rows:
        return self if keep.all() else self.take(np.flatnonzero(keep))

    def slice(self, start: int, count: int) -> Rows:
        """Consecutive rows, without copying."""
        columns = {name: column.slice(start, count) for name, column in self.columns.items()}
        return Rows(columns, self.weights[start : start + count])

    def select(self, wanted: Iterable[str]) -> Rows:
        return Rows({n: self.columns[n] for n in wanted}, self.weights, self._hashes)

    def rename(self, new: Sequence[str]) -> Rows:
        return self.replaced(dict(zip(new, self.columns.values(), strict=True)))

    def with_columns(self, more: Mapping[str, pa.Array]) -> Rows:
        return self.replaced({**self.columns, **more})

    def replaced(self, columns: Mapping[str, pa.Array]) -> Rows:
        """The same rows with other columns, which may include their own."""
        return Rows(columns, self.weights, self._hashes)

    def weighted(self, weights: Weights) -> Rows:
        return Rows(self.columns, weights, self._hashes)

    def negated(self) -> Rows:
        return Rows(self.columns, -self.weights, self._hashes)

    def hashes(self, wanted: Iterable[str] | None = None, seed: int = 0) -> Hashes:
        """The hash of each row, over some columns or all."""
        columns = [self.columns[n] for n in (self.columns if wanted is None else wanted)]
        key = seed, tuple(map(id, columns))
        if key not in self._hashes:
            self._hashes[key] = columns, hash_rows(columns, len(self), seed)
        return self._hashes[key][1]

    def fingerprints(self, wanted: Iterable[str]) -> Hashes:
        """The fingerprint of each row over some columns, which identifies it."""
        columns = [self.columns[n] for n in wanted]
        key = _FINGERPRINT, tuple(map(id, columns))
        if key not in self._hashes:
            self._hashes[key] = columns, fingerprint_rows(columns, len(self))
        return self._hashes[key][1]

    def learn_identities(self, wanted: Sequence[str]) -> None:
        """Compute hashes and fingerprints over some columns together, which costs little more than one of them."""
        hashes, fingerprints = identify_rows([self.columns[n] for n in wanted], len(self))
        self.learn(wanted, hashes)
        self.learn_fingerprints(wanted, fingerprints)

    def learn_fingerprints(self, names: Iterable[str], known: Hashes) -> None:
        """Cache the fingerprints of the rows over some columns."""
        self.learn(names, known, _FINGERPRINT)

    def without_hashes(self) -> Rows:
        """The same rows with no cache but fingerprints, for rows that are only to be stored."""
        return Rows(self.columns, self.weights, {key: known for key, known in self._hashes.items() if key[0]})

    def _knows(self, names: Iterable[str]) -> bool:
        """Whether the hashes over some columns are cached."""
        return (0, tuple(id(self.columns[n]) for n in names)) in self._hashes

    def learn(self, names: Iterable[str], hashes: Hashes, seed: int = 0) -> None:
        """Cache the hashes of the rows over some columns."""
        columns = [self.columns[n] for n in names]
        self._hashes[seed, tuple(map(id, columns))] = columns, hashes

    def _learn_all(self, known: Mapping[tuple[int, tuple[str, ...]], Hashes]) -> Rows:
        for (seed, names), hashes in known.items():
            self.learn(names, hashes, seed)
        return self

    def _by_name(self) -> dict[tuple[int, tuple[str, ...]], Hashes]:
        """The cached hashes over columns that are here, by seed and names."""
        names = {id(column): name for name, column in self.columns.items()} if self._hashes else {}
        return {
            (seed, tuple(names[i] for i in key)): hashes
            for (seed, key), (_, hashes) in self._hashes.items()
            if all(i in names for i in key)
        }

    def expanded(self) -> Rows:
        """Every row repeated by its weight, each of weight one; all weights must be positive."""
        if (self.weights == 1).all():
            return self
        at = np.repeat(np.arange(len(self)), self.weights)
        return self.take(at).weighted(np.ones(len(at), dtype=np.int64))

    def consolidate(self, sums: Sequence[str] = ()) -> Rows:
        """The netted bag: each row once, and none whose weight and sums are zero.

        `sums` names integer columns that add up as weights do, and are not part of a row's identity.
        """
        if len(self) == 0 or (len(self) == 1 and self.weights[0]):
            return self
        keys = tuple(n for n in self.columns if n not in sums)
        encoded = native.kernels is None and len(self) >= _ENCODED and not self._knows(keys)
        hashes = None if encoded else self.hashes(keys)
        first, groups = group([self.columns[n] for n in keys], len(self), hashes)
        totals = add_up(self.weights, groups, len(first))
        kept = totals != 0
        added = {name: add_up(values_of(self.columns[name], "i8"), groups, len(first)) for name in sums}
        for values in added.values():
            kept |= values != 0
        at = np.flatnonzero(kept)
        result = self.take(first[at]).weighted(totals[at])
        return result.with_columns({name: pa.array(values[at]) for name, values in added.items()}) if sums else result

    def arrow(self) -> pa.Table:
        """The columns as an Arrow table, without the weights."""
        return pa.table(self.columns)


def group(columns: Sequence[pa.Array], length: int, hashes: Hashes | None = None) -> tuple[Positions, Positions]:
    """Number the distinct rows: the position of each one's first occurrence, and each row's number."""
    if length > _MANY and len(columns) == 1 and (found := distinct_numbers(columns[0])) is not None:
        return found
    if hashes is None and native.kernels is None and columns and all(_can_encode(c.type) for c in columns):
        return _first_of(_codes(columns))
    if hashes is None:
        hashes = hash_rows(columns, length)
    first, numbers = distinct(hashes)
    if len(first) == length:
        return first, numbers
    strangers = np.flatnonzero(~same(columns, first[numbers], columns, np.arange(length)))
    while len(strangers):  # rows that share a hash with a different row are grouped among themselves
        more, own = distinct(hashes[strangers])
        numbers[strangers] = len(first) + own
        first = np.concatenate([first, strangers[more]])
        left = ~same(columns, first[numbers[strangers]], columns, strangers)
        strangers = strangers[left]
    return first, numbers


def _can_encode(kind: pa.DataType) -> bool:
    """Whether Arrow's equality of a type's values is the same as ours."""
    return any(holds(kind) for holds in (pa.types.is_string, pa.types.is_binary, pa.types.is_integer, pa.types.is_date))


def _codes(columns: Sequence[pa.Array]) -> pa.DictionaryArray:
    """Rows as dictionary codes: no hashes are computed, so none can collide."""
    codes = pc.dictionary_encode(columns[0], null_encoding="encode")
    for column in columns[1:]:
        more = pc.dictionary_encode(column, null_encoding="encode")
        paired = values_of(codes.indices, "i4").astype(np.int64) * len(more.dictionary) + values_of(more.indices, "i4")
        codes = from_numpy(paired, pa.int64()).dictionary_encode()
    return codes


def _first_of(found: pa.DictionaryArray) -> tuple[Positions, Positions]:
    """The first position of each dictionary entry, and the entry of each row."""
    codes = values_of(found.indices, "i4").astype(np.int64)
    first = np.empty(len(found.dictionary), dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first, codes


def distinct(hashes: Hashes) -> tuple[Positions, Positions]:
    """The first position of each distinct hash, and each hash's number in order of appearance."""
    if native.kernels is not None:
        return native.distinct(hashes)
    if len(hashes) < _FEW:
        return _distinct_few(hashes)
    if len(hashes) > _MANY and not _are_repeated(hashes):
        return _distinct_sorted(hashes)
    return _first_of(from_numpy(hashes, pa.uint64()).dictionary_encode())


_ENCODED = 1024  # from this many rows, dictionary codes are faster than hashes that are not needed again
_FEW = 64  # fewer hashes are compared one by one, without copying


_MANY = 1 << 16  # more hashes are sorted, unless most of them are repeated


def _are_repeated(hashes: Hashes) -> bool:
    """Whether a sample has mostly repeated hashes."""
    sample = np.sort(hashes[:: len(hashes) // 4096])
    return bool(2 * np.count_nonzero(sample[1:] != sample[:-1]) < len(sample))


def _distinct_sorted(hashes: Hashes) -> tuple[Positions, Positions]:
    order = order_of(hashes)
    is_new = np.concatenate([[True], np.diff(hashes[order]) != 0])
    if is_new.all():
        everyone = np.arange(len(hashes))
        return everyone, everyone
    first = order[is_new]
    is_first = np.zeros(len(hashes), dtype=np.int64)
    is_first[first] = 1
    number = (np.cumsum(is_first) - 1)[first]
    codes = np.empty(len(hashes), dtype=np.int64)
    codes[order] = number[np.cumsum(is_new) - 1]
    return np.sort(first), codes


def _distinct_few(hashes: Hashes) -> tuple[Positions, Positions]:
    numbers: dict[int, int] = {}
    first: list[int] = []
    codes = np.empty(len(hashes), dtype=np.int64)
    for at, value in enumerate(hashes.tolist()):
        codes[at] = number = numbers.setdefault(value, len(first))
        if number == len(first):
            first.append(at)
    return np.array(first, dtype=np.int64), codes


def add_up(values: Weights, groups: Positions, count: int) -> Weights:
    """The exact sum of the integers of each group."""
    sums = np.zeros(count, dtype=np.int64)
    np.add.at(sums, groups, values)
    return sums


def alike(left: Rows, right: Rows) -> Mask:
    """Whether rows at the same positions of two bags have the same contents, in the columns of the first."""
    result = np.ones(len(left), dtype=np.bool_)
    for name, column in left.columns.items():
        other = right.columns[name]
        if pa.types.is_floating(column.type) or pa.types.is_nested(column.type):
            result &= hash_array(column) == hash_array(other)
        elif not column.equals(other):
            valid, other_valid = valid_mask(column), valid_mask(other)
            result &= np.where(valid & other_valid, truth_of(pc.equal(column, other)), valid == other_valid)
            if not result.any():
                break
    return result


def same(left: Sequence[pa.Array], at: Positions, right: Sequence[pa.Array], to: Positions) -> Mask:
    """Whether rows at given positions have the same contents; NULL equals NULL, NaN equals NaN."""
    result = np.ones(len(at), dtype=np.bool_)
    for a, b in zip(left, right, strict=True):
        result &= _same_values(a, at, b, to)
    return result


def _same_values(a: pa.Array, at: Positions, b: pa.Array, to: Positions) -> Mask:
    if a.type != b.type:
        raise AssertionError(f"comparing {a.type} with {b.type}")
    if pa.types.is_null(a.type):
        return np.ones(len(at), dtype=np.bool_)
    if pa.types.is_nested(a.type):
        return hash_array(a)[at] == hash_array(b)[to]
    if pa.types.is_integer(a.type) or pa.types.is_temporal(a.type):
        width = f"i{a.type.bit_width // 8}"
        equal = values_of(a, width)[at] == values_of(b, width)[to]
    else:
        picked, other = a.take(from_numpy(at, pa.int64())), b.take(from_numpy(to, pa.int64()))
        if pa.types.is_floating(a.type):
            equal = hash_array(picked) == hash_array(other)
        else:
            equal = truth_of(pc.equal(picked, other))
    if a.null_count or b.null_count:
        valid, other_valid = valid_mask(a)[at], valid_mask(b)[to]
        equal = np.where(valid & other_valid, equal, valid == other_valid)
    return equal
