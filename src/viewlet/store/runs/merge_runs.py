"""Which runs to merge, and merging them: the same contents in fewer runs, with nothing in them that cancels.

Runs are kept in geometric sizes, as in an LSM tree: so many of one size become one of the next. Since a bag
is a sum, any of its runs may be merged, in any order.

What a merge holds is bounded. A large merge of a map makes a run for each of some ranges of hashes, one after the other;
files of a table are passed on a row group at a time, into files that end when they are large.
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
"""Puts runs that were just made where they stay, so that not all that a merge makes is in memory at once."""
How = Callable[[Runs, Layout, Keep], tuple[Runs, list[Run]]]


@dataclass(frozen=True, slots=True)
class Merge:
    """Runs to take and how; `run` gives those that it replaces and those that it makes."""

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
"""Merges in other processes: which runs are replaced, and by which, in files that are durable. None: do it here."""


def choose_small(layout: Layout, runs: Runs, limits: Limits) -> Merge | None:
    """A merge that is quick enough to happen within a commit, if one is due."""
    if layout.form == "table":
        return None  # nobody looks rows up in a table, so its runs need not be few
    merge = Merge(_of_map(layout, runs, limits), partial(merge_map, most=limits.largest_run))
    small = merge.rows <= limits.commit_merge_rows and merge.bytes <= limits.inline_bytes
    return merge if merge.inputs and small else None


def choose_large(layout: Layout, runs: Runs, limits: Limits, stuck: frozenset[RunRef] = frozenset()) -> Merge | None:
    """A merge for the background, if one is due; rows taken away in `stuck` runs found nothing to cancel before."""
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
    """The runs of a map to be merged. Those of a table's index, of whole rows, cost more to merge than to search."""
    if layout.fingerprints and not layout.indexes:
        return _of_one_size(runs, limits.recent_rows // limits.fan, limits, limits.index_runs)
    return _of_one_size(runs, limits.first_level_rows, limits)


def _of_one_size(runs: Runs, base: int, limits: Limits, smallest: int | None = None) -> tuple[Run, ...]:
    """All runs up to the smallest size of which there are too many; none if there is no such size.

    `smallest` says how many runs of the smallest size are too many: merging them can cost more than it saves.
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
    """Whether a run may grow. Rows that are megabytes each, as blocks of matrices are, cost more to copy than to find.

    So do the rows of a run that is one of a few anyway: a load leaves its runs as they are.
    """
    return run.ref.size < min(limits.largest_run // limits.fan, limits.largest_row * run.ref.rows)


@lru_cache(maxsize=4096)
def _level(rows: int, base: int, fan: int) -> int:
    return max(0, math.ceil(math.log(max(rows, 1) / max(base, 1), fan)))


def _at_most(runs: list[Run], size: int) -> tuple[Run, ...]:
    """The smallest of some runs, given by size, that fit together into one."""
    while sum(run.ref.size for run in runs) > size:
        runs = runs[:-1]
    return tuple(runs) if len(runs) > 1 else ()


def _choose_rewrite(runs: Runs, limits: Limits, stuck: frozenset[RunRef]) -> Merge | None:
    """Rewrite a table's files when much of them was taken away."""
    put, taken = _files(runs, 1), _files(runs, -1)
    due = _rows(taken) > limits.gone_share * _rows(put) and not stuck.issuperset(run.ref for run in taken)
    return Merge(tuple(runs), rewrite) if due else None


def _choose_move(runs: Runs, limits: Limits) -> Merge | None:
    """Move a table's recent rows to Parquet when they are many."""
    recent = [run for run in runs if run.ref.is_recent]
    many = _rows(recent) > limits.recent_rows or sum(run.ref.size for run in recent) > limits.recent_bytes
    return Merge(tuple(recent), move_recent) if many else None


def _choose_recent(runs: Runs, limits: Limits) -> Merge | None:
    """Make larger runs of a table's recent rows when they are in many."""
    recent = [run for run in runs if run.ref.is_recent]
    picked = _of_one_size(recent, limits.recent_rows // limits.fan, limits, limits.recent_runs)
    return Merge(picked, merge_recent) if picked else None


def _choose_files(runs: Runs, limits: Limits) -> Merge | None:
    """Make large files of small ones."""
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
    """One run of a map for several; of `most` bytes and more, one for each of as many ranges of hashes.

    Each has about that many bytes, or more, so that it is not merged again unless much of it cancels: there are always
    fewer than before.
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
    """Files of a table's rows, all put in or all taken away, in fewer; one that has reached `most` bytes ends."""
    tables = (table for run in runs for table in read_tables(run))
    refs = encode_files(tables, runs[0].ref.sign, most)
    return runs, [kept for ref in refs for kept in keep([Run(ref, layout)])]


def rewrite(runs: Runs, layout: Layout, keep: Keep) -> tuple[Runs, list[Run]]:
    """A table's files without the rows that were taken away; files that lose none stay as they are."""
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
