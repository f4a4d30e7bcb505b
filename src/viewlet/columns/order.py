"""Order as Spark sorts: integer keys, most significant first, that compare as the values do.

NaN is the greatest number and −0.0 equals 0.0; strings and binary compare bytewise; structs and arrays compare element
by element, with NULL least and a prefix before longer values. Descending order is the complement of every key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from viewlet.columns.arrays import Positions, data_bytes, offsets_of, truth_of, valid_mask, values_of
from viewlet.columns.floats import canonical, with_one_nan
from viewlet.columns.rows import Rows
from viewlet.plan.types import ATOMIC, Type

Key = np.ndarray[Any, Any]

_SHORT = 18  # digits of a decimal that fit into 64 bits
_SIGN = np.uint64(1 << 63)
_BEGINNING = 16  # bytes of a string that determine its place


def why_not_order(kind: Type) -> str | None:
    """Why values of a type cannot be compared here; None if they can."""
    match kind.name:
        case "array":
            return why_not_order(kind.args[0])
        case "struct":
            return next((why for _, part in kind.args if (why := why_not_order(part))), None)
        case name if name == "decimal" or (name in ATOMIC and name != "variant"):
            return None
    return f"values of type {kind} are compared by Spark alone"


def ascending(array: pa.Array, *, zeros_differ: bool = False) -> list[Key]:
    """The keys of each value, NULL least; with `zeros_differ`, −0.0 precedes 0.0, and equal keys mean equal values."""
    keys = _value_keys(array, zeros_differ)
    if not array.null_count:
        return keys
    valid = valid_mask(array)
    return [valid.view(np.uint8), *(np.where(valid, key, key.dtype.type(0)) for key in keys)]


def term_keys(array: pa.Array, descending: bool, nulls_first: bool) -> list[Key]:
    """The keys of one term of an ORDER BY."""
    keys = ascending(array)
    if array.null_count:
        keys, valid = keys[1:], keys[0]
        place = [valid if nulls_first else valid ^ 1]
    else:
        place = []
    return place + ([~key for key in keys] if descending else keys)


def sort(keys: Sequence[Key], length: int) -> Positions:
    """The positions of the rows in the order of their keys."""
    if not keys:
        return np.arange(length)
    return np.lexsort(tuple(reversed(keys)))


def sort_total(keys: Sequence[Key], rows: Rows) -> Positions:
    """The same, with ties in an order that depends only on the rows' contents."""
    at = sort(keys, len(rows))
    if len(rows) < 2 or changes(keys, at)[1:].all():
        return at
    return np.lexsort((rows.hashes(), *reversed(keys)))


def changes(keys: Sequence[Key], at: Positions) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """For rows in order, where the keys differ from those of the row before; true for the first row."""
    result = np.zeros(len(at), dtype=np.bool_)
    result[:1] = True
    for key in keys:
        ordered = key[at]
        result[1:] |= ordered[1:] != ordered[:-1]
    return result


def _value_keys(array: pa.Array, zeros_differ: bool) -> list[Key]:
    kind = array.type
    if pa.types.is_boolean(kind):
        return [truth_of(pc.fill_null(array, False)).view(np.uint8)]
    if pa.types.is_integer(kind) or pa.types.is_temporal(kind):
        return [values_of(array, f"i{kind.bit_width // 8}")]
    if pa.types.is_floating(kind):
        return [_float_key(values_of(array, f"f{kind.bit_width // 8}"), zeros_differ)]
    if pa.types.is_decimal128(kind):
        return _decimal_keys(array)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return [pc.rank(array, tiebreaker="dense").to_numpy(zero_copy_only=False)]
    if pa.types.is_struct(kind):
        parts = [pc.struct_field(array, [i]) for i in range(kind.num_fields)]
        return [key for part in parts for key in ascending(part, zeros_differ=zeros_differ)]
    if pa.types.is_list(kind):
        return [_list_key(array, zeros_differ)]
    assert pa.types.is_null(kind), f"no order for {kind}"
    return []


def _float_key(values: Key, zeros_differ: bool) -> Key:
    """IEEE bits as an integer that sorts: negative numbers have their lower bits inverted."""
    plain = with_one_nan(values) if zeros_differ else canonical(values)
    bits = plain.view(f"i{values.dtype.itemsize}")
    low = np.array(np.iinfo(bits.dtype).max, dtype=bits.dtype)
    return bits ^ ((bits >> (8 * values.dtype.itemsize - 1)) & low)


def _decimal_keys(array: pa.Array) -> list[Key]:
    raw = array.buffers()[1]
    if raw is None:
        return [np.zeros(len(array), dtype=np.int64)]
    words = np.frombuffer(raw, dtype=np.int64, count=2 * (array.offset + len(array)))[2 * array.offset :].reshape(-1, 2)
    low, high = words[:, 0], words[:, 1]
    if (high == low >> 63).all():
        return [low]
    return [high, low.view(np.uint64) if low.flags.c_contiguous else low.copy().view(np.uint64)]


def _list_key(array: pa.Array, zeros_differ: bool) -> Key:
    """The rank of each list, from the ranks of all elements."""
    elements = array.flatten()
    ranks = dense_ranks(ascending(elements, zeros_differ=zeros_differ), len(elements)).tolist()
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    ends = np.cumsum(lengths)
    lists = [tuple(ranks[end - size : end]) for end, size in zip(ends.tolist(), lengths.tolist(), strict=True)]
    places = {value: place for place, value in enumerate(sorted(set(lists)))}
    return np.array([places[value] for value in lists], dtype=np.int64)


def dense_ranks(keys: Sequence[Key], length: int) -> Positions:
    """The dense rank of each row by its keys."""
    at = sort(keys, length)
    ranks = np.zeros(length, dtype=np.int64)
    ranks[at] = np.cumsum(changes(keys, at)) - 1
    return ranks


def place_of(array: pa.Array) -> Key:
    """One key per value such that lesser values never have greater keys; arbitrary where NULL.

    Numbers, dates and times have distinct keys. Strings with a common beginning, and structs with equal first fields,
    may share one, so callers must handle ties.
    """
    kind = array.type
    if pa.types.is_decimal128(kind):
        return _decimal_place(array)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _beginnings(array)
    if pa.types.is_struct(kind):
        first = pc.struct_field(array, [0])
        place = place_of(first)
        least = b"" if place.dtype.kind == "S" else np.iinfo(place.dtype).min
        return np.where(valid_mask(first), place, np.array(least, dtype=place.dtype)) if first.null_count else place
    (key,) = _value_keys(array, zeros_differ=False)
    return key


def _decimal_place(array: pa.Array) -> Key:
    """Short decimals as integers; long ones as 16 bytes, most significant first."""
    words = values_of(array, "V16").view("u8").reshape(-1, 2)
    if array.type.precision <= _SHORT:
        return words[:, 0].astype(np.int64)
    digits = np.empty((len(array), 2), dtype=">u8")
    digits[:, 0] = words[:, 1] ^ _SIGN
    digits[:, 1] = words[:, 0]
    return digits.view("S16").reshape(-1)


def _beginnings(array: pa.Array) -> Key:
    """The first bytes of each string."""
    offsets = offsets_of(array)
    data = data_bytes(array, int(offsets[0]), int(offsets[-1]), room=_BEGINNING)
    bytes_of = np.lib.stride_tricks.sliding_window_view(data, _BEGINNING)[offsets[:-1] - offsets[0]]
    bytes_of[np.arange(_BEGINNING) >= np.diff(offsets)[:, None]] = 0
    return np.ascontiguousarray(bytes_of).view(f"S{_BEGINNING}").reshape(-1)
