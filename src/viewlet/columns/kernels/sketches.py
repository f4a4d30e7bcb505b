"""Hashes and estimates: the parts of approx_count_distinct, which Spark computes by HyperLogLog++.

The first p bits of a value's hash select its register; the position of the first 1 among the others is its rank. A
register keeps the greatest rank of its values, here as the least share 2⁻ʳᵃⁿᵏ. The estimate is a function of the sum of
the shares and of the number of registers in use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.floats import canonical
from viewlet.columns.kernels.kernel import Argument, Kernel, Rule, strict
from viewlet.columns.kernels.vectors import Evaluate, Values, Vector, spread
from viewlet.columns.rows import Rows
from viewlet.columns.xxhash import Words, hash_bytes, hash_ints, hash_longs
from viewlet.plan.expr import Call, Literal
from viewlet.plan.types import Type

Doubles = np.ndarray[Any, np.dtype[np.float64]]
Places = np.ndarray[Any, np.dtype[np.int64]]
_SEED = np.uint64(42)


def _xxhash64(call: Call) -> Kernel | None:
    hashers = [_hasher(arg.type) for arg in call.args]
    known = [h for h in hashers if h is not None]
    return Kernel(lambda parts: _hash(parts, known)) if known and len(known) == len(hashers) else None


def _hash(parts: tuple[Argument, ...], hashers: list[Callable[[Values, Words], Words]]) -> Evaluate:
    """The hash of each row: the hash of a column is the seed of the next, and NULL passes it on."""

    def evaluate(rows: Rows) -> Vector:
        hashes = np.full(len(rows), _SEED)
        for part, hasher in zip(parts, hashers, strict=True):
            values, valid = part.run(rows)
            found = hasher(values if isinstance(values, pa.Array) else spread(values, len(rows)), hashes)
            hashes = found if valid is None else np.where(valid, found, hashes)
        return hashes.view(np.int64), None

    return evaluate


def _hasher(kind: Type) -> Callable[[Values, Words], Words] | None:
    """The hash function for a type; None if only Spark has it."""
    match kind.name:
        case "boolean" | "tinyint" | "smallint" | "int" | "date":
            return lambda values, seeds: hash_ints(values.astype(np.int32), seeds)
        case "bigint" | "timestamp" | "timestamp_ntz":
            return lambda values, seeds: hash_longs(np.ascontiguousarray(values), seeds)
        case "float":
            return lambda values, seeds: hash_ints(canonical(values).view(np.int32), seeds)
        case "double":
            return lambda values, seeds: hash_longs(canonical(values).view(np.int64), seeds)
        case "decimal":
            return _hash_short_decimals if kind.args[0] <= 18 else _hash_long_decimals
        case "string" | "binary":
            return hash_bytes
    return None


def _hash_short_decimals(values: Values, seeds: Words) -> Words:
    return hash_longs(np.ascontiguousarray(values), seeds)


def _hash_long_decimals(values: Values, seeds: Words) -> Words:
    """Hash the bytes of the unscaled integer, most significant first, as few as it needs."""
    numbers = [int(v) for v in values]
    sizes = [(n if n >= 0 else ~n).bit_length() // 8 + 1 for n in numbers]
    texts = [n.to_bytes(size, "big", signed=True) for n, size in zip(numbers, sizes, strict=True)]
    return hash_bytes(pa.array(texts, type=pa.binary()), seeds)


def _hll_share(call: Call) -> Kernel | None:
    bits = call.args[1]
    if call.args[0].type.name != "bigint" or not isinstance(bits, Literal):
        return None
    return Kernel(lambda parts: strict(lambda hashes: shares(hashes, bits.value)).build(parts[:1]))


def shares(hashes: Places, bits: int) -> Doubles:
    """2⁻ʳᵃⁿᵏ of each hash, where the rank is the position of the first 1 after the register's bits."""
    rest = np.ascontiguousarray(hashes).view(np.uint64) << np.uint64(bits) | np.uint64(1 << (bits - 1))
    high, low = (rest >> np.uint64(32)).astype(np.float64), (rest & np.uint64(2**32 - 1)).astype(np.float64)
    length = np.where(high > 0, np.frexp(high)[1] + 32, np.frexp(low)[1])
    return np.ldexp(1.0, length - 65)


def _hll_estimate(call: Call) -> Kernel | None:
    constants = call.args[2]
    if not isinstance(constants, Literal):
        return None
    estimate = Estimate(constants.value)
    return Kernel(lambda parts: strict(estimate).build(parts[:2]))


class Estimate:
    """The number of distinct values, estimated from the shares of the registers.

    The constants are Spark's own, as doubles: the bits that select a register, the number of neighbours that give a
    bias, the count up to which linear counting is used, then the raw estimates and their biases, equally many.
    """

    def __init__(self, constants: bytes) -> None:
        (bits, near, self.threshold), tables = np.split(np.frombuffer(constants, dtype="<f8"), [3])
        self.raw, self.biases = np.split(tables, 2)
        self.bits, self.near, self.registers = int(bits), int(near), 1 << int(bits)

    def __call__(self, total: Doubles, used: Places) -> Places:
        count = float(self.registers)
        empty = count - used
        estimate = self._scale() / (total + empty)
        linear = count * np.log(count / np.maximum(empty, 1.0))
        few = (empty > 0) & ((linear <= self.threshold) | (estimate <= 2.5 * count))
        return np.floor(np.where(few, linear, self._corrected(estimate)) + 0.5).astype(np.int64)

    def _scale(self) -> float:
        """α·m², with the α of the HyperLogLog paper (Flajolet et al., 2007)."""
        count = float(self.registers)
        alpha = {4: 0.673, 5: 0.697, 6: 0.709}.get(self.bits, 0.7213 / (1.0 + 1.079 / count))
        return alpha * count * count

    def _corrected(self, estimate: Doubles) -> Doubles:
        """The estimate minus the mean bias of the nearest raw estimates, within their range."""
        if not len(self.raw):
            return estimate
        low = self._nearest(estimate)
        bias = np.zeros(len(estimate))
        for i in range(self.near):
            bias += self.biases[low + i]
        return np.where(estimate < 5.0 * self.registers, estimate - bias / self.near, estimate)

    def _nearest(self, estimate: Doubles) -> Places:
        """The first neighbour of each estimate: moved up as long as the next candidate is nearer."""
        low = np.minimum(np.maximum(self._search(estimate) - self.near + 1, 0), len(self.raw) - self.near)
        last = len(self.raw) - self.near
        while True:
            above = np.minimum(low + self.near, len(self.raw) - 1)
            nearer = (estimate - self.raw[above]) ** 2 < (estimate - self.raw[low]) ** 2
            moved = np.where((low < last) & nearer, low + 1, low)
            if (moved == low).all():
                return low
            low = moved

    def _search(self, estimate: Doubles) -> Places:
        """A binary search, step for step as Spark's, since a few raw estimates are out of order."""
        low, high = np.zeros(len(estimate), dtype=np.int64), np.full(len(estimate), len(self.raw) - 1)
        while (open_ := low <= high).any():
            middle = (low + high) >> 1
            value = self.raw[np.minimum(middle, len(self.raw) - 1)]
            hit = open_ & (value == estimate)
            up, down = open_ & (value < estimate), open_ & (value > estimate)
            low = np.where(up, middle + 1, np.where(hit, middle, low))
            high = np.where(down, middle - 1, np.where(hit, middle - 1, high))
        return low


RULES: dict[str, Rule] = {"xxhash64": _xxhash64, "hll_share": _hll_share, "hll_estimate": _hll_estimate}
