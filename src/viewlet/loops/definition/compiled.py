"""Compiled loops: the programs that are stored and run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from viewlet.loops.definition.merging import Choice
from viewlet.loops.gather.gathering import Gathering
from viewlet.loops.relax.offering import Offering
from viewlet.plan.nodes import Plan
from viewlet.plan.types import Field
from viewlet.program.chain import maps_read
from viewlet.program.codec import from_json, to_json
from viewlet.program.program import Program


@dataclass(frozen=True)
class CompiledState:
    """A state of a loop whose step is a program.

    The program's result is the state's history, or the state itself if rounds continue from the last result.
    """

    name: str
    feed: str
    """The name under which the program reads the rows of a round."""
    program: Program
    reads_all: bool = False
    """Whether a step combines rows of several rounds, rather than reading those of the last round only."""
    choice: Choice | None = None
    """How one row of a key is chosen; None if there is no key, or the newest row is chosen."""
    goes_on: bool = False
    """Whether rounds continue from the last result, so that there is no history."""
    initial: Program | None = None
    """The program of the first rows in that case."""
    code: str | None = None
    """The user's function that merges the rows of a key, pickled."""

    @property
    def bag(self) -> str:
        """The bag of the state, or of its history."""
        return self.program.view

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns of that bag that hold the state's columns."""
        return self.program.stored

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns of the state, without the round."""
        return self.program.columns if self.goes_on else self.program.columns[:-1]

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs that an epoch runs."""
        return (self.program,)

    @property
    def unread(self) -> str:
        """The bag of the changes that no round has read, from which the next epoch continues."""
        return f"{self.program.view}_unread"

    @property
    def keeps_feed(self) -> bool:
        """Whether the step reads all rows of earlier rounds, in addition to its maps."""
        terms = (term for step in self.program.steps for term in step.terms)
        return any(self.feed == name for term in terms for name, _ in maps_read(term))

    @property
    def bags(self) -> tuple[str, ...]:
        own = [m.name for m in self.program.maps if m.stored]
        return (*own, *([self.unread] if self.goes_on else []), *([self.feed] if self.keeps_feed else []))


@dataclass(frozen=True)
class RelaxedState:
    """A state that holds the best value of each key, found by relaxing the edges of a graph."""

    name: str
    bag: str
    """The name under which the query over the state reads it."""
    fields: tuple[Field, ...]
    key_at: int
    """Which of the columns is the key."""
    edges: Program
    firsts: Program
    offering: Offering
    choice: Choice | None = None
    """How one value is chosen; None if the key is the only column."""
    is_kept: bool = False
    """Whether the state is stored because the query over it looks it up."""
    reads_all: bool = False
    goes_on: bool = False

    @property
    def programs(self) -> tuple[Program, ...]:
        return self.edges, self.firsts

    @property
    def bags(self) -> tuple[str, ...]:
        maps = (m for program in self.programs for m in program.maps)
        return (*(m.name for m in maps if m.stored), *([self.bag] if self.is_kept else []))


@dataclass(frozen=True)
class GatheredState:
    """A state whose values are computed from sums along the edges of a graph, until they converge."""

    name: str
    bag: str
    fields: tuple[Field, ...]
    key_at: int
    """Which of the columns is the key."""
    gathering: Gathering
    edges: Program
    sources: Program | None
    own: Program | None
    initial: Program | None
    choice: Choice | None = None
    reads_all: bool = False
    goes_on: bool = True

    @property
    def read(self) -> str:
        """The bag of the values that neighbours have read."""
        return f"{self.bag}_read"

    @property
    def stored(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.fields)

    @property
    def programs(self) -> tuple[Program, ...]:
        return tuple(p for p in (self.edges, self.sources, self.own) if p is not None)

    @property
    def bags(self) -> tuple[str, ...]:
        maps = (m for program in self.programs for m in program.maps)
        return (*(m.name for m in maps if m.stored), self.bag, self.read)


@dataclass(frozen=True)
class HandledState:
    """A state whose rounds run user-defined handlers: for its join with a relation, for groups, and for the state."""

    name: str
    bag: str
    fields: tuple[Field, ...]
    key_at: tuple[int, ...]
    """The positions of the key columns."""
    on: tuple[int, int]
    """The positions of the join columns in the state and in the relation."""
    relation: Program
    firsts: Program
    code: str
    """The handlers, pickled."""
    choice: Choice | None = None
    reads_all: bool = False
    goes_on: bool = True

    @property
    def entries(self) -> str:
        """The bag of the handlers' state."""
        return f"{self.bag}_handlers"

    @property
    def stored(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.fields)

    @property
    def programs(self) -> tuple[Program, ...]:
        return self.relation, self.firsts

    @property
    def bags(self) -> tuple[str, ...]:
        maps = (m for program in self.programs for m in program.maps)
        return (*(m.name for m in maps if m.stored), self.bag, self.entries)


