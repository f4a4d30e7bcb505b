"""Sums over pairs of doubles: the programs of some fixtures beside a loop over all pairs, with every odd number there is."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from tests.compile.fixtures import FOLDER, read_plans
from tests.compile.partitions import OnePlace
from tests.compile.random_changes import Row, Tables
from viewlet.compile import compile_view
from viewlet.plan.types import Type
from viewlet.views.define import ABILITIES

NUMBERS = [0.5, 1.0, 12.5, -30.25, 0.1, 1e17, 1e300, 1e-300, 0.0, -0.0, math.nan, math.inf, -math.inf, None]
CUST, D, DAY = 1, 3, 4


class OddTables(Tables):
    """Tables whose doubles are odd."""

    def _value(self, kind: Type) -> Any:
        return self._random.choice(NUMBERS) if kind.name == "double" else super()._value(kind)

    @property
    def orders(self) -> list[Row]:
        return self._rows["orders"]


def beyond(a: Row, b: Row, bound: float, *, reached: bool) -> bool:
    """Whether a difference exceeds a bound, or reaches it: to Spark, NaN is the greatest number."""
    if a[D] is None or b[D] is None:
        return False
    difference = a[D] - b[D]
    return math.isnan(difference) or difference > bound or (reached and difference == bound)


def total(values: list[tuple[float | None, ...]]) -> float | None:
    """The sum of the signed parts of each pair: exact, unless some part is not finite."""
    parts = [part for pair in values if None not in pair for part in pair if part is not None]
    if not parts:
        return None
    strange = [part for part in parts if not math.isfinite(part)]
    return sum(strange) if strange else float(sum(map(Fraction, parts)))


def far_apart(a: Row, b: Row) -> bool:
    return a[CUST] == b[CUST] and (beyond(a, b, 10, reached=True) or beyond(b, a, 10, reached=True))


def minus(number: float | None) -> float | None:
    return None if number is None else -number


CASES: dict[
    tuple[str, str], tuple[Callable[[Row, Row], bool], Callable[[Row, Row], tuple[float | None, ...]], bool]
] = {
    ("split_infinite", "a difference beside a constant"): (
        lambda a, b: beyond(a, b, 1, reached=False),
        lambda a, _: (a[D],),
        False,
    ),
    ("split_infinite", "a disjunction that excludes itself"): (far_apart, lambda a, b: (a[D], minus(b[D])), True),
    ("factorized_sums", "doubles over an inequality"): (
        lambda a, b: a[CUST] == b[CUST] and a[DAY] > b[DAY],
        lambda a, b: (a[D], minus(b[D])),
        True,
    ),
}
"""Which pairs of orders a query joins, what it adds up, and whether it does so by customer."""


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("module", "title"), list(CASES))
def test_sums_over_pairs(module: str, title: str, seed: int) -> None:
    joins, added, grouped = CASES[module, title]
    decoded = read_plans(FOLDER / "ring" / f"{module}.json")[title]
    program = compile_view("v", decoded.plan, decoded.columns, ABILITIES)
    tables, place = OddTables([decoded.plan], seed), OnePlace(program.steps)
    for epoch in range(4):
        place.run(tables.change(14, 0) if epoch == 0 else tables.change(5, 7), initial=epoch == 0)
        groups: dict[Any, list[tuple[float | None, ...]]] = {} if grouped else {None: []}
        for a in tables.orders:
            for b in tables.orders:
                if joins(a, b):
                    groups.setdefault(a[CUST] if grouped else None, []).append(added(a, b))
        found = place.site.after["v"]
        rows = [] if found is None else list(zip(*(c.to_pylist() for c in found.columns.values()), strict=True))
        expected = {repr((k, total(v)) if grouped else (total(v),)).replace("-0.0", "0.0") for k, v in groups.items()}
        assert {repr(row).replace("-0.0", "0.0") for row in rows} == expected
