"""A failing case without what it fails without: views, tables, epochs, changes and rows, as long as time allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from tests.oracle.cases import Case, Change

T = TypeVar("T")


def reduced(case: Case, fails: Callable[[Case], bool]) -> Case:
    """The smallest case that still fails among those that leave one thing out at a time."""
    while True:
        found = next((smaller for smaller in simpler(case) if fails(smaller)), None)
        if found is None:
            return case
        case = found


def simpler(case: Case) -> Iterator[Case]:
    """Cases that leave something out, large things first."""
    for name in case.settings:
        yield replace(case, settings={k: v for k, v in case.settings.items() if k != name})
    for views in _without_one(case.views):
        yield replace(case, views=views)
    for tables in _without_one(case.tables):
        left = {t.name for t in tables}
        yield replace(case, tables=tables, epochs=tuple(tuple(c for c in e if c.table in left) for e in case.epochs))
    for epochs in _without_one(case.epochs):
        yield replace(case, epochs=epochs)
    for i, changes in enumerate(case.epochs):
        for fewer in (*_without_one(changes), *_with_fewer_rows(changes)):
            yield replace(case, epochs=(*case.epochs[:i], fewer, *case.epochs[i + 1 :]))


def _with_fewer_rows(changes: tuple[Change, ...]) -> Iterator[tuple[Change, ...]]:
    for i, change in enumerate(changes):
        for rows in _without_one(change.rows):
            yield (*changes[:i], replace(change, rows=rows), *changes[i + 1 :])


def _without_one(things: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    for i in range(len(things)):
        yield (*things[:i], *things[i + 1 :])
