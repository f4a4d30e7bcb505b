"""Choosing and merging runs: the same contents in fewer runs, without rows that cancel out.

Runs are kept in geometric sizes, as in an LSM tree: a number of runs of one size become one of the next. Since a bag is
a sum, any of its runs may be merged, in any order.

Merges use bounded memory. A large merge of a map makes one run per range of hashes, one after the other; files of a
table are copied a row group at a time, into files of limited size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from viewlet.columns.rows import Rows
from viewlet.store.contents import Contents
from viewlet.store.limits import Limits
from viewlet.store.runs.layout import Layout
from viewlet.store.runs.runs import Run, RunRef, Types, encode_files
from viewlet.store.runs.table_run import net, read_hashes, read_rows, read_tables, with_sign
from viewlet.store.runs.write_runs import make_map_run, make_parquet_runs, make_recent_run

Runs = Sequence[Run]
Keep = Callable[[list[Run]], list[Run]]
"""Stores new runs, so that a merge need not hold all of its output in memory."""
How = Callable[[Runs, Layout, Keep], tuple[Runs, list[Run]]]


@dataclass(frozen=True, slots=True)
class Merge:
    """The input runs of a merge and how to merge them; `run` returns the runs replaced and the runs made."""

    inputs: tuple[Run, ...]
    how: How

    @property
    def rows(self) -> int:
        return sum(run.ref.rows for run in self.inputs)

    @property
    def bytes(self) -> int:
        return sum(run.ref.size for run in self.inputs)

    def run(self, layout: Layout, keep: Keep = list) -> tuple[Runs, list[Run]]:
        return self.how(self.inputs, layout, keep)


Elsewhere = Callable[[Merge, Layout, Types], tuple[Sequence[RunRef], Sequence[RunRef]] | None]
"""Merges in other processes: the runs replaced, and the new ones, in durable files. None: merge here."""


def choose_small(layout: Layout, runs: Runs, limits: Limits) -> Merge | None:
    """A merge that is quick enough to be part of a commit, if one is due."""
    if layout.form == "table":
        return None  # rows of a table are not looked up, so the number of its runs matters less
    merge = Merge(_of_map(layout, runs, limits), partial(merge_map, most=limits.largest_run))
    small = merge.rows <= limits.commit_merge_rows and merge.bytes <= limits.inline_bytes
    return merge if merge.inputs and small else None


def choose_large(layout: Layout, runs: Runs, limits: Limits, stuck: frozenset[RunRef] = frozenset()) -> Merge | None:
    """A merge for the background, if one is due; the deletions in `stuck` runs found nothing to cancel before."""
    if layout.form == "map":
        picked = _of_map(layout, runs, limits)
        return Merge(picked, partial(merge_map, most=limits.largest_run)) if picked else None
    return (
        _choose_rewrite(runs, limits, stuck)
        or _choose_move(runs, limits)
        or _choose_files(runs, limits)
        or _choose_recent(runs, limits)
    )


def _of_map(layout: Layout, runs: Runs, limits: Limits) -> tuple[Run, ...]:
    """The runs of a map to be merged. Those of a table's index with whole rows cost more to merge than to search."""
    if layout.fingerprints and not layout.indexes:
        return _of_one_size(runs, limits.recent_rows // limits.fan, limits, limits.index_runs)
    return _of_one_size(runs, limits.first_level_rows, limits)


def _of_one_size(runs: Runs, base: int, limits: Limits, smallest: int | None = None) -> tuple[Run, ...]:
    """All runs up to the smallest size level with too many runs; none if there is no such level.

    `smallest` is how many runs of the lowest level are too many, since merging those can cost more than it saves.
    """
    smallest = smallest or 2 * limits.fan
    if len(runs) < limits.fan:
        return ()
    open_ones = sorted((run for run in runs if _is_open(run, limits)), key=lambda run: run.ref.rows)
    levels = [_level(run.ref.rows, base, limits.fan) for run in open_ones]
    for level in sorted(set(levels)):
        if levels.count(level) >= (limits.fan if level else smallest):
            return _at_most(open_ones[: len(levels) - levels[::-1].index(level)], 3 * limits.largest_run)
    return ()


def _is_open(run: Run, limits: Limits) -> bool:
    """Whether a run may be merged further.

    Rows of megabytes each, such as blocks of matrices, cost more to copy than to find. Large runs, such as those of a
    load, are few anyway.
    """
    return run.ref.size < min(limits.largest_run // limits.fan, limits.largest_row * run.ref.rows)


@lru_cache(maxsize=4096)
def _level(rows: int, base: int, fan: int) -> int:
    return max(0, math.ceil(math.log(max(rows, 1) / max(base, 1), fan)))


def _at_most(runs: list[Run], size: int) -> tuple[Run, ...]:
    """The smallest of the runs, given by size, that together are no larger than `size`; none if that is just one."""
    while sum(run.ref.size for run in runs) > size:
        runs = runs[:-1]
    return tuple(runs) if len(runs) > 1 else ()


def _choose_rewrite(runs: Runs, limits: Limits, stuck: frozenset[RunRef]) -> Merge | None:
    """Rewrite a table's files when a large share of their rows was deleted."""
    put, taken = _files(runs, 1), _files(runs, -1)
    due = _rows(taken) > limits.gone_share * _rows(put) and not stuck.issuperset(run.ref for run in taken)
    return Merge(tuple(runs), rewrite) if due else None


def _choose_move(runs: Runs, limits: Limits) -> Merge | None:
    """Move a table's recent rows to Parquet when there are many."""
    recent = [run for run in runs if run.ref.is_recent]
    many = _rows(recent) > limits.recent_rows or sum(run.ref.size for run in recent) > limits.recent_bytes
    return Merge(tuple(recent), move_recent) if many else None


def _choose_recent(runs: Runs, limits: Limits) -> Merge | None:
    """Merge a table's recent rows when they are in many runs."""
    recent = [run for run in runs if run.ref.is_recent]
    picked = _of_one_size(recent, limits.recent_rows // limits.fan, limits, limits.recent_runs)
    return Merge(picked, merge_recent) if picked else None


def _choose_files(runs: Runs, limits: Limits) -> Merge | None:
    """Join small files into large ones."""
    for sign in (1, -1):
        picked = _of_one_size(_files(runs, sign), limits.recent_rows, limits)
        if picked:
            return Merge(picked, partial(join_files, most=limits.largest_run))
    return None


def _files(runs: Runs, sign: int) -> list[Run]:
    return [run for run in runs if run.ref.kind == "parquet" and run.ref.sign == sign]


def _rows(runs: Runs) -> int:
    return sum(run.ref.rows for run in runs)


def merge_map(runs: Runs, layout: Layout, keep: Keep, most: int) -> tuple[Runs, list[Run]]:
    """One run of a map for several; if they exceed `most` bytes, one run per range of hashes.

    Each then has at least about `most` bytes, so it is not merged again unless many of its rows cancel out: merging
    always leaves fewer runs.
    """
    whole, count = Contents(layout, runs, {}), max(1, sum(run.ref.size for run in runs) // most)
    made: list[Run] = []
    for i in range(count):
        part = whole.partition(i, count)
        made += keep(make_map_run(part.scan(), layout, part.hashes()))
    return runs, made


def merge_recent(runs: Runs, layout: Layout, keep: Keep) -> tuple[Runs, list[Run]]:
    """One run of recent rows for several."""
    rows = net(Rows.concat([read_rows(run) for run in runs]))
    return runs, keep(make_recent_run(rows, layout))


def move_recent(runs: Runs, layout: Layout, keep: Keep) -> tuple[Runs, list[Run]]:
    """Parquet files for a table's runs of any kind."""
    rows = net(Rows.concat([read_rows(run) for run in runs]))
    return runs, keep(make_parquet_runs(rows, layout))


def join_files(runs: Runs, layout: Layout, keep: Keep, most: int) -> tuple[Runs, list[Run]]:
    """Files of rows, all inserted or all deleted, joined into files that end once they have `most` bytes."""
    tables = (table for run in runs for table in read_tables(run))
    refs = encode_files(tables, runs[0].ref.sign, most)
    return runs, [kept for ref in refs for kept in keep([Run(ref, layout)])]


def rewrite(runs: Runs, layout: Layout, keep: Keep) -> tuple[Runs, list[Run]]:
    """A table's files without the deleted rows; files that lose none are kept."""
    put = _files(runs, 1)
    gone = [run for run in runs if run not in put]
    recent = net(Rows.concat([read_rows(run) for run in gone]))
    made = keep(make_parquet_runs(recent.filter(recent.weights > 0), layout))
    taken = recent.filter(recent.weights < 0)
    for run in put:
        hit = np.isin(read_hashes(run), taken.hashes())
        if not hit.any():
            continue
        rows = read_rows(run)
        left = Rows.concat([rows.filter(hit), taken]).consolidate()
        kept = Rows.concat([rows.filter(~hit), with_sign(left, 1)])
        made += keep(make_parquet_runs(kept, layout))
        gone.append(run)
        taken = left.filter(left.weights < 0)
    return gone, made + keep(make_parquet_runs(taken, layout))
