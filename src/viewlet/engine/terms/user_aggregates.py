"""The delta handlers of users' aggregates, over columns: rows to states, states to states, states to values.

A row-by-row aggregate is called for each row and each state; one that works on columns, once.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence
from functools import lru_cache
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.aggregates import Aggregate, Replay
from viewlet.columns.arrays import Positions
from viewlet.columns.arrow_types import arrow_type, spark_type
from viewlet.columns.hash import hash_array
from viewlet.columns.order import Key, ascending, sort, why_not_order
from viewlet.engine.groups.grouping import Groups, taken, without_nulls
from viewlet.errors import EvaluationError
from viewlet.plan.expr import Reduce

States = list[pa.Array]
"""The states of some groups, one column per field."""


def load(call: Reduce) -> Replay:
    """The unpickled handlers of a call."""
    assert call.handlers is not None
    try:
        return _unpickled(call.handlers.code)
    except (ImportError, AttributeError, TypeError, ValueError, pickle.UnpicklingError) as error:
        raise EvaluationError(
            f"the aggregate {call.function.partition('[')[0]} cannot be loaded here: {error}",
            hint="make its module importable (PYTHONPATH); or define and register it again, and create the view again",
        ) from None


@lru_cache(maxsize=256)
def _unpickled(code: bytes) -> Replay:
    function, _ = pickle.loads(code)
    assert isinstance(function, Replay)
    return function


class _Calling:
    """Runs users' code: any exception becomes an error of the definition."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if isinstance(error, Exception):
            raise EvaluationError(f"{type(error).__name__}: {error}, in the aggregate {self.name}") from error


def replay(users: Replay, columns: Sequence[pa.Array], groups: Groups) -> pa.Array:
    """The value of each group, from its rows."""
    return result(users, fold(users, columns, groups))


def fold(users: Replay, columns: Sequence[pa.Array], groups: Groups) -> States:
    """The state of each group of rows. If states do not merge, the order may matter, so rows are sorted by value."""
    if not users.aggregate.nulls:
        columns, groups = without_nulls(columns, groups)
    if users.aggregate.merge is None:
        columns, groups = taken(columns, groups, _in_order(columns, groups))
    if isinstance(users.aggregate, Aggregate):
        return _fold_rows(users, users.aggregate, columns, groups)
    with _Calling(users.name):
        return _columns(users, users.aggregate.fold(groups.of, groups.count, groups.weights, *columns))


def _fold_rows(users: Replay, aggregate: Aggregate, columns: Sequence[pa.Array], groups: Groups) -> States:
    states = [copy.deepcopy(aggregate.zero) for _ in range(groups.count)]
    of, weights = groups.of.tolist(), groups.weights.tolist()
    with _Calling(users.name):
        for at, weight, *values in zip(of, weights, *(c.to_pylist() for c in columns), strict=True):
            states[at] = aggregate.update(states[at], weight, *values)
        return _transposed(users, states)


def _in_order(columns: Sequence[pa.Array], groups: Groups) -> Positions:
    """The rows by group and in the order of their values."""
    keys: list[Key] = [groups.of]
    for column in columns:
        keys += ascending(column) if why_not_order(spark_type(column.type)) is None else [hash_array(column)]
    return sort(keys, len(groups))


def merge(users: Replay, a: States, b: States) -> States:
    """The merged states."""
    with _Calling(users.name):
        if isinstance(users.aggregate, Aggregate):
            pairs = zip(_each(a), _each(b), strict=True)
            return _transposed(users, [users.aggregate.merge(one, other) for one, other in pairs])
        return _columns(users, users.aggregate.merge(tuple(a), tuple(b)))


def inverse(users: Replay, a: States) -> States:
    """The states that cancel the given ones."""
    with _Calling(users.name):
        if isinstance(users.aggregate, Aggregate):
            return _transposed(users, [users.aggregate.inverse(one) for one in _each(a)])
        return _columns(users, users.aggregate.inverse(tuple(a)))


def result(users: Replay, a: States) -> pa.Array:
    """The values of states."""
    with _Calling(users.name):
        if isinstance(users.aggregate, Aggregate):
            return _array([users.aggregate.result(one) for one in _each(a)], arrow_type(users.aggregate.type))
        return _array(users.aggregate.result(tuple(a)), arrow_type(users.aggregate.type))


def zeros(users: Replay) -> States:
    """The state of no rows, once."""
    return _transposed(users, [users.aggregate.zero])


def _each(a: States) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in a), strict=True))


def _transposed(users: Replay, states: list[tuple[Any, ...]]) -> States:
    wrong = next((s for s in states if not isinstance(s, tuple) or len(s) != len(users.aggregate.fields)), None)
    if wrong is not None:
        raise ValueError(f"{wrong!r} is not a tuple of {users.aggregate.state}")
    return _columns(users, tuple(zip(*states, strict=True)) or ((),) * len(users.aggregate.fields))


def _columns(users: Replay, columns: Sequence[Any]) -> States:
    kinds = [arrow_type(f.type) for f in users.aggregate.fields]
    return [_array(column, kind) for column, kind in zip(columns, kinds, strict=True)]


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    """Users' values as a column of the declared type; a value that does not fit is an error."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.Array):
        return values.cast(kind)
    return pa.array(values if isinstance(values, np.ndarray) else list(values), type=kind)
