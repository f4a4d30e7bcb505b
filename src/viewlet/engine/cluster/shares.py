"""Splitting rows by partition, and combining results from partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from viewlet.columns.arrays import values_of
from viewlet.columns.hash import Hashes, hash_rows
from viewlet.columns.rows import Rows
from viewlet.engine.cluster.exchange import cut, partition_of
from viewlet.engine.cluster.skew import added_up, dealt_out
from viewlet.plan.types import Field
from viewlet.program.distributed import Partitioned
from viewlet.program.terms import KEY

Numbers = np.ndarray[Any, np.dtype[np.int64]]


def partition_numbers(rows: Rows, columns: tuple[str, ...], parts: int) -> Numbers:
    """The partition of each row, by the hash of some columns or, for regrouped rows, by their group's hash."""
    return partition_of(tag_hashes(rows, columns), parts)


def tag_hashes(rows: Rows, columns: tuple[str, ...]) -> Hashes:
    """The hash that determines each row's partition."""
    return values_of(rows[KEY], "i8").view(np.uint64) if columns == (KEY,) else rows.hashes(columns)


def home_of(parts: int) -> int:
    """The partition of rows that are partitioned by no columns."""
    return int(partition_of(hash_rows([], 1), parts)[0])


def share_of(rows: Rows, columns: tuple[str, ...], part: int, parts: int) -> Rows:
    """The rows that belong to one partition."""
    return rows.filter(partition_numbers(rows, columns, parts) == part)


def sent(
    rows: Rows, tag: Partitioned, parts: int, sums: tuple[str, ...] | None = None, *, can_split: bool = False
) -> Iterator[tuple[int, Rows]]:
    """The rows for each partition; rows of frequent keys are added up first (`sums`) or dealt out (`can_split`)."""
    hashes = tag_hashes(rows, tag.columns)
    if sums is not None and (fewer := added_up(rows, hashes, sums)) is not rows:
        rows, hashes = fewer, tag_hashes(fewer, tag.columns)
    numbers = partition_of(hashes, parts)
    yield from cut(rows, dealt_out(numbers, hashes, parts) if can_split and tag.columns else numbers)


def dealt(rows: Rows, parts: int) -> Iterator[tuple[int, Rows]]:
    """Rows that may go anywhere, in nearly equal shares."""
    ends = [len(rows) * part // parts for part in range(parts + 1)]
    for part, (start, end) in enumerate(pairwise(ends)):
        if end > start:
            yield part, rows.slice(start, end - start)


def together(results: Iterable[Rows | None], columns: Sequence[Field]) -> Rows | None:
    """Several results concatenated, with `columns` renaming theirs by position; surplus columns are dropped."""
    names = [f.name for f in columns]
    there = [r.replaced(dict(zip(names, r.columns.values(), strict=False))) for r in results if r is not None]
    there = [rows for rows in there if len(rows)]
    return Rows.concat(there) if there else None
