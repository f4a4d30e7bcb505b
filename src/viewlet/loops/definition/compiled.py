"""A loop as programs: what is stored of it, and run."""

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
    """A state of a loop, and the program of a round.

    The program's result is the state's history; where rounds go on from the last result, it is the state itself.
    """

    name: str
    feed: str
    """What the program reads the rows of a round as."""
    program: Program
    reads_all: bool = False
    """Whether a step brings rows of several rounds together; else it sees those of the last one alone."""
    choice: Choice | None = None
    """How one row of a key is chosen; None where there is no key, or the newest row is."""
    goes_on: bool = False
    """Whether rounds go on from the last result, and there is no history."""
    initial: Program | None = None
    """What gives the first rows then."""
    code: str | None = None
    """The user's function that merges the rows of a key, pickled."""

    @property
    def bag(self) -> str:
        """What holds the state, or its history."""
        return self.program.view

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns of that bag that users see."""
        return self.program.stored

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns of the state, without the round."""
        return self.program.columns if self.goes_on else self.program.columns[:-1]

    @property
    def programs(self) -> tuple[Program, ...]:
        """What an epoch runs."""
        return (self.program,)

    @property
    def unread(self) -> str:
        """The bag of what the last round changed and no round has read, where rounds go on from there."""
        return f"{self.program.view}_unread"

    @property
    def keeps_feed(self) -> bool:
        """Whether the step has to look at all rows that it has read, beside what it keeps of them in maps."""
        terms = (term for step in self.program.steps for term in step.terms)
        return any(self.feed == name for term in terms for name, _ in maps_read(term))

    @property
    def bags(self) -> tuple[str, ...]:
        """All bags that it keeps."""
        own = [m.name for m in self.program.maps if m.stored]
        return (*own, *([self.unread] if self.goes_on else []), *([self.feed] if self.keeps_feed else []))


@dataclass(frozen=True)
class RelaxedState:
    """A state that has the best value of each key, which rounds find along the edges of a graph."""

    name: str
    bag: str
    """What the query over the state reads it as."""
    fields: tuple[Field, ...]
    key_at: int
    """Which of the columns is the key."""
    edges: Program
    firsts: Program
    offering: Offering
    choice: Choice | None = None
    """How one value is chosen; None where a row is its key alone."""
    is_kept: bool = False
    """Whether the query over the state looks it up."""
    reads_all: bool = False
    goes_on: bool = False

    @property
    def programs(self) -> tuple[Program, ...]:
        return self.edges, self.firsts

    @property
    def bags(self) -> tuple[str, ...]:
        """All bags that it keeps."""
        maps = (m for program in self.programs for m in program.maps)
        return (*(m.name for m in maps if m.stored), *([self.bag] if self.is_kept else []))


@dataclass(frozen=True)
class GatheredState:
    """A state whose rounds make each value of a sum along the edges of a graph, until values settle."""

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
        """The bag of what neighbours have read of each value."""
        return f"{self.bag}_read"

    @property
    def stored(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.fields)

    @property
    def programs(self) -> tuple[Program, ...]:
        return tuple(p for p in (self.edges, self.sources, self.own) if p is not None)

    @property
    def bags(self) -> tuple[str, ...]:
        """All bags that it keeps."""
        maps = (m for program in self.programs for m in program.maps)
        return (*(m.name for m in maps if m.stored), self.bag, self.read)


@dataclass(frozen=True)
class HandledState:
    """A state whose rounds are users' handlers: of its join with a relation, of groups, of the state itself."""

    name: str
    bag: str
    fields: tuple[Field, ...]
    key_at: tuple[int, ...]
    """Which of the columns are the key."""
    on: tuple[int, int]
    """The columns of the state and of the relation that they are joined by."""
    relation: Program
    firsts: Program
    code: str
    """The handlers, pickled."""
    choice: Choice | None = None
    reads_all: bool = False
    goes_on: bool = True

    @property
    def entries(self) -> str:
        """The bag of what the handlers keep."""
        return f"{self.bag}_handlers"

    @property
    def stored(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.fields)

    @property
    def programs(self) -> tuple[Program, ...]:
        return self.relation, self.firsts

    @property
    def bags(self) -> tuple[str, ...]:
        """All bags that it keeps."""
        maps = (m for program in self.programs for m in program.maps)
        return (*(m.name for m in maps if m.stored), self.bag, self.entries)


