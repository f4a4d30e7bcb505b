"""A 64-bit hash of rows, the same in every process and on every machine, because it is stored.

Values that Spark does not distinguish as a row's contents hash alike: NULL has a hash of its own, all NaN are one. 0.0
and −0.0 are different contents (Spark prints them differently); if an operator compares keys, the plan normalizes them
first, as Spark's does. The order of a map's entries counts, as it does when Spark prints them and in `map_keys`.
Everything is vectorized; strings are hashed eight bytes at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from viewlet.columns import native
from viewlet.columns.arrays import Mask, Positions, data_bytes, offsets_of, truth_of, valid_mask
from viewlet.columns.parallel import MANY, in_parallel

Hashes = np.ndarray[Any, np.dtype[np.uint64]]

_PRIME = np.uint64(0x9E3779B97F4A7C15)
_MIX1, _MIX2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_NULL = np.uint64(0x5BD1E9955BD1E995)
_SHIFT, _ROTATE = np.uint64(33), np.uint64(29)
_UNROTATE = np.uint64(64) - _ROTATE
_FIRST = np.array([(1 << (8 * i)) - 1 for i in range(9)], dtype=np.uint64)
"""Masks for the first bytes of a word."""
_NAN = {np.dtype(np.float32): np.uint64(0x7FC00000), np.dtype(np.float64): np.uint64(0x7FF8000000000000)}


def hash_rows(columns: Sequence[pa.Array], length: int, seed: int = 0) -> Hashes:
    """The hash of each row of some columns; of no columns, the hash of nothing."""
    return _in_blocks(_hash_block, columns, length, seed)


def fingerprint_rows(columns: Sequence[pa.Array], length: int) -> Hashes:
    """A second hash of each row, to identify whole rows; for many columns it takes half the time."""
    return _in_blocks(_fingerprint_block, columns, length, 0)


def identify_rows(columns: Sequence[pa.Array], length: int) -> tuple[Hashes, Hashes]:
    """The hash and the fingerprint of each row; each value is hashed once."""
    hashes, fingerprints = _in_blocks(_identify_block, columns, length, 0, results=2)
    return hashes, fingerprints


_Hash = Callable[[Sequence[pa.Array], int, int], Hashes]


def _in_blocks(hash_block: _Hash, columns: Sequence[pa.Array], length: int, seed: int, results: int = 0) -> Hashes:
    """The result of a function for each row, one number or `results` numbers, computed in blocks of rows."""
    if length <= _BLOCK or any(pa.types.is_nested(column.type) for column in columns):
        return hash_block(columns, length, seed)
    result = np.empty((results, length) if results else length, dtype=np.uint64)

    def hash_blocks(start: int) -> None:
        for at in range(start, min(start + MANY, length), _BLOCK):
            count = min(_BLOCK, length - at)
            result[..., at : at + count] = hash_block([column.slice(at, count) for column in columns], count, seed)

    in_parallel(hash_blocks, range(0, length, MANY))
    return result


_BLOCK = 1 << 15  # rows hashed together: few enough for the caches


def _hash_block(columns: Sequence[pa.Array], length: int, seed: int) -> Hashes:
    return _chained(_hash_columns(columns, length, seed), length, seed)


def _fingerprint_block(columns: Sequence[pa.Array], length: int, seed: int) -> Hashes:
    return _added_up(_hash_columns(columns, length, seed), length, seed)


def _identify_block(columns: Sequence[pa.Array], length: int, seed: int) -> Hashes:
    known = list(_hash_columns(columns, length, seed))
    return np.stack([_chained(known, length, seed), _added_up(known, length, seed)])


def _chained(columns: Iterable[Hashes], length: int, seed: int) -> Hashes:
    """The hashes of a row's columns, mixed one after the other."""
    result = np.full(length, np.uint64(seed) ^ _PRIME, dtype=np.uint64)
    for hashes in columns:
        if native.kernels is not None:
            native.kernels.fold(result, hashes)
            continue
        turned = result << _ROTATE
        turned |= result >> _UNROTATE
        turned *= _PRIME
        turned ^= hashes
        result = mix(turned)
    return result


