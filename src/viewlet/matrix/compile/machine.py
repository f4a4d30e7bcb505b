"""Machines: how fast one multiplies, reads and starts work; this decides between strategies."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

SMALL, LARGE = 1 << 23, 1 << 27
"""Bytes of a matrix that caches hold from one pass over it to the next, and of one of which they hold nothing."""


@dataclass(frozen=True, slots=True)
class Machine:
    """How fast a machine is; `measure` finds out."""

    flops: float = 5e10
    """Multiplications and additions in a second, in a product of large matrices."""
    bytes: float = 1e10
    """Bytes that functions of entries read or write in a second."""
    reading: float = 2e10
    """Bytes of a large matrix that a product with a vector reads in a second."""
    cached: float = 6e10
    """Bytes of a small matrix that it reads, if it has just read them."""
    call: float = 5e-6
    """Seconds for calling NumPy at all."""
    statement: float = 2e-5
    """Seconds for evaluating a statement at all."""
    rule: float = 8e-5
    """Seconds for a delta rule at all, with its check."""

    def passing(self, size: float, times: int = 1) -> float:
        """Seconds in which products with vectors read a matrix of so many bytes, some times in a row.

        The first one reads it from memory, others from where it stayed: the cache, memory, or partly either.
        """
        away = min(max(math.log(max(size, 1) / SMALL) / math.log(LARGE / SMALL), 0.0), 1.0)
        again = (1 - away) / max(self.cached, self.reading) + away / self.reading
        return size * (1 / self.reading + (times - 1) * again)

    @staticmethod
    def measure(size: int = 512) -> Machine:
        """This machine's, in a fraction of a second; memory by a matrix that is larger than caches."""
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
    """Measured once in a process."""
    return Machine.measure()


def _best(work: Callable[[], object]) -> float:
    times = []
    for _ in range(5):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)