AnyState = CompiledState | RelaxedState | GatheredState | HandledState


@dataclass(frozen=True)
class CompiledUntil:
    """When rounds may end, as functions of the rows that a round changed: as they are (input 0) and were (input 1)."""

    state: str
    key: tuple[str, ...]
    is_done: Plan
    is_held: Plan | None
    """The keys of the changes that are not handed on."""


@dataclass(frozen=True)
class CompiledLoop:
    """A loop that can be run."""

    states: tuple[AnyState, ...]
    result: Program
    settings: Mapping[str, str]
    """The settings of Spark under which the definition was made."""
    spark: str
    """The version of Spark that it was made with."""
    mentions: tuple[str, ...] = ()
    """The tables and views that its text may read."""
    changing: tuple[str, ...] = ()
    """Spark's classes of the functions in it that mean something else in some version."""
    until: CompiledUntil | None = None

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs that an epoch runs, in their order."""
        return (*(program for state in self.states for program in state.programs), self.result)

    @property
    def stepped(self) -> tuple[CompiledState, ...]:
        """The states whose step is a program."""
        return tuple(state for state in self.states if isinstance(state, CompiledState))

    @property
    def relaxed(self) -> RelaxedState | None:
        """The only state, if its rounds go along the edges of a graph."""
        return next((state for state in self.states if isinstance(state, RelaxedState)), None)

    @property
    def is_kept(self) -> bool:
        """Whether the query over the only state, of values along paths, looks it up."""
        return self.relaxed is not None and self.relaxed.is_kept

    @property
    def gathered(self) -> GatheredState | None:
        """The only state, if its rounds add up along the edges of a graph."""
        return next((state for state in self.states if isinstance(state, GatheredState)), None)

    @property
    def handled(self) -> HandledState | None:
        """The only state, if its rounds are users' handlers."""
        return next((state for state in self.states if isinstance(state, HandledState)), None)

    @property
    def is_in_memory(self) -> bool:
        """Whether the state is a graph in memory, which counts its edges itself."""
        return self.relaxed is not None or self.gathered is not None

    @property
    def has_users_code(self) -> bool:
        """Whether rounds run code of users that is stored with it."""
        return self.handled is not None or any(state.code is not None for state in self.stepped)

    @property
    def reads(self) -> tuple[str, ...]:
        """The tables and views whose change matters."""
        own = {state.bag for state in self.states} | {state.feed for state in self.stepped}
        settling = [state for state in self.states if isinstance(state, CompiledState | GatheredState)]
        first = [state.initial for state in settling if state.initial is not None]
        return tuple(dict.fromkeys(bag for p in (*self.programs, *first) for bag in p.reads if bag not in own))


def to_document(loop: CompiledLoop) -> dict[str, Any]:
    """A loop as JSON."""
    return {f.name: _to_json(getattr(loop, f.name)) for f in fields(loop)}


def from_document(document: Mapping[str, Any]) -> CompiledLoop:
    """The loop that `to_document` wrote down."""
    found = {name: _from_json(value) for name, value in document.items()}
    return CompiledLoop(**found)


_OWN = {
    kind.__name__: kind
    for kind in (CompiledState, RelaxedState, GatheredState, HandledState, CompiledUntil, Choice, Offering, Gathering)
}


def _to_json(value: Any) -> Any:
    """Our own values by the names of their fields; programs and plans as they write themselves down."""
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
