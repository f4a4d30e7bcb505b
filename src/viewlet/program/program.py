"""A program: what a view compiles to. Maps, and for each the statements that keep it.

The steps are in an order in which every delta and every `new` state is complete before it is read. A
program is a value: it prints (`show`), it is stored with the view, and both engines run the same one.
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
    """A bag that is kept so that statements can look things up in it, or because it is the view itself."""

    name: str
    columns: tuple[Field, ...]
    key: tuple[str, ...]
    """Columns whose hash orders, indexes and partitions the map; all its columns for a view."""
    indexes: tuple[tuple[str, ...], ...] = ()
    """Further sets of columns that statements look up."""
    sums: tuple[str, ...] = ()
    """Integer columns that add up, as the weight does."""
    meaning: str = ""
    """What the map holds, for people."""
    stored: bool = True
    """Whether it is kept; otherwise only its delta is there, while the epoch runs."""


@dataclass(frozen=True, slots=True)
class Step:
    """`map += term` for each term."""

    map: Map
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Note:
    """How one operator of the view's plan is maintained: ring, monoid, keyed or recompute; below ring, why."""

    label: str
    tier: str
    reason: str = ""
    below: tuple[Note, ...] = ()
    """The operators that it reads."""


def operators(notes: Iterable[Note], depth: int = 0) -> Iterator[tuple[int, Note]]:
    """Every operator with its depth in the tree, from the top down."""
    for note in notes:
        yield depth, note
        yield from operators(note.below, depth + 1)


def costliest_tier(notes: Iterable[Note]) -> str | None:
    """The costliest tier among some operators; None where there are none."""
    tiers = {note.tier for _, note in operators(notes)}
    return next((t for t in ("recompute", "keyed", "monoid", "ring") if t in tiers), None)


@dataclass(frozen=True, slots=True)
class Eviction:
    """A map by a key that follows the time of a table's rows: groups that the table's watermark has passed can go."""

    map: str
    column: str
    """The key's column."""
    keys: tuple[Expr, ...]
    """What it can be for a row, given the row's time."""
    table: str
    time: Column
    at_end: bool = False
    """Whether a key is a session, which is passed when its end is."""


@dataclass(frozen=True, slots=True)
class Program:
    """The maps and statements of one view, in the order in which they run."""

    view: str
    columns: tuple[Field, ...]
    """The view's columns, by the user's names."""
    stored: tuple[str, ...]
    """The columns of the view's map that hold them."""
    steps: tuple[Step, ...]
    notes: tuple[Note, ...]
    choices: tuple[str, ...] = ()
    """What the compiler weighed, for people."""
    grows: bool = False
    """Whether the view only grows, because all that it reads does."""
    evictions: tuple[Eviction, ...] = ()
    """The maps that evict groups which a watermark has passed."""
    keeps: str = ""
    """Why all groups stay, although there is a watermark."""

    @property
    def maps(self) -> tuple[Map, ...]:
        return tuple(step.map for step in self.steps)

    @property
    def reads(self) -> tuple[str, ...]:
        """The tables and views whose change matters to this one."""
        own = {m.name for m in self.maps}
        bags = [bag for step in self.steps for term in step.terms for bag in changes_read(term)]
        return tuple(dict.fromkeys(bag for bag in bags if bag not in own))


def meanings(program: Program) -> dict[str, str]:
    """What the maps of a program hold beside the view itself, and by which key."""
    kept = [m for m in program.maps if m.stored and m.name != program.view]
    return {m.name: f"[{', '.join(m.key)}] {m.meaning}" for m in kept}


def has_users_code(node: Any) -> bool:
    """Whether a program, or a part of one, calls functions of a user, whose code it holds."""
    match node:
        case Handlers():
            return True
        case tuple():
            return any(map(has_users_code, node))
    return is_dataclass(node) and any(has_users_code(getattr(node, f.name)) for f in fields(node))


def check(program: Program) -> None:
    """Every delta and every new state is complete before a statement reads it."""
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
