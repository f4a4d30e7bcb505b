"""The rows that maps of sums stand for: of the keys that a change touches, or that a look-up finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, Positions, from_numpy
from viewlet.columns.exact.encoded_sums import decode
from viewlet.columns.exact.failing_group import naming_group
from viewlet.columns.hash import Hashes, different, hash_rows
from viewlet.columns.rows import Rows, alike, group
from viewlet.plan.sums import SLOT, Sum, sum_columns
from viewlet.program.terms import FinalizeSums

if TYPE_CHECKING:
    from viewlet.engine.terms.compile_term import EpochReader, TermFn


def compile_finalize(term: FinalizeSums) -> TermFn:
    """The touched keys' new rows minus their old ones."""
    names = [f.name for f in term.columns]

    def run(epoch: EpochReader) -> Rows | None:
        delta = epoch.change(term.map)
        first_time = epoch.initial and not term.keys
        if delta is None and not first_time:
            return None
        old = epoch.old(term.map)
        _, before = old.lookup(term.keys, _touched(delta, term.keys))
        state = before if delta is None else Rows.concat([before, delta])
        first, groups = group([state[k] for k in term.keys], len(state), state.hashes(term.keys))
        count = len(first) if term.keys else 1
        keys = state.select(term.keys).take(first)
        there, was = _answers(
            term, names, before, groups[: len(before)], count, keys, not term.keys and not epoch.initial
        )
        now_there, now = _answers(term, names, state, groups, count, keys, not term.keys)
        stays = there & now_there & alike(was, now)
        changed = Rows.concat([was.filter(there & ~stays).negated(), now.filter(now_there & ~stays)])
        return changed if len(changed) else None

    return run


def _answers(
    term: FinalizeSums, names: list[str], state: Rows, groups: Positions, count: int, keys: Rows, always: bool
) -> tuple[Mask, Rows]:
    """A row for each group, and whether it exists; with `always` it exists even without rows."""
    with naming_group(dict(zip(names, keys.columns.values(), strict=False))):
        counts, values = decode(term.sums, state, groups, count)
    columns = dict(zip(names, [*keys.columns.values(), *values], strict=True))
    there = np.ones(count, dtype=np.bool_) if always else counts > 0
    return there, Rows(columns, np.ones(count, dtype=np.int64))


def _touched(delta: Rows | None, keys: Sequence[str]) -> Hashes:
    """The hashes of the keys that a delta touches; without keys there is one."""
    if delta is None or not keys:
        return hash_rows([], 1)
    return different(delta.hashes(keys))


def decode_rows(sums: tuple[Sum, ...], state: Rows) -> Rows:
    """The rows that a map of sums stands for; without keys there is always one."""
    keys = _keys_beside(sums, state)
    if keys:
        return decode_matches(sums, np.zeros(len(state), dtype=np.int64), state)[1]
    _, values = decode(sums, state, np.zeros(len(state), dtype=np.int64), 1)
    return Rows({s.name: v for s, v in zip(sums, values, strict=True)}, np.ones(1, dtype=np.int64))


def decode_matches(sums: tuple[Sum, ...], at: Positions, state: Rows) -> tuple[Positions, Rows]:
    """The rows that looked-up parts of a map of sums stand for, and the probe of each."""
    keys = _keys_beside(sums, state)
    first, groups = group([from_numpy(at, pa.int64()), *(state[k] for k in keys)], len(state))
    counts, values = decode(sums, state, groups, len(first))
    columns = {**state.select(keys).take(first).columns, **{s.name: v for s, v in zip(sums, values, strict=True)}}
    there = counts > 0
    return at[first][there], Rows(columns, np.ones(len(first), dtype=np.int64)).filter(there)


def _keys_beside(sums: tuple[Sum, ...], state: Rows) -> list[str]:
    """The key columns of a map of sums."""
    skipped = {SLOT, *(c for s in sums for c in sum_columns(s))}
    return [n for n in state.names if n not in skipped]
