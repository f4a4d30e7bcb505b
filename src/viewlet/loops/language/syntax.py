"""What a loop says, as frozen values; queries are texts that Spark will read, with the states as tables.

    state₀ = initial        stateᵣ₊₁ = merge(stateᵣ, step over stateᵣ)        until nothing changes, or a condition holds

Every spelling (WITH RECURSIVE, USING KEY, ITERATE, REPEAT) is this one form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Merge = Literal["all", "distinct", "key", "merged", "last", "replace", "handled"]
"""What a round's rows do to the earlier ones: they are added (UNION ALL); added where they are new (UNION); each takes
the place of the one with its key, if it is better (USING KEY), or a user's function merges them; together they take the place of all, in so many rounds
from the first rows on (REPEAT), or in rounds that go on from the last result until they settle (SET); or users'
handlers say so, and the step is the relation that the state is joined with."""

MOST_ROUNDS, MOST_SETTLING = 10_000, 1_000
"""A loop that says no limit is given up after so many rounds; one that has to settle, after fewer."""


@dataclass(frozen=True, slots=True)
class State:
    """A table that the loop changes."""

    name: str
    columns: tuple[str, ...]
    """Names for its columns; none for those of its first query."""
    initial: str | None
    """What it holds before the first round; None for nothing."""
    step: str
    merge: Merge
    key: tuple[str, ...] = ()

    @property
    def first(self) -> str:
        """The query that gives its first rows, if only none."""
        return self.initial or f"SELECT * FROM ({self.step}) WHERE false"


@dataclass(frozen=True, slots=True)
class Limit:
    """The last round that may bring rows, and whether it is an error when a later one would."""

    rounds: int
    is_error: bool = True


@dataclass(frozen=True, slots=True)
class Until:
    """When a loop may end: a condition over the rows that a round changed, as `new` and as `old`, matched by a key."""

    condition: str
    state: str
    key: tuple[str, ...]
    held: str | None = None
    """The changes for which this holds are not handed on, until they add up to one for which it does not."""


@dataclass(frozen=True, slots=True)
class LoopText:
    """A loop as a user writes it."""

    states: tuple[State, ...]
    result: str
    """The query that makes the view's rows of the states."""
    limit: Limit | None = None
    until: Until | None = None
    restarts: bool = False
    """Whether every epoch begins with the first rows, because the result depends on them."""
    diffuses: bool = False
    """Whether what the last round of an epoch leaves is not handed on, until its row changes again (MRQL's diffusion)."""

    @property
    def last_round(self) -> int:
        """The last round that may bring rows; where the query itself leaves out those of later rounds, any."""
        if self.limit is None:
            return MOST_SETTLING if self.converges else MOST_ROUNDS
        return self.limit.rounds if self.limit.is_error or self.converges else MOST_ROUNDS

    @property
    def is_sparks_own(self) -> bool:
        """Whether Spark itself can run it: one name, UNION ALL, and an error at the limit."""
        is_error = self.limit is None or self.limit.is_error
        return len(self.states) == 1 and self.states[0].merge == "all" and is_error

    @property
    def converges(self) -> bool:
        """Whether the loop goes on from its last result when something changes."""
        return self.states[0].merge == "replace"


def to_document(loop: LoopText) -> dict[str, Any]:
    """A loop as JSON."""
    return asdict(loop)


def from_document(document: Mapping[str, Any]) -> LoopText:
    """The loop that `to_document` wrote down."""
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
