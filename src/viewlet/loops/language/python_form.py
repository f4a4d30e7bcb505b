"""The Python form of loops, with DataFrames and functions of DataFrames instead of queries.

    recursion(Recursive("d", first, step, key="v"))        WITH RECURSIVE d USING KEY (v) AS (first UNION step)
    repetition("walk", first, step, rounds=2)              REPEAT walk = first STEP step LIMIT 2
    iteration(Iterated("rank", first, step), until="…")    INITIALIZE rank AS (first) ITERATE SET rank = step UNTIL …

A function receives the states that its parameters name. A query that is not text is given a name, by which the loop's
texts read it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from viewlet import arguments
from viewlet.errors import UnsupportedQuery
from viewlet.loops.handlers.deltas import Row
from viewlet.loops.handlers.handlers import AggregateHandler, Handlers, JoinHandler, StateHandler
from viewlet.loops.language.syntax import Limit, LoopText, Merge, State, Until
from viewlet.plan.words import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Query: TypeAlias = "str | DataFrame"
Step: TypeAlias = "str | DataFrame | Callable[..., DataFrame]"


@dataclass(frozen=True)
class Recursive:
    """A state that rounds add to: new rows; with `all`, every row; with `key`, one row for each key.

    Rows of a key are merged by the step's aggregate, min, max or sum; else by `merge`; else the newest row stays.
    """

    name: str
    first: Query
    step: Step
    key: str | Sequence[str] = ()
    all: bool = False
    merge: Callable[[Row, Row], Row] | None = None
    """Merges the row of a key with one of a round, as tuples; with it, every epoch runs all rounds."""


@dataclass(frozen=True)
class Iterated:
    """A state that every round replaces by the result of its step."""

    name: str
    first: Query
    step: Step


@dataclass(frozen=True)
class Handling:
    """Handlers, and the columns by which the state and the relation are joined."""

    handlers: Handlers
    on: tuple[str, str]


@dataclass(frozen=True)
class PythonLoop:
    """A loop, and its queries that are not text, by the names that its texts use."""

    text: LoopText
    queries: Mapping[str, Any]
    handling: Handling | None = None
    """The handlers, if they are the step."""
    merges: Mapping[str, Any] = field(default_factory=dict)
    """The user-defined merge functions, by state."""


def recursion(
    *states: Recursive,
    result: Step | None = None,
    limit: int | None = None,
    at_limit: Literal["error", "return"] = "error",
) -> PythonLoop:
    """A loop whose rounds add rows until a round produces no new ones; states may read each other.

    `limit`: the last round that may produce rows; `at_limit` says whether it is an error if a later one would.
    """
    queries: dict[str, Any] = {}
    made = tuple(
        _state(queries, s.name, s.first, s.step, _merge(s), arguments.texts(f"the key of {s.name}", s.key))
        for s in states
    )
    bound = None if limit is None else Limit(_positive("limit", limit), at_limit == "error")
    merges = {s.name: s.merge for s in states if s.merge is not None}
    if merges and (len(states) > 1 or not made[0].key):
        raise UnsupportedQuery("a merge of one's own is for a loop of one state that has a key")
    text = LoopText(made, _result(queries, made, result), bound, restarts=bool(merges))
    return PythonLoop(text, queries, merges=merges)


def repetition(name: str, first: Query, step: Step, *, rounds: int, result: Step | None = None) -> PythonLoop:
    """A loop of a fixed number of rounds, starting from the first rows."""
    queries: dict[str, Any] = {}
    made = (_state(queries, name, first, step, "last"),)
    limit = Limit(_positive("rounds", rounds), is_error=False)
    return PythonLoop(LoopText(made, _result(queries, made, result), limit), queries)


def iteration(
    *states: Iterated,
    until: str | None = None,
    by: str | Sequence[str] = (),
    on: str | None = None,
    hold: str | None = None,
    max_rounds: int | None = None,
    diffuse: bool = False,
    restart: bool = False,
    result: Step | None = None,
) -> PythonLoop:
    """A loop that resumes from its last result until it settles: nothing changes, or `until` holds.

    `until` and `hold` are conditions over `new.x` and `old.x`, the rows of the state `on` that a round changes, matched
    `by` columns; `on` is the first state by default. A step sees the results of the steps before it. With
    `diffuse`, the changes of the last of `max_rounds` are not propagated until their row changes again.
    """
    if len(states) > 1 and any(isinstance(s.step, str) for s in states):
        raise UnsupportedQuery(
            "a step that is a text does not see what the steps before it have made",
            hint="give the steps as functions of the states, or the whole loop as text: INITIALIZE … ITERATE …",
        )
    queries: dict[str, Any] = {}
    made = tuple(_state(queries, s.name, s.first, s.step, "replace") for s in states)
    condition = None
    if until is not None:
        condition = Until(until, on or made[0].name, arguments.texts("by", by), hold)
    limit = None if max_rounds is None else Limit(_positive("max_rounds", max_rounds), is_error=False)
    if diffuse and (limit is None or condition is None or len(states) > 1):
        raise UnsupportedQuery("diffuse needs one state, until and max_rounds")
    text = LoopText(made, _result(queries, made, result), limit, condition, restart, diffuse)
    return PythonLoop(text, queries)


def fixpoint(
    name: str,
    first: Query,
    relation: Query,
    *,
    on: tuple[str, str],
    key: str | Sequence[str],
    join: JoinHandler,
    aggregate: AggregateHandler | None = None,
    state: StateHandler | None = None,
    max_rounds: int | None = None,
    result: Step | None = None,
) -> PythonLoop:
    """A loop of delta handlers: changes of the state are joined with a relation, aggregated, and applied to the state.

    `on`: the join columns of the state and of the relation; `key`: the columns that identify a row of the state.
    It ends when a round changes nothing in the state. An epoch resumes from the last result.
    """
    queries: dict[str, Any] = {}
    made = (_state(queries, name, first, relation, "handled", arguments.texts("key", key)),)
    limit = None if max_rounds is None else Limit(_positive("max_rounds", max_rounds))
    handling = Handling(Handlers(join, aggregate, state or StateHandler()), on)
    return PythonLoop(LoopText(made, _result(queries, made, result), limit), queries, handling)


def _merge(state: Recursive) -> Merge:
    if state.merge is not None:
        return "merged"
    return "key" if state.key else "all" if state.all else "distinct"


def _positive(what: str, value: int) -> int:
    if arguments.number(what, value) < 1:
        raise UnsupportedQuery(f"{what} is {value}", hint="give a whole number from 1 on")
    return value


def _state(
    queries: dict[str, Any], name: str, first: Query, step: Step, merge: Merge, key: tuple[str, ...] = ()
) -> State:
    initial, following = _named(queries, f"_{name}_first", first), _named(queries, f"_{name}_step", step)
    return State(name, (), initial, following, merge, key)


def _result(queries: dict[str, Any], states: tuple[State, ...], result: Step | None) -> str:
    if not states:
        raise UnsupportedQuery("a loop has at least one state")
    return f"SELECT * FROM {quoted(states[0].name)}" if result is None else _named(queries, "_result", result)


def _named(queries: dict[str, Any], name: str, query: Step) -> str:
    """A text for a query: the query itself, or one that reads it by a name."""
    if isinstance(query, str):
        return query
    queries[name] = query
    return f"SELECT * FROM {quoted(name)}"