def _added_up(columns: Iterable[Hashes], length: int, seed: int) -> Hashes:
    """The sum of column hashes, each times an odd number for its place: rows that differ in one value differ."""
    result = np.full(length, np.uint64(seed) ^ _PRIME, dtype=np.uint64)
    for place, hashes in enumerate(columns):
        if native.kernels is None:
            result += hashes * _factor(place)
        else:
            native.kernels.add_times(result, hashes, int(_factor(place)))
    return mix(result)


@lru_cache(maxsize=4096)
def _factor(place: int) -> np.uint64:
    """The odd number of a place."""
    return np.uint64(pow(int(_PRIME), 2 * place + 1, 1 << 64))


def _hash_columns(columns: Sequence[pa.Array], length: int, seed: int) -> Iterable[Hashes]:
    """The hashes of each column's values."""
    if length < _FEW and native.kernels is None:
        return _hash_arrays(columns, seed)
    return (hash_array(column, seed) for column in columns)


def _hash_arrays(arrays: Sequence[pa.Array], seed: int) -> list[Hashes]:
    """The hashes of short arrays of one length: arrays of similar types together, since every step has a fixed cost."""
    if len(arrays) < 2:
        return [hash_array(array, seed) for array in arrays]
    found: dict[int, Hashes] = {}
    numbers = [i for i, array in enumerate(arrays) if _is_number(array.type)]
    if numbers:
        bits = np.stack([_bits(arrays[i], seed) for i in numbers])
        found |= zip(numbers, mix(bits + _salt(seed) if seed else bits), strict=True)
    texts = [i for i, array in enumerate(arrays) if _is_bytes(array.type)]
    if texts:
        found |= zip(texts, _hash_texts([arrays[i] for i in texts], seed), strict=True)
    return [_null_apart(array, found[i]) if i in found else hash_array(array, seed) for i, array in enumerate(arrays)]


def _is_number(kind: pa.DataType) -> bool:
    return not (_is_bytes(kind) or pa.types.is_nested(kind) or pa.types.is_null(kind))


def order_of(hashes: Hashes) -> Positions:
    """The stable order that sorts hashes.

    NumPy sorts 16-bit numbers by counting, much faster than it compares longer ones. The first 32 bits nearly always
    determine the order of two hashes; those that they do not are sorted again.
    """
    if native.kernels is not None and len(hashes) <= MANY:
        return native.order_of(hashes)
    if len(hashes) < _FEW:
        return np.argsort(hashes, kind="stable")
    order = _order_by_range(hashes) if len(hashes) > MANY else _order_by_first_half(hashes)
    ordered = hashes[order]
    untold = np.flatnonzero(ordered[1:] < ordered[:-1])
    return _sorted_again(hashes, order, ordered & _FIRST_HALF, untold) if len(untold) else order


_FIRST_HALF = np.uint64(0xFFFFFFFF00000000)


def _order_by_first_half(hashes: Hashes) -> Positions:
    """The order by the second 16 bits, then stably by the first."""
    order = np.argsort((hashes >> np.uint64(32)).astype(np.uint16), kind="stable")
    return order.take(np.argsort((hashes >> np.uint64(48)).astype(np.uint16).take(order), kind="stable"))


def _order_by_range(hashes: Hashes) -> Positions:
    """The same, range by range of the first 8 bits: each range fits the caches, and all cores share the work."""
    first = (hashes >> np.uint64(56)).astype(np.uint8)
    order = np.argsort(first, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(first, minlength=_RANGES))])

    def order_ranges(begin: int) -> None:
        for start, stop in pairwise(ends[begin : begin + _SHARE + 1]):
            at = order[start:stop]
            at[:] = at.take(_order_by_first_half(hashes.take(at)))

    in_parallel(order_ranges, range(0, _RANGES, _SHARE))
    return order


_RANGES, _SHARE = 256, 32  # ranges of the first byte; how many one thread orders at a time


def _sorted_again(hashes: Hashes, order: Positions, beginnings: Hashes, untold: Positions) -> Positions:
    """An order by the first halves of hashes, refined to one by whole hashes."""
    first = different(beginnings[untold])
    start, stop = beginnings.searchsorted(first), beginnings.searchsorted(first, "right")
    at = np.repeat(stop - np.cumsum(stop - start), stop - start) + np.arange((stop - start).sum())
    some = order[at]
    order[at] = some[np.argsort(hashes[some], kind="stable")]
    return order


_FEW = 2_000  # for fewer hashes a plain sort is as fast


