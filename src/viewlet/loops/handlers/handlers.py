"""User-defined delta handlers for a join, an aggregate and the state of a loop (REX, section 3.3)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from viewlet.errors import UnsupportedQuery
from viewlet.loops.handlers.deltas import Adjust, Delete, Delta, Insert, Replace, Row, apply, over_row


class JoinHandler:
    """The join of the state with a relation, unless a method is overridden.

    Both methods receive the rows of one key, those of the state on the left, which they may change, and a delta.
    """

    def left(self, left: list[Row], right: list[Row], delta: Delta) -> Iterable[Delta]:
        """Return the deltas that result from a delta of the state."""
        apply(left, delta)
        return [over_row(delta, lambda row, other=other: (*row, *other)) for other in right]  # type: ignore[misc]

    def right(self, left: list[Row], right: list[Row], delta: Delta) -> Iterable[Delta]:
        """Return the deltas that result from a delta of the relation."""
        apply(right, delta)
        return [over_row(delta, lambda row, other=other: (*other, *row)) for other in left]  # type: ignore[misc]


class AggregateHandler(ABC):
    """Keeps a state for each group of the join's deltas, grouped by as many leading columns as the key has."""

    @abstractmethod
    def zero(self) -> Any:
        """Return the state of an empty group."""

    @abstractmethod
    def update(self, state: Any, delta: Delta) -> Any:
        """Return the state after a delta."""

    @abstractmethod
    def result(self, key: Row, state: Any) -> tuple[Any, Iterable[Delta]]:
        """Return, at the end of a round, the state to keep and the deltas of the group."""


class StateHandler:
    """How a delta changes the row of its key: the newest row stays, unless `update` is overridden."""

    def update(self, old: Row | None, delta: Delta) -> Iterable[Delta]:
        """Return insertions, deletions and replacements of the row, which change the state and enter the next round."""
        match delta:
            case Insert(row) | Replace(row):
                return () if row == old else (Insert(row) if old is None else Replace(row, old),)
            case Delete(row):
                return (Delete(row),) if row == old else ()
            case Adjust():
                raise UnsupportedQuery(
                    "an adjustment reached the state of a loop, which has no handler for it",
                    hint="derive a class from loops.StateHandler, and say in `update` what it means",
                )


@dataclass(frozen=True)
class Handlers:
    """The handlers of one loop; without an aggregate, the join's deltas go to the state directly."""

    join: JoinHandler
    aggregate: AggregateHandler | None
    state: StateHandler
