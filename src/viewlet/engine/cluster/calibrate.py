"""The costs of both engines on this machine and cluster, measured once and stored with the warehouse.

An epoch's job is a stage, an exchange and a stage, in Python. It is run almost empty, for the cost of a job, and with
rows, for the cost of a row.
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
from viewlet.engine.cluster.exchange import by_number, pack, unpack
from viewlet.engine.cluster.shares import dealt, sent
from viewlet.program.distributed import Partitioned

if TYPE_CHECKING:
    from pyspark import SparkContext

_ROWS = 1 << 18
_TIMES = 2
"""The least cost of a row in a job, as a multiple of its cost in process: it is also packed, sent and unpacked. A
measurement may be lower by chance, since jobs vary by more than these rows cost."""
_SUMS = ("n",)


def measure_costs(context: SparkContext, parts: int, cores: int) -> EngineCosts:
    """The milliseconds per row in process, per job, and per row of a job on one core."""
    rows = _sample(_ROWS)
    here = min(_milliseconds(lambda: rows.copied().consolidate(_SUMS)) for _ in range(2))
    few = _sample(parts)
    job = min(_milliseconds(lambda: _run(context, few, parts)) for _ in range(3))
    many = min(_milliseconds(lambda: _run(context, rows, parts)) for _ in range(2))
    return EngineCosts(
        inproc_row=here / _ROWS, job=job, spark_row=max((many - job) * cores / _ROWS, _TIMES * here / _ROWS)
    )


def _sample(count: int) -> Rows:
    """Rows in which four share each key."""
    numbers = np.arange(count)
    columns = {"k": pa.array(numbers * 7919 % max(count // 4, 1)), "n": pa.array(numbers)}
    return Rows(columns, np.ones(count, dtype=np.int64))


def _run(context: SparkContext, rows: Rows, parts: int) -> None:
    shares: list[tuple[int, bytes]] = [(part, b"") for part in range(parts)]
    for part, share in dealt(rows, parts):
        shares[part] = part, pack(share)
    spread: Any = context.parallelize(shares, parts).mapPartitionsWithIndex(_Send(parts))
    spread.partitionBy(parts, by_number).mapPartitionsWithIndex(_AddUp()).collect()


@dataclass(frozen=True)
class _Send:
    """The first stage of an epoch: it sends rows to the partition of their key."""

    parts: int

    def __call__(self, part: int, arrived: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        for _, data in arrived:
            if len(rows := unpack(data)):
                yield from ((to, pack(share)) for to, share in sent(rows, Partitioned(("k",)), self.parts))


@dataclass(frozen=True)
class _AddUp:
    """The last stage of an epoch: it nets the rows."""

    def __call__(self, part: int, arrived: Iterable[tuple[int, bytes]]) -> Iterator[int]:
        pieces = [unpack(data) for _, data in arrived]
        yield len(Rows.concat(pieces).consolidate(_SUMS)) if pieces else 0


def _milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e3
