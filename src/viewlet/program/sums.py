"""Additive aggregates, and the integers that hold them: what a map of sums looks like.

How the integers are made and read is `columns/sums.py`'s; which columns there are is decided here.
"""

from __future__ import annotations

from dataclasses import dataclass

from viewlet.plan.types import Type


@dataclass(frozen=True, slots=True)
class Sum:
    """count, sum or avg of a column, over the rows where `where` (a column) is true."""

    name: str
    function: str
    column: str | None
    where: str | None
    argument: Type | None
    type: Type


def is_sum(function: str, argument: Type | None) -> bool:
    """Whether an aggregate is one of those that are kept as sums."""
    if function == "count":
        return True
    return function in ("sum", "avg") and argument is not None and argument.is_numeric


def uses_slots(total: Sum) -> bool:
    """Whether a sum's limbs are rows: doubles, and the average of BIGINT, which Spark takes over doubles."""
    if total.function == "count" or total.argument is None:
        return False
    return total.argument.name in ("float", "double") or (total.function == "avg" and total.argument.name == "bigint")


def limbs(total: Sum) -> int:
    """How many columns hold the number itself."""
    if total.function == "count" or total.argument is None or uses_slots(total):
        return 0
    if total.argument.name == "decimal":
        return limbs_for(total.argument.args[0])
    return 2 if total.argument.name == "bigint" else 1


def limbs_for(digits: int) -> int:
    """How many limbs hold a sum of whole numbers of so many decimal digits."""
    return 1 if digits <= 9 else 2 if digits <= 18 else 3 if digits <= 28 else 4


def counts_rows(total: Sum) -> bool:
    """Whether the weight alone is the answer: count(*)."""
    return total.function == "count" and total.column is None and total.where is None


def sum_columns(total: Sum) -> tuple[str, ...]:
    """The integer columns of a map that hold a sum: its limbs, and how many values went in."""
    if counts_rows(total):
        return ()
    return (*(f"{total.name}_{i}" for i in range(limbs(total))), f"{total.name}_n")


@dataclass(frozen=True, slots=True)
class Factor:
    """A whole number of each row: `limbs` columns `name_0`, `name_1`, …; without limbs, the int64 column `name` itself."""

    name: str
    limbs: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(f"{self.name}_{i}" for i in range(self.limbs)) or (self.name,)


@dataclass(frozen=True, slots=True)
class Monomial:
    """A product of whole numbers of each row, times a constant of any size."""

    coefficient: int
    factors: tuple[Factor, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A polynomial, as `limbs` columns `name_0`, `name_1`, …; without limbs, as the column `name` itself."""

    name: str
    limbs: int
    terms: tuple[Monomial, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(f"{self.name}_{i}" for i in range(self.limbs)) or (self.name,)
