"""User-defined aggregates: a state, how rows change it, and its result.

    zero + lift(x₁) + … + lift(xₙ) = state,   result(state) = value

With `merge` (+) states add up, so over an append-only table Viewlet keeps one state for each key. With `inverse` (−)
too, deleted rows are subtracted from the state. Without `merge`, or if rows are deleted and there is no `inverse`, a
changed group is replayed from its rows, ordered by their values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from viewlet import arguments
from viewlet.errors import SqlError, shortened
from viewlet.plan.types import Field, Type, parse_type

State = tuple[Any, ...]
Columns = tuple[Any, ...]
"""The states of groups, one column for each field: Arrow arrays, or NumPy arrays."""
Numbers = np.ndarray[Any, np.dtype[np.int64]]


class _Declared(ABC):
    """The declarations common to both kinds of aggregates."""

    state: str
    """The fields of the state as in a table: `n BIGINT, total DOUBLE`. Whole numbers and decimals stay exact."""
    returns: str
    """The type of the result."""
    zero: State
    """The state of no rows."""
    nulls: bool = False
    """Whether rows with a NULL argument count too."""
    merge: ClassVar[Any] = None
    inverse: ClassVar[Any] = None

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return tuple(Field(name, kind) for name, kind in parse_type(f"struct<{self.state}>").args)

    @cached_property
    def type(self) -> Type:
        return parse_type(self.returns)


class Aggregate(_Declared):
    """An aggregate that processes row by row. States are immutable tuples: return a new one.

    Optional: `merge(a, b)`, the state of the rows of both, in any order; `inverse(a)`: merge(a, inverse(a)) = zero.
    """

    @abstractmethod
    def update(self, state: State, weight: int, *values: Any) -> State:
        """Return the state after adding a row that occurs `weight` times, which is positive."""

    @abstractmethod
    def result(self, state: State) -> Any:
        """Return the aggregate's value for a state; None is NULL."""


class ColumnAggregate(_Declared):
    """An aggregate that processes whole columns: states of many groups at once, as columns.

    Optional: `merge(a, b)` and `inverse(a)`, over columns as passed to `result`.
    """

    @abstractmethod
    def fold(self, groups: Numbers, count: int, weights: Numbers, *columns: pa.Array) -> Columns:
        """Return the states of `count` groups of rows: for each row its group's number, its weight, its values."""

    @abstractmethod
    def result(self, state: Columns) -> Any:
        """Return the aggregate's value for the state of each group."""


class Replay:
    """An aggregate computed from scratch over the rows of one group: the function that Spark runs."""

    def __init__(self, name: str, aggregate: Aggregate | ColumnAggregate) -> None:
        self.name, self.aggregate = name, aggregate

    def __call__(self, *columns: pa.Array) -> Any:
        from viewlet.engine.groups.grouping import Groups
        from viewlet.engine.terms.user_aggregates import replay

        rows = len(columns[0])
        whole = [c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in columns]
        groups = Groups(np.zeros(rows, dtype=np.int64), np.ones(rows, dtype=np.int64), 1)
        return replay(self, whole, groups)[0].as_py()


def refuse_wrong(name: str, aggregate: Any) -> None:
    """Raise for an invalid declaration."""
    arguments.text("the name of an aggregate", name)
    if not isinstance(aggregate, Aggregate | ColumnAggregate):
        raise SqlError(
            f"aggregate {name}: {shortened(aggregate)} is not an aggregate",
            hint="give an object of a viewlet.Aggregate class",
        )
    missing = [what for what in ("state", "returns", "zero") if not hasattr(aggregate, what)]
    if missing:
        raise SqlError(f"aggregate {name} does not declare {missing[0]}", hint="declare state, returns and zero")
    try:
        fields, _ = aggregate.fields, aggregate.type
    except ValueError as error:
        raise SqlError(f"aggregate {name}: {error}", hint='for example state = "n BIGINT, total DOUBLE"') from None
    if not isinstance(aggregate.zero, tuple) or len(aggregate.zero) != len(fields):
        raise SqlError(f"aggregate {name}: zero is {aggregate.zero!r}", hint=f"a tuple of {aggregate.state}")
    if aggregate.inverse is not None and aggregate.merge is None:
        raise SqlError(f"aggregate {name} has an inverse but no merge", hint="define merge as well")
