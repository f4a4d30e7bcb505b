"""The speed of a machine, by which strategies are compared."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

SMALL, LARGE = 1 << 23, 1 << 27
"""Bytes of matrices that caches hold entirely, and not at all, from one pass to the next."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The speed of a machine, as measured by `measure`."""

    flops: float = 5e10
    """Floating-point operations per second in a product of large matrices."""
    bytes: float = 1e10
    """Bytes per second that entrywise functions read or write."""
    reading: float = 2e10
    """Bytes per second that a product with a vector reads of a large matrix."""
    cached: float = 6e10
    """Bytes per second that it reads of a small, cached matrix."""
    call: float = 5e-6
    """Overhead of a NumPy call in seconds."""
    statement: float = 2e-5
    """Overhead of evaluating a statement in seconds."""
    rule: float = 8e-5
    """Overhead of a delta rule and its check in seconds."""

    def passing(self, size: float, times: int = 1) -> float:
        """Seconds to read a matrix of `size` bytes for `times` consecutive products with vectors.

        The first product reads it from memory, later ones from the cache, memory, or a mix of both.
        """
        away = min(max(math.log(max(size, 1) / SMALL) / math.log(LARGE / SMALL), 0.0), 1.0)
        again = (1 - away) / max(self.cached, self.reading) + away / self.reading
        return size * (1 / self.reading + (times - 1) * again)

    @staticmethod
    def measure(size: int = 512) -> Machine:
        """Measure this machine, in a fraction of a second; memory with a matrix larger than the caches."""
        a, b, c = np.ones((size, size)), np.ones((8 * size, 8 * size)), np.ones((2 * size, 2 * size))
        product, read, moved = _best(lambda: a @ a), _best(lambda: b @ b[0]), _best(lambda: np.add(b, 1.0, out=b))
        return Machine(
            flops=2 * size**3 / product,
            bytes=2 * b.nbytes / moved,
            reading=b.nbytes / read,
            cached=c.nbytes / _best(lambda: c @ c[0]),
        )


@cache
def this_machine() -> Machine:
    """This machine, measured once in a process."""
    return Machine.measure()


def _best(work: Callable[[], object]) -> float:
    times = []
    for _ in range(5):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)
