"""Random queries: every operator that views are made of, nested, over typed columns.

A query is SQL text with named, typed columns, so that the next operator can be put on top of it. The rules that
make one, by family, are in the files beside this one; `grammar.py` lists them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import strategies as st

from tests.oracle.values import SCALARS

T = TypeVar("T")
INTEGERS = ("int", "bigint", "smallint", "tinyint")
REAL, OPAQUE = "real", "opaque"
"""Results that may differ by rounding, and those that nothing is put on top of: both are only passed on."""


@dataclass(frozen=True)
class Column:
    name: str
    type: str


@dataclass(frozen=True)
class Query:
    """A query as SQL text, and the columns it has. Where Spark leaves the answer open, the text is in two versions."""

    text: str
    columns: tuple[Column, ...] = ()

    @property
    def given(self) -> str:
        """The text that a user writes."""
        return _version(self.text, r"\1")

    @property
    def settled(self) -> str:
        """A text with only one answer, among those that the other one may have: the one that Viewlet gives."""
        return _version(self.text, r"\2")

    def of(self, types: tuple[str, ...]) -> list[Column]:
        return [c for c in self.columns if c.type in types]

    @property
    def ordered(self) -> list[Column]:
        return self.of(SCALARS)


def either(given: str, settled: str) -> str:
    """SQL whose answer is open, and SQL for the one of its answers that Viewlet gives."""
    return f"«{given}¦{settled}»"


_EITHER = re.compile("«([^«»¦]*)¦([^«»¦]*)»")


def _version(text: str, which: str) -> str:
    while "«" in text:
        text = _EITHER.sub(which, text)
    return text


Rule = Callable[["Queries", int], Query | None]


class Queries:
    """Draws queries over some tables."""

    def __init__(
        self,
        draw: Callable[[Any], Any],
        tables: Mapping[str, Sequence[Column]],
        rules: Sequence[Rule],
        prefix: str,
        *,
        lenient: bool = False,
    ) -> None:
        self._draw, self._prefix, self._count = draw, prefix, 0
        self.tables, self.rules = tables, rules
        self.lenient = lenient
        """Whether what fails with ANSI gives NULL, or wraps around."""

    def pick(self, items: Iterable[T]) -> T:
        return self._draw(st.sampled_from(list(items)))

    def chance(self, one_in: int) -> bool:
        return self._draw(st.integers(0, one_in - 1)) == one_in - 1  # a smaller example has less of what is rare

    def some(self, items: Sequence[T], most: int) -> list[T]:
        """One to `most` different ones of some items; none if there are none."""
        if not items:
            return []
        return list(dict.fromkeys(self.pick(items) for _ in range(self.pick(range(1, min(most, len(items)) + 1)))))

    def name(self) -> str:
        self._count += 1
        return f"{self._prefix}{self._count}"

    def new(self, kind: str) -> Column:
        return Column(self.name(), kind)

    def query(self, depth: int) -> Query:
        """A query of some depth."""
        if depth <= 0:
            table = self.pick(sorted(self.tables))
            return Query(f"SELECT * FROM {table}", tuple(self.tables[table]))
        for _ in range(3):
            if made := self.pick(self.rules)(self, depth):
                return made
        return self.query(depth - 1)


def listed(named: Iterable[tuple[str, Column]]) -> str:
    """A select list: expressions and the columns that they become."""
    return ", ".join(e if e == c.name else f"{e} AS {c.name}" for e, c in named)


def names(columns: Iterable[Column]) -> str:
    return ", ".join(c.name for c in columns)


def pairs_of(a: Query, b: Query, types: tuple[str, ...]) -> list[tuple[Column, Column]]:
    """Columns of two queries that can be compared."""
    return [(x, y) for x in a.of(types) for y in b.of(types) if x.type == y.type]
