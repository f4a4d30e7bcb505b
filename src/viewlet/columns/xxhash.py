"""XXH64 of columns, as Spark's `xxhash64` computes it: value by value, each with its own seed.

Integers of up to 32 bits are hashed as four bytes and longer ones as eight; texts by their bytes, 32 at a time, then
eight, four and one. All arithmetic is modulo 2⁶⁴.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Positions, data_bytes, offsets_of

Words = np.ndarray[Any, np.dtype[np.uint64]]

_P1, _P2, _P3 = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9)
_P4, _P5 = np.uint64(0x85EBCA77C2B2AE63), np.uint64(0x27D4EB2F165667C5)
_STRIPE = 32


def hash_ints(values: np.ndarray[Any, np.dtype[np.int32]], seeds: Words) -> Words:
    hashes = seeds + _P5 + np.uint64(4)
    return _finished(_four(hashes, values.view(np.uint32).astype(np.uint64)))


def hash_longs(values: np.ndarray[Any, np.dtype[np.int64]], seeds: Words) -> Words:
    hashes = seeds + _P5 + np.uint64(8)
    return _finished(_eight(hashes, values.view(np.uint64)))


def hash_bytes(array: pa.Array, seeds: Words) -> Words:
    """The hash of each text; that of an empty text for NULL."""
    offsets = offsets_of(array)
    lengths, base, end = np.diff(offsets), int(offsets[0]), int(offsets[-1])
    data = data_bytes(array, base, end) if end > base else np.zeros(8, dtype=np.uint8)
    words = np.ndarray(shape=(end - base + 1,), dtype="<u8", buffer=data, strides=(1,))
    at = offsets[:-1] - base
    hashes = seeds + _P5
    long = np.flatnonzero(lengths >= _STRIPE)
    if len(long):
        hashes[long] = _stripes(words, at[long], lengths[long], seeds[long])
    hashes += lengths.astype(np.uint64)
    _rest(hashes, words, at + lengths // _STRIPE * _STRIPE, lengths % _STRIPE)
    return _finished(hashes)


def _stripes(words: Words, at: Positions, lengths: Positions, seeds: Words) -> Words:
    """The hash of the whole stripes of texts: four lanes of eight bytes each, merged."""
    lanes = [seeds + _P1 + _P2, seeds + _P2, seeds.copy(), seeds - _P1]
    for number in range(int(lengths.max()) // _STRIPE):
        some = np.flatnonzero(lengths >= (number + 1) * _STRIPE)
        for i, lane in enumerate(lanes):
            word = words[at[some] + number * _STRIPE + 8 * i]
            lane[some] = _turned(lane[some] + word * _P2, 31) * _P1
    merged = sum((_turned(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)), np.zeros_like(seeds))
    for lane in lanes:
        merged = (merged ^ _mixed(lane)) * _P1 + _P4
    return merged


def _rest(hashes: Words, words: Words, at: Positions, left: Positions) -> None:
    """Mix the last bytes of each text, fewer than a stripe, into its hash."""
    for step, work, mask in ((8, _eight, 2**64 - 1), (4, _four, 2**32 - 1), (1, _one, 255)):
        some = np.flatnonzero(left >= step)
        while len(some):
            hashes[some] = work(hashes[some], words[at[some]] & np.uint64(mask))
            at[some] += step
            left[some] -= step
            some = some[left[some] >= step]


def _eight(hashes: Words, words: Words) -> Words:
    return _turned(hashes ^ _mixed(words), 27) * _P1 + _P4


def _four(hashes: Words, words: Words) -> Words:
    return _turned(hashes ^ (words * _P1), 23) * _P2 + _P3


def _one(hashes: Words, words: Words) -> Words:
    return _turned(hashes ^ (words * _P5), 11) * _P1


def _mixed(words: Words) -> Words:
    return _turned(words * _P2, 31) * _P1


def _turned(words: Words, by: int) -> Words:
    """Each word rotated left."""
    return words << np.uint64(by) | words >> np.uint64(64 - by)


def _finished(hashes: Words) -> Words:
    """The final mix, which diffuses every bit over all 64."""
    hashes = (hashes ^ hashes >> np.uint64(33)) * _P2
    hashes = (hashes ^ hashes >> np.uint64(29)) * _P3
    return hashes ^ hashes >> np.uint64(32)