def different(hashes: Hashes) -> Hashes:
    """The distinct hashes, ascending; for many hashes much faster than `np.unique`."""
    ordered = np.sort(hashes)
    if len(ordered) < 2 or (is_new := ordered[1:] != ordered[:-1]).all():
        return ordered
    return ordered[np.concatenate([[True], is_new])]


def is_among(hashes: Hashes, ordered: Hashes) -> Mask:
    """Which hashes are among sorted distinct ones."""
    at = np.minimum(ordered.searchsorted(hashes), len(ordered) - 1)
    return np.asarray(ordered[at] == hashes)


def mix(x: Hashes) -> Hashes:
    """Diffuse every bit of each number over all 64."""
    if native.kernels is not None and x.ndim == 1:
        return native.mix(x)
    mixed = x >> _SHIFT
    mixed ^= x
    mixed *= _MIX1
    high = mixed >> _SHIFT
    mixed ^= high
    mixed *= _MIX2
    np.right_shift(mixed, _SHIFT, out=high)
    mixed ^= high
    return mixed


def hash_array(array: pa.Array, seed: int = 0) -> Hashes:
    """The hash of each value of an array; different seeds give independent hashes."""
    kind = array.type
    if native.kernels is not None and (way := _compiled(kind)) is not None:
        hashes = way(array, seed)
    elif pa.types.is_struct(kind):
        hashes = hash_rows([pc.struct_field(array, [i]) for i in range(kind.num_fields)], len(array), seed)
    elif pa.types.is_map(kind):
        hashes = _hash_lists(array, hash_rows([array.keys, array.items], len(array.keys), seed))
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        hashes = _hash_lists(array, hash_array(array.values, seed))
    elif pa.types.is_null(kind):
        return np.full(len(array), _NULL, dtype=np.uint64)
    elif _is_bytes(kind):
        hashes = _hash_bytes(array, seed)
    else:
        hashes = mix(_bits(array, seed) + _salt(seed) if seed else _bits(array, seed))
    return _null_apart(array, hashes)


@lru_cache(maxsize=1024)
def _compiled(kind: pa.DataType) -> Callable[[pa.Array, int], Hashes] | None:
    """The native function that hashes values of a type with a seed, if there is one."""
    if _is_bytes(kind):
        return lambda array, seed: native.hash_texts(array, int(_salt(seed + 1)))
    if _is_number(kind) and not pa.types.is_boolean(kind):
        return lambda array, seed: native.hash_numbers(array, int(_salt(seed)))
    return None


def _null_apart(array: pa.Array, hashes: Hashes) -> Hashes:
    """The hashes of values, with that of NULL for missing ones."""
    return np.where(valid_mask(array), hashes, _NULL) if array.null_count else hashes


@lru_cache(maxsize=16)
def _salt(seed: int) -> np.uint64:
    """A number that makes the hashes of a seed independent of others."""
    return np.uint64(seed * int(_PRIME) & 0xFFFFFFFFFFFFFFFF)


def _is_bytes(kind: pa.DataType) -> bool:
    return kind.id in _BYTES


_BYTES = frozenset(kind.id for kind in (pa.string(), pa.binary(), pa.large_string(), pa.large_binary()))


def _bits(array: pa.Array, seed: int) -> Hashes:
    """The bits of fixed-width values as unsigned 64-bit numbers; wider values are folded, using the seed."""
    kind = array.type
    if pa.types.is_boolean(kind):
        return truth_of(array).astype(np.uint64)
    width = kind.bit_width // 8
    raw = array.buffers()[1]
    if raw is None:
        return np.zeros(len(array), dtype=np.uint64)
    if width == 16:
        words = np.frombuffer(raw, dtype=np.uint64, count=2 * (array.offset + len(array)))[2 * array.offset :].reshape(
            -1, 2
        )
        low, high = words[:, 0], words[:, 1]
        is_short = high == (low.view(np.int64) >> 63).view(np.uint64)
        return low if is_short.all() else np.where(is_short, low, mix(high ^ _salt(seed)) + low)
    if pa.types.is_floating(kind):
        values = np.frombuffer(raw, dtype=f"f{width}", count=array.offset + len(array))[array.offset :]
        bits = values.view(f"u{width}").astype(np.uint64)
        nan = np.isnan(values)
        return np.where(nan, _NAN[values.dtype], bits) if nan.any() else bits
    values = np.frombuffer(raw, dtype=f"i{width}", count=array.offset + len(array))[array.offset :]
    return values.astype(np.int64, copy=False).view(np.uint64)


