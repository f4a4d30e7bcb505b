"""Keys that many rows of an epoch share: what is done so that not one task gets all of them.

Rows that are only added to a map are added up before they move, each partition its own: a key is then one row of each.
Rows that are only looked up in maps as they were, and then move on, may be looked up anywhere, since every task can read
every map: those of a key that has more than a partition's share are dealt to all partitions. Neither changes a result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from viewlet.columns.hash import Hashes, different, is_among
from viewlet.columns.rows import Rows
from viewlet.program.chain import chain, source
from viewlet.program.distributed import Compute, Distributed, Move, Partitioned, Statement, Update, deltas_of
from viewlet.program.terms import Change, Probe

_MANY = 4096
"""Rows of a move in one task below which keys are not counted."""
_SAMPLE = 4096

Numbers = np.ndarray[Any, np.dtype[np.int64]]


def summed_columns(move: Move, program: Distributed) -> tuple[str, ...] | None:
    """The sums among the columns of a move whose rows are only added to maps; None if they are used otherwise."""
    found = {_sums(move, s) if isinstance(s, Update) else None for s in _users(move.name, program)}
    return found.pop() if len(found) == 1 else None


def _sums(move: Move, update: Update) -> tuple[str, ...]:
    """The map's sums by the names that its columns have in the move."""
    pairs = zip(move.columns, update.map.columns, strict=False)
    return tuple(own.name for own, kept in pairs if kept.name in update.map.sums)


def can_be_split(move: Move, program: Distributed, cut: frozenset[str]) -> bool:
    """Whether the rows of a move are only looked up in maps that the epoch leaves as they were, and then move on."""
    users = _users(move.name, program)
    return bool(users) and isinstance(move.tag, Partitioned) and all(_is_free(s, program, cut) for s in users)


def _is_free(statement: Statement, program: Distributed, cut: frozenset[str]) -> bool:
    if not isinstance(statement, Compute) or statement.name in cut or not isinstance(source(statement.term), Change):
        return False
    updated = {s.name for s in program.statements if isinstance(s, Update)}
    probes = [s for s in chain(statement.term) if isinstance(s, Probe)]
    as_it_was = all(probe.version == "old" or probe.map not in updated for probe in probes)
    later = _users(statement.name, program)
    return as_it_was and bool(later) and all(isinstance(s, Move) and s.transformer != "retain" for s in later)


def _users(name: str, program: Distributed) -> list[Statement]:
    return [s for s in program.statements if name in deltas_of(s)]


def added_up(rows: Rows, hashes: Hashes, sums: tuple[str, ...]) -> Rows:
    """Rows that are many and share keys, added up; others as they are."""
    if len(rows) < _MANY:
        return rows
    sample = _sample(hashes)
    return rows.consolidate(sums) if len(different(sample)) * 2 < len(sample) else rows


def dealt_out(numbers: Numbers, hashes: Hashes, parts: int) -> Numbers:
    """The partition of each row; rows of a hash that has more than a partition's share go to all of them in turn."""
    if len(hashes) < _MANY:
        return numbers
    sample = _sample(hashes)
    values, counts = np.unique(sample, return_counts=True)
    hot = values[counts * parts > len(sample)]
    if not len(hot):
        return numbers
    is_hot = is_among(hashes, hot)
    numbers = numbers.copy()
    numbers[is_hot] = np.arange(int(is_hot.sum())) % parts
    return numbers


def _sample(hashes: Hashes) -> Hashes:
    return hashes[:: max(1, len(hashes) // _SAMPLE)]
