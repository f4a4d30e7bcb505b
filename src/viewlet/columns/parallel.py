"""Work on many rows on all cores: Arrow and NumPy release Python's lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

CORES = os.cpu_count() or 1
MANY = 1 << 20
"""The number of rows from which threads pay."""


def in_parallel(work: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """The results of some work on each item, in order."""
    if CORES == 1 or len(items) < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(CORES, "viewlet-columns") as threads:
        return list(threads.map(work, items))