def _hash_bytes(array: pa.Array, seed: int) -> Hashes:
    """The hash of each string: its length plus its eight-byte words, each mixed with its place."""
    offsets = offsets_of(array)
    starts, lengths = offsets[:-1], np.diff(offsets)
    if array.null_count:
        lengths = np.where(valid_mask(array), lengths, 0)
    result = lengths.astype(np.uint64) + _salt(seed + 1)
    if lengths.any():
        base, end = int(offsets[0]), int(offsets[-1])
        data = data_bytes(array, base, end)
        words = np.ndarray(shape=(end - base + 1,), dtype="<u8", buffer=data, strides=(1,))
        add = _add_at_once if len(array) < _FEW else _add_by_place
        add(result, words, starts - base, lengths)
    return mix(result)


def _hash_texts(arrays: Sequence[pa.Array], seed: int) -> Hashes:
    """The same for several arrays with few strings, with one row of hashes each."""
    places = [offsets_of(array) for array in arrays]
    lengths = np.concatenate([np.diff(offsets) for offsets in places])
    if any(array.null_count for array in arrays):
        lengths = np.where(np.concatenate([valid_mask(array) for array in arrays]), lengths, 0)
    result = lengths.astype(np.uint64) + _salt(seed + 1)
    if lengths.any():
        parts = [data_bytes(array, int(at[0]), int(at[-1])) for array, at in zip(arrays, places, strict=True)]
        begins = np.cumsum([0, *map(len, parts)])
        data = np.concatenate(parts)
        words = np.ndarray(shape=(len(data) - 7,), dtype="<u8", buffer=data, strides=(1,))
        starts = [at[:-1] + (begin - at[0]) for at, begin in zip(places, begins[:-1], strict=True)]
        _add_at_once(result, words, np.concatenate(starts), lengths)
    return mix(result).reshape(len(arrays), -1)


def _add_at_once(result: Hashes, words: Hashes, starts: Positions, lengths: Positions) -> None:
    """Add the words of each string to its hash, all words at once, which is fast for a few strings."""
    counts = (lengths + 7) >> 3
    ends = np.cumsum(counts)
    firsts = ends - counts
    place = np.arange(ends[-1]) - np.repeat(firsts, counts)
    taken = words.take(np.repeat(starts, counts) + (place << 3))
    some: Any = slice(None) if counts.all() else np.flatnonzero(counts)
    taken[ends[some] - 1] &= _FIRST[((lengths[some] - 1) & 7) + 1]
    taken += (place + 1).view(np.uint64) * _PRIME
    result[some] += np.add.reduceat(mix(taken), firsts[some])


def _add_by_place(result: Hashes, words: Hashes, starts: Positions, lengths: Positions) -> None:
    """The same for many strings: all first words, then all second ones, and so on."""
    rows: Any = slice(None) if lengths.all() else np.flatnonzero(lengths)
    at, left, salt = starts[rows], lengths[rows], _PRIME
    while len(at):
        taken = words[at] & _FIRST[np.minimum(left, 8)]
        result[rows] += mix(taken + salt)
        longer = left > 8
        if not longer.all():
            rows = np.flatnonzero(longer) if isinstance(rows, slice) else rows[longer]
            at, left = at[longer], left[longer]
        at, left, salt = at + 8, left - 8, _salt_after(salt)


def _salt_after(salt: np.uint64) -> np.uint64:
    """The salt of the next place."""
    return np.uint64((int(salt) + int(_PRIME)) & 0xFFFFFFFFFFFFFFFF)


def _hash_lists(array: pa.Array, elements: Hashes) -> Hashes:
    """The hash of each list or map, from the hashes of its elements or entries (of the whole child array)."""
    offsets = offsets_of(array)
    starts, lengths = offsets[:-1], np.diff(offsets)
    if array.null_count:
        lengths = np.where(valid_mask(array), lengths, 0)
    owner = np.repeat(np.arange(len(array)), lengths)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    terms = mix(elements[np.repeat(starts, lengths) + within] + within.astype(np.uint64) * _PRIME)
    sums = np.zeros(len(array), dtype=np.uint64)
    np.add.at(sums, owner, terms)
    return mix(sums + lengths.astype(np.uint64) * _PRIME)
