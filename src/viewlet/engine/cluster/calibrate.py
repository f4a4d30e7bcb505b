"""What either engine takes on this machine and this cluster, measured once and kept with the warehouse.

A job of an epoch is a stage, an exchange and a stage in Python: it is run with next to nothing, for what it takes to
begin, and with rows, for what a row takes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from viewlet.columns.rows import Rows
from viewlet.engine.choose import EngineCosts
from viewlet.engine.cluster.exchange import pack, unpack
from viewlet.engine.cluster.shares import dealt, sent
from viewlet.program.distributed import Partitioned

if TYPE_CHECKING:
    from pyspark import SparkContext

_ROWS = 1 << 18
_TIMES = 2
"""How many times what a row takes in process it takes in a job at least: it is packed, sent and unpacked besides. What
is measured may be less by chance, since jobs differ by more than these rows take."""
_SUMS = ("n",)


def measure_costs(context: SparkContext, parts: int, cores: int) -> EngineCosts:
    """The milliseconds of a row in process, of a job, and of a row of a job on one core."""
    rows = _sample(_ROWS)
    here = min(_milliseconds(lambda: rows.copied().consolidate(_SUMS)) for _ in range(2))
    few = _sample(parts)
    job = min(_milliseconds(lambda: _run(context, few, parts)) for _ in range(3))
    many = min(_milliseconds(lambda: _run(context, rows, parts)) for _ in range(2))
    return EngineCosts(
        inproc_row=here / _ROWS, job=job, spark_row=max((many - job) * cores / _ROWS, _TIMES * here / _ROWS)
    )


def _sample(count: int) -> Rows:
    """Rows of which four have a key in common."""
    numbers = np.arange(count)
    columns = {"k": pa.array(numbers * 7919 % max(count // 4, 1)), "n": pa.array(numbers)}
    return Rows(columns, np.ones(count, dtype=np.int64))


def _run(context: SparkContext, rows: Rows, parts: int) -> None:
    shares: list[tuple[int, bytes]] = [(part, b"") for part in range(parts)]
    for part, share in dealt(rows, parts):
        shares[part] = part, pack(share)
    spread: Any = context.parallelize(shares, parts).mapPartitionsWithIndex(_Send(parts))
    spread.partitionBy(parts, _itself).mapPartitionsWithIndex(_AddUp()).collect()


def _itself(part: int) -> int:
    return part


@dataclass(frozen=True)
class _Send:
    """What the first stage of an epoch does with rows: it sends them to the partition of their key."""

    parts: int

    def __call__(self, part: int, arrived: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        for _, data in arrived:
            if len(rows := unpack(data)):
                yield from ((to, pack(share)) for to, share in sent(rows, Partitioned(("k",)), self.parts))


@dataclass(frozen=True)
class _AddUp:
    """What the last one does: it nets them."""

    def __call__(self, part: int, arrived: Iterable[tuple[int, bytes]]) -> Iterator[int]:
        pieces = [unpack(data) for _, data in arrived]
        yield len(Rows.concat(pieces).consolidate(_SUMS)) if pieces else 0


def _milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e3
