"""Routing: which groups each row of an input belongs to (§2.2 and §2.4 of the paper).

A row may go to one group, to several, to none (`DISCARD`), or to all groups of the run (`ALL`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Positions
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.rows import Rows
from viewlet.errors import FlowError, shortened
from viewlet.flow.increments.python_rows import Row
from viewlet.plan.types import Field


class Route(Enum):
    """The routes of rows without a group of their own."""

    ALL = "ALL"
    """To every group of the run."""
    DISCARD = "DISCARD"
    """To no group."""


ALL, DISCARD = Route.ALL, Route.DISCARD

RouteBy = tuple[str, ...] | Route | Callable[[Row], Any]
"""Columns, a `Route`, or a function that returns a key (a tuple for several columns), a list of keys or a `Route`."""

_NOWHERE: Positions = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Routed:
    """The rows of an input with their keys."""

    at: Positions
    """Positions of rows, one for each key of a row."""
    keys: tuple[pa.Array, ...]
    """The keys at these positions, by column."""
    everywhere: Positions
    """The rows routed to all groups."""


def route(rows: Rows, by: RouteBy, key: Sequence[Field], read: Callable[[], list[Row]]) -> Routed:
    """Find the keys of rows; `read` returns the rows as dicts."""
    everything = np.arange(len(rows))
    if by is ALL:
        return Routed(_NOWHERE, tuple(_keys([], key)), everything)
    if by is DISCARD:
        return Routed(_NOWHERE, tuple(_keys([], key)), _NOWHERE)
    if isinstance(by, tuple):
        return Routed(everything, tuple(rows[name] for name in by), _NOWHERE)
    assert callable(by)
    return _by_function([by(row) for row in read()], key)


def _by_function(answers: list[Any], key: Sequence[Field]) -> Routed:
    at: list[int] = []
    keys: list[tuple[Any, ...]] = []
    everywhere = [place for place, answer in enumerate(answers) if answer is ALL]
    for place, answer in enumerate(answers):
        for found in _listed(answer):
            at.append(place)
            keys.append(_checked(found, key))
    return Routed(np.array(at, np.int64), tuple(_keys(keys, key)), np.array(everywhere, np.int64))


def _listed(answer: Any) -> Sequence[Any]:
    """The distinct keys that a function returned for one row."""
    if answer is None or isinstance(answer, Route):
        return ()
    return list(dict.fromkeys(answer)) if isinstance(answer, list | set | frozenset) else (answer,)


def _checked(found: Any, key: Sequence[Field]) -> tuple[Any, ...]:
    values = found if isinstance(found, tuple) else (found,)
    if len(values) != len(key):
        names = ", ".join(f.name for f in key) or "nothing"
        raise FlowError(
            f"route_by returned {shortened(found)}, but the key is {names}",
            hint="return a value for one column, a tuple for several, a list for several groups, ALL, or DISCARD",
        )
    return values


def _keys(keys: list[tuple[Any, ...]], key: Sequence[Field]) -> list[pa.Array]:
    columns = zip(*keys, strict=True) if keys else [[] for _ in key]
    return [pa.array(list(column), arrow_type(f.type)) for column, f in zip(columns, key, strict=True)]
