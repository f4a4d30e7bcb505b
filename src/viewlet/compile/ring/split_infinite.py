"""Differences of doubles, split into finite and infinite cases.

    a.x − b.y > 1      ⟶      finite(a.x)·finite(b.y)·(…)  +  the same with either, or both, not finite

Between finite numbers the inequality is a range (inequality.py), so that its sums need no pair of rows. The other
products test it as it is: ∞ − ∞ is NaN, which Spark considers greater than any number. They involve few rows, if any.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import inf

from viewlet.compile.build import Builder
from viewlet.compile.ring.calculus import Clause
from viewlet.compile.ring.inequality import FINITE, can_split, double_difference
from viewlet.plan.expr import Call, Expr, Literal, conjunction
from viewlet.plan.types import BOOLEAN, DOUBLE


def split_infinite(build: Builder, clause: Clause) -> list[Clause]:
    """The clause with its differences of doubles restricted to finite numbers, and the clauses for the other cases."""
    sides = [side for condition in clause.conditions for side in _differences(clause, condition)]
    numbers: dict[int, list[Expr]] = {}
    for factor, number in sides:
        if number not in numbers.setdefault(factor, []):
            numbers[factor].append(number)
    if not can_split(build, clause) or len(numbers) != 2:
        return [clause]
    tests = [conjunction(tuple(test for e in exprs for test in _is_finite(e))) for exprs in numbers.values()]
    assert all(tests)
    return [_split(clause, [t for t in tests if t is not None], held) for held in product((True, False), repeat=2)]


def _differences(clause: Clause, condition: Expr) -> Iterator[tuple[int, Expr]]:
    """The doubles that a condition subtracts and compares, with their factors; none if a part has another form."""
    parts = _alternatives(condition)
    found = [double_difference(clause.home, part) for part in parts]
    for sides in found if all(found) else ():
        assert sides is not None
        yield from ((sides.left, sides.less), (sides.right, sides.more))


def _alternatives(condition: Expr) -> list[Expr]:
    match condition:
        case Call("or", (a, b)):
            return [a, b]
        case _:
            return [condition]


def _is_finite(number: Expr) -> tuple[Expr, Expr]:
    return (
        Call("gt", (number, Literal(-inf, DOUBLE)), BOOLEAN),
        Call("lt", (number, Literal(inf, DOUBLE)), BOOLEAN),
    )


def _split(clause: Clause, tests: list[Expr], held: tuple[bool, ...]) -> Clause:
    """The part of a clause for the rows of each factor that pass its test, or do not."""
    local = [t if passes else Call("not", (t,), BOOLEAN) for t, passes in zip(tests, held, strict=True)]
    conditions = [_marked(clause, c) if all(held) else c for c in clause.conditions]
    return replace(clause, conditions=(*conditions, *local))


def _marked(clause: Clause, condition: Expr) -> Expr:
    if not any(True for _ in _differences(clause, condition)):
        return condition
    marked = tuple(Call(FINITE, (part,), BOOLEAN) for part in _alternatives(condition))
    return marked[0] if len(marked) == 1 else Call("or", marked, BOOLEAN)
