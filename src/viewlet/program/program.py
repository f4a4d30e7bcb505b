"""A program: the result of compiling a view. It consists of maps, and statements that maintain each of them.

Steps are ordered such that every delta and every `new` state is complete before it is read. A program is a value: it
prints (`show`), it is stored with the view, and both engines run the same one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from viewlet.plan.expr import Column, Expr, Handlers
from viewlet.plan.types import Field
from viewlet.program.chain import changes_read, maps_read
from viewlet.program.terms import Term


@dataclass(frozen=True, slots=True)
class Map:
    """A bag that is kept for look-ups by statements, or because it is the view itself."""

    name: str
    columns: tuple[Field, ...]
    key: tuple[str, ...]
    """The columns whose hash sorts, indexes and partitions the map; for a view, all its columns."""
    indexes: tuple[tuple[str, ...], ...] = ()
    """Further sets of columns for look-ups."""
    sums: tuple[str, ...] = ()
    """Integer columns that add up, as weights do."""
    meaning: str = ""
    """What the map holds, for people."""
    stored: bool = True
    """Whether the map is kept; otherwise only its delta exists, during the epoch."""


@dataclass(frozen=True, slots=True)
class Step:
    """`map += term` for each term."""

    map: Map
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Note:
    """How one operator of the view's plan is maintained: ring, monoid, keyed or recompute; if not ring, why."""

    label: str
    tier: str
    reason: str = ""
    below: tuple[Note, ...] = ()
    """The operators that it reads."""


def operators(notes: Iterable[Note], depth: int = 0) -> Iterator[tuple[int, Note]]:
    """All operators with their depth in the tree, parents first."""
    for note in notes:
        yield depth, note
        yield from operators(note.below, depth + 1)


def costliest_tier(notes: Iterable[Note]) -> str | None:
    """The costliest tier among some operators; None if there are none."""
    tiers = {note.tier for _, note in operators(notes)}
    return next((t for t in ("recompute", "keyed", "monoid", "ring") if t in tiers), None)


@dataclass(frozen=True, slots=True)
class Eviction:
    """A map whose key follows the time of a table's rows: groups that the table's watermark has passed are evicted."""

    map: str
    column: str
    """The key's column."""
    keys: tuple[Expr, ...]
    """The values that the key can have for a row, as functions of the row's time."""
    table: str
    time: Column
    at_end: bool = False
    """Whether the key is a session, which is passed when its end is."""


@dataclass(frozen=True, slots=True)
class Program:
    """The maps and statements of one view, in the order in which they run."""

    view: str
    columns: tuple[Field, ...]
    """The view's columns under the user's names."""
    stored: tuple[str, ...]
    """The columns of the view's map that hold them."""
    steps: tuple[Step, ...]
    notes: tuple[Note, ...]
    choices: tuple[str, ...] = ()
    """The compiler's decisions, for people."""
    grows: bool = False
    """Whether the view only grows, because all its inputs do."""
    evictions: tuple[Eviction, ...] = ()
    """The maps that evict groups below a watermark."""
    keeps: str = ""
    """Why all groups are kept although there is a watermark."""

    @property
    def maps(self) -> tuple[Map, ...]:
        return tuple(step.map for step in self.steps)

    @property
    def reads(self) -> tuple[str, ...]:
        """The tables and views whose changes affect this view."""
        own = {m.name for m in self.maps}
        bags = [bag for step in self.steps for term in step.terms for bag in changes_read(term)]
        return tuple(dict.fromkeys(bag for bag in bags if bag not in own))


def meanings(program: Program) -> dict[str, str]:
    """The contents of a program's maps, other than the view, with their keys."""
    kept = [m for m in program.maps if m.stored and m.name != program.view]
    return {m.name: f"[{', '.join(m.key)}] {m.meaning}" for m in kept}


def has_users_code(node: Any) -> bool:
    """Whether a program, or a part of one, holds code of a user-defined function."""
    match node:
        case Handlers():
            return True
        case tuple():
            return any(map(has_users_code, node))
    return is_dataclass(node) and any(has_users_code(getattr(node, f.name)) for f in fields(node))


def check(program: Program) -> None:
    """Assert that every delta and every new state is complete before a statement reads it."""
    own = {m.name: at for at, m in enumerate(program.maps)}
    assert len(own) == len(program.steps), f"{program.view}: a map is the target of two steps"
    for at, step in enumerate(program.steps):
        for term in step.terms:
            needed = [bag for bag in changes_read(term) if bag in own]
            needed += [name for name, version in maps_read(term) if version == "new" and name in own]
            late = [name for name in needed if own[name] >= at]
            assert not late, f"{program.view}: {step.map.name} reads {late[0]} before it is complete"
            names = tuple(f.name for f in term.columns)
            assert names == tuple(f.name for f in step.map.columns), f"{program.view}: {step.map.name} gets {names}"