AnyState = CompiledState | RelaxedState | GatheredState | HandledState


@dataclass(frozen=True)
class CompiledUntil:
    """The conditions after UNTIL, as functions of the rows that a round changed: new (input 0) and old (input 1)."""

    state: str
    key: tuple[str, ...]
    is_done: Plan
    is_held: Plan | None
    """Returns the keys of changes that are held back."""


@dataclass(frozen=True)
class CompiledLoop:
    """The programs of a loop."""

    states: tuple[AnyState, ...]
    result: Program
    settings: Mapping[str, str]
    """The Spark settings under which it was defined."""
    spark: str
    """The version of Spark that it was defined with."""
    mentions: tuple[str, ...] = ()
    """The tables and views that its text may read."""
    changing: tuple[str, ...] = ()
    """The Spark classes of its functions whose meaning differs between versions."""
    until: CompiledUntil | None = None

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs that an epoch runs, in order."""
        return (*(program for state in self.states for program in state.programs), self.result)

    @property
    def stepped(self) -> tuple[CompiledState, ...]:
        """The states whose step is a program."""
        return tuple(state for state in self.states if isinstance(state, CompiledState))

    @property
    def relaxed(self) -> RelaxedState | None:
        """The only state, if it is a relaxation."""
        return next((state for state in self.states if isinstance(state, RelaxedState)), None)

    @property
    def is_kept(self) -> bool:
        """Whether the only state is a relaxation that is stored, because the query over it looks it up."""
        return self.relaxed is not None and self.relaxed.is_kept

    @property
    def gathered(self) -> GatheredState | None:
        """The only state, if it sums along the edges of a graph."""
        return next((state for state in self.states if isinstance(state, GatheredState)), None)

    @property
    def handled(self) -> HandledState | None:
        """The only state, if its rounds run user-defined handlers."""
        return next((state for state in self.states if isinstance(state, HandledState)), None)

    @property
    def is_in_memory(self) -> bool:
        """Whether the state is a graph in memory, which counts multiple edges itself."""
        return self.relaxed is not None or self.gathered is not None

    @property
    def has_users_code(self) -> bool:
        """Whether rounds run stored user code."""
        return self.handled is not None or any(state.code is not None for state in self.stepped)

    @property
    def reads(self) -> tuple[str, ...]:
        """The tables and views whose changes can change the result."""
        own = {state.bag for state in self.states} | {state.feed for state in self.stepped}
        settling = [state for state in self.states if isinstance(state, CompiledState | GatheredState)]
        first = [state.initial for state in settling if state.initial is not None]
        return tuple(dict.fromkeys(bag for p in (*self.programs, *first) for bag in p.reads if bag not in own))


def to_document(loop: CompiledLoop) -> dict[str, Any]:
    """A loop as JSON."""
    return {f.name: _to_json(getattr(loop, f.name)) for f in fields(loop)}


def from_document(document: Mapping[str, Any]) -> CompiledLoop:
    """Decode what `to_document` returned."""
    found = {name: _from_json(value) for name, value in document.items()}
    return CompiledLoop(**found)


_OWN = {
    kind.__name__: kind
    for kind in (CompiledState, RelaxedState, GatheredState, HandledState, CompiledUntil, Choice, Offering, Gathering)
}


def _to_json(value: Any) -> Any:
    """Classes of this package by the names of their fields; programs and plans by their own codec."""
    match value:
        case _ if type(value) in _OWN.values():
            parts = {f.name: _to_json(getattr(value, f.name)) for f in fields(value)}
            return {"loops": type(value).__name__, **parts}
        case tuple():
            return {"tuple": [_to_json(v) for v in value]}
        case Mapping():
            return {"mapping": dict(value)}
        case _:
            return to_json(value)


def _from_json(value: Any) -> Any:
    if not isinstance(value, dict):
        return from_json(value)
    if "loops" in value:
        kind, parts = _OWN[value["loops"]], {k: _from_json(v) for k, v in value.items() if k != "loops"}
        return kind(**parts)
    if "tuple" in value:
        return tuple(map(_from_json, value["tuple"]))
    return value["mapping"] if "mapping" in value else from_json(value)
