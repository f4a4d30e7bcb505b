"""Skew: frequent keys of an epoch, handled so that no single task gets all of their rows.

Rows that are only added to a map are added up on each partition before they move, so a key becomes one row per
partition. Rows that are only looked up in maps as they were, and then move on, may be looked up anywhere, since every
task can read every map: those of a key with more than a partition's share are dealt to all partitions. Neither changes
a result.
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
"""Keys are not counted for fewer rows than this in a task's move."""
_SAMPLE = 4096

Numbers = np.ndarray[Any, np.dtype[np.int64]]


def summed_columns(move: Move, program: Distributed) -> tuple[str, ...] | None:
    """The sums among a move's columns if its rows are only added to maps; None if they have other uses."""
    found = {_sums(move, s) if isinstance(s, Update) else None for s in _users(move.name, program)}
    return found.pop() if len(found) == 1 else None


def _sums(move: Move, update: Update) -> tuple[str, ...]:
    """The map's sums, by their names in the move."""
    pairs = zip(move.columns, update.map.columns, strict=False)
    return tuple(own.name for own, kept in pairs if kept.name in update.map.sums)


def can_be_split(move: Move, program: Distributed, cut: frozenset[str]) -> bool:
    """Whether the rows of a move are only looked up in maps that the epoch has not changed, and then move on."""
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
    """The rows added up if they are many and share keys, else unchanged."""
    if len(rows) < _MANY:
        return rows
    sample = _sample(hashes)
    return rows.consolidate(sums) if len(different(sample)) * 2 < len(sample) else rows


def dealt_out(numbers: Numbers, hashes: Hashes, parts: int) -> Numbers:
    """The partition of each row; rows of a hash with more than a partition's share are dealt to all in turn."""
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
