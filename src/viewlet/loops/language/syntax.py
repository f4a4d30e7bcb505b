"""The parsed form of loops; queries are texts for Spark, with the states as tables.

    state₀ = initial        stateᵣ₊₁ = merge(stateᵣ, step over stateᵣ)        until nothing changes, or a condition holds

WITH RECURSIVE, USING KEY, ITERATE and REPEAT all have this form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Merge = Literal["all", "distinct", "key", "merged", "last", "replace", "handled"]
"""How the rows of a round are merged with earlier ones: `all`, added (UNION ALL); `distinct`, added if new (UNION);
`key`, each replaces the one with its key if it is better (USING KEY); `merged`, by a user-defined function; `last`,
they replace all, for a fixed number of rounds from the first rows (REPEAT); `replace`, they replace all, in rounds that
continue from the last result until they converge (SET); `handled`, by user-defined handlers, where the step is the
relation that the state is joined with."""

MOST_ROUNDS, MOST_SETTLING = 10_000, 1_000
"""The limits on rounds of loops without one of their own: in general, and for loops that converge."""


@dataclass(frozen=True, slots=True)
class State:
    """A table that the loop changes."""

    name: str
    columns: tuple[str, ...]
    """The names of its columns; empty for those of its first query."""
    initial: str | None
    """The query of the rows before the first round; None if there are none."""
    step: str
    merge: Merge
    key: tuple[str, ...] = ()

    @property
    def first(self) -> str:
        """The query of its first rows, which may return none."""
        return self.initial or f"SELECT * FROM ({self.step}) WHERE false"


@dataclass(frozen=True, slots=True)
class Limit:
    """The last round that may derive rows, and whether it is an error if a later one would."""

    rounds: int
    is_error: bool = True


@dataclass(frozen=True, slots=True)
class Until:
    """When a loop ends: a condition over the rows that a round changed, `new` and `old`, matched by a key."""

    condition: str
    state: str
    key: tuple[str, ...]
    held: str | None = None
    """Changes that meet this condition are held back until they add up to one that does not."""


@dataclass(frozen=True, slots=True)
class LoopText:
    """A parsed loop."""

    states: tuple[State, ...]
    result: str
    """The query over the states that returns the view's rows."""
    limit: Limit | None = None
    until: Until | None = None
    restarts: bool = False
    """Whether every epoch starts from the first rows, because the result depends on them."""
    diffuses: bool = False
    """Whether changes of the last round of an epoch wait until their row changes again (MRQL's diffusion)."""

    @property
    def last_round(self) -> int:
        """The last round that may derive rows; the general limit, if the query itself drops rows of later rounds."""
        if self.limit is None:
            return MOST_SETTLING if self.converges else MOST_ROUNDS
        return self.limit.rounds if self.limit.is_error or self.converges else MOST_ROUNDS

    @property
    def is_sparks_own(self) -> bool:
        """Whether Spark can run it: it has one name, UNION ALL, and an error at the limit."""
        is_error = self.limit is None or self.limit.is_error
        return len(self.states) == 1 and self.states[0].merge == "all" and is_error

    @property
    def converges(self) -> bool:
        """Whether rounds continue from the last result when inputs change."""
        return self.states[0].merge == "replace"


def to_document(loop: LoopText) -> dict[str, Any]:
    """A loop as JSON."""
    return asdict(loop)


def from_document(document: Mapping[str, Any]) -> LoopText:
    """Decode what `to_document` returned."""
    states = tuple(
        State(**{**state, "columns": tuple(state["columns"]), "key": tuple(state["key"])})
        for state in document["states"]
    )
    limit, until = document["limit"], document["until"]
    return LoopText(
        states,
        document["result"],
        None if limit is None else Limit(**limit),
        None if until is None else Until(**{**until, "key": tuple(until["key"])}),
        document["restarts"],
        document["diffuses"],
    )
