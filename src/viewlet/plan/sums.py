"""Additive aggregates and the integer columns that hold them: the layout of a map of sums.

This module decides which columns there are; `columns/exact/encoded_sums.py` encodes and decodes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viewlet.plan.types import DOUBLE, Type

Power = tuple[int, int]
"""(i, j) stands for xⁱ·yʲ, where x is the first argument and y the second."""

_SPREAD: tuple[Power, ...] = ((1, 0), (2, 0))
_JOINT: tuple[Power, ...] = ((1, 0), (0, 1), (1, 1))

POWERS: dict[str, tuple[Power, ...]] = {
    **dict.fromkeys(("var_pop", "var_samp", "stddev_pop", "stddev_samp", "regr_sxx"), _SPREAD),
    **dict.fromkeys(("skewness", "wrapping_skewness"), (*_SPREAD, (3, 0))),
    **dict.fromkeys(("kurtosis", "wrapping_kurtosis"), (*_SPREAD, (3, 0), (4, 0))),
    **dict.fromkeys(("covar_pop", "covar_samp", "regr_sxy"), _JOINT),
    **dict.fromkeys(("regr_slope", "regr_intercept"), (*_JOINT, (0, 2))),
    **dict.fromkeys(("corr", "wrapping_corr", "regr_r2"), (*_JOINT, (2, 0), (0, 2))),
    **dict.fromkeys(("corr[since 4.3]", "wrapping_corr[since 4.3]"), (*_JOINT, (2, 0), (0, 2))),
}
"""The moments, functions of doubles, with the powers whose sums they need."""


SLOT = "_slot"
"""The column of a map of sums that distinguishes the digits of double sums."""


@dataclass(frozen=True, slots=True)
class Sum:
    """count, sum, avg or a moment of a column (or two), over the rows where the column `where` is true.

    A moment is computed from sums of `powers`, which moments of the same columns may share under the name `held`.
    Products of up to `degree` doubles add up without rounding. `window` names the column that says where the limbs of
    doubles start, for a leaf that keeps these as integers (columns/exact/double_windows.py).
    """

    name: str
    function: str
    column: str | None
    where: str | None
    argument: Type | None
    type: Type
    second: str | None = None
    powers: tuple[Power, ...] = ()
    held: str | None = None
    degree: int = 1
    window: str | None = None


def is_sum(function: str, arguments: Sequence[Type]) -> bool:
    """Whether an aggregate can be kept as a sum."""
    if function in POWERS:
        return all(kind == DOUBLE for kind in arguments)
    return function == "count" or (function in ("sum", "avg") and arguments[0].is_numeric)


def places(sums: Sequence[Sum]) -> list[int]:
    """The first slot of each sum's digits in a map, counted from 1."""
    found: dict[str, int] = {}
    free = 1
    for total in sums:
        if found.setdefault(holder(total), free) == free:
            free += sum(map(sum, total.powers)) or special_place(0, total.degree) + 1
    return [found[holder(total)] for total in sums]


def special_place(place: int, degree: int) -> int:
    """The place whose slots count non-finite values: beyond the digits of products, which leave no slot free."""
    return place if degree == 1 else place + degree


def holder(total: Sum) -> str:
    """The name under which a map holds a sum."""
    return total.held or total.name


def uses_slots(total: Sum) -> bool:
    """Whether a sum's limbs are rows: for doubles, and for the average of BIGINT, which Spark computes in doubles."""
    if total.function == "count" or total.argument is None or total.window is not None:
        return False
    return total.argument.name in ("float", "double") or (total.function == "avg" and total.argument.name == "bigint")


def limbs(total: Sum) -> int:
    """How many columns hold the number itself."""
    if total.function == "count" or total.argument is None or uses_slots(total):
        return 0
    if total.window is not None:
        return limbs_in_window(1 if total.second is None else 2)
    if total.argument.name == "decimal":
        return limbs_for(total.argument.args[0])
    return 2 if total.argument.name == "bigint" else 1


def limbs_for(digits: int) -> int:
    """How many limbs hold a sum of integers with this many decimal digits."""
    return 1 if digits <= 9 else 2 if digits <= 18 else 3 if digits <= 28 else 4


WINDOW = 2
"""How many limbs a double may be away from the start of its window."""


def limbs_in_window(degree: int) -> int:
    """How many limbs hold a product of `degree` doubles, three limbs each, anywhere in their windows."""
    return 3 * degree + WINDOW - 1


def counts_rows(total: Sum) -> bool:
    """Whether the weight alone is the result: count(*)."""
    return total.function == "count" and total.column is None and total.where is None


def sum_columns(total: Sum) -> tuple[str, ...]:
    """The integer columns of a map that hold a sum: its limbs, and the number of values."""
    if counts_rows(total):
        return ()
    return (*(f"{holder(total)}_{i}" for i in range(limbs(total))), f"{holder(total)}_n")


@dataclass(frozen=True, slots=True)
class Factor:
    """An integer per row, in `limbs` columns `name_0`, `name_1`, …; without limbs, in the int64 column `name`.

    A product of doubles is in units given by the columns `windows`, one per factor.
    """

    name: str
    limbs: int = 0
    windows: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(f"{self.name}_{i}" for i in range(self.limbs)) or (self.name,)


@dataclass(frozen=True, slots=True)
class Monomial:
    """A product of integers of each row, times a constant and a power of two."""

    coefficient: int
    factors: tuple[Factor, ...]
    exponent: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for factor in self.factors for name in (*factor.columns, *factor.windows))


@dataclass(frozen=True, slots=True)
class SumColumns:
    """A polynomial, in `limbs` columns `name_0`, `name_1`, …; without limbs, in the column `name`."""

    name: str
    limbs: int
    terms: tuple[Monomial, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(f"{self.name}_{i}" for i in range(self.limbs)) or (self.name,)


@dataclass(frozen=True, slots=True)
class DoubleSum:
    """A polynomial of doubles, whose digits are rows in the slots from `place` on; `counted` is the number of rows."""

    name: str
    place: int
    degree: int
    terms: tuple[Monomial, ...]
    counted: Monomial
