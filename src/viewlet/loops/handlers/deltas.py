"""The four kinds of delta (REX, definition 1): insertion, deletion, replacement, and adjustment of a state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Insert:
    """+: the row is inserted."""

    row: Row


@dataclass(frozen=True, slots=True)
class Delete:
    """−: the row is deleted."""

    row: Row


@dataclass(frozen=True, slots=True)
class Replace:
    """→: the row replaces another."""

    row: Row
    old: Row


@dataclass(frozen=True, slots=True)
class Adjust:
    """δ: the state of the row is adjusted, by the user's handler."""

    row: Row
    by: Any = None


Delta = Insert | Delete | Replace | Adjust


def over_row(delta: Delta, change: Callable[[Row], Row]) -> Delta:
    """The same kind of delta over other rows."""
    match delta:
        case Insert(row):
            return Insert(change(row))
        case Delete(row):
            return Delete(change(row))
        case Replace(row, old):
            return Replace(change(row), change(old))
        case Adjust(row, by):
            return Adjust(change(row), by)


def split(delta: Delta, key: Callable[[Row], Any]) -> tuple[Delta, ...]:
    """A delta as deltas of one key each: a replacement that changes the key becomes a deletion and an insertion."""
    if isinstance(delta, Replace) and key(delta.row) != key(delta.old):
        return Delete(delta.old), Insert(delta.row)
    return (delta,)


def apply(rows: list[Row], delta: Delta) -> None:
    """Apply a delta to rows; an adjustment changes none."""
    match delta:
        case Insert(row):
            rows.append(row)
        case Delete(row):
            rows.remove(row)
        case Replace(row, old):
            rows[rows.index(old)] = row
