"""Sizes of matrices: a number, or a linear form of symbols such as `n`, `n + 1` or `n - m`.

Symbols may change while a program is maintained; numbers may not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from viewlet.matrix.errors import ShapeError

SYMBOL = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Size:
    """A linear form of at least one symbol: Σ coefficient · symbol + constant."""

    terms: tuple[tuple[str, int], ...]
    constant: int = 0

    def __add__(self, other: Dim) -> Dim:
        return combine(self, other, 1) if isinstance(other, int | Size) else NotImplemented

    __radd__ = __add__

    def __sub__(self, other: Dim) -> Dim:
        return combine(self, other, -1) if isinstance(other, int | Size) else NotImplemented

    def __rsub__(self, other: int) -> Dim:
        return combine(other, self, -1) if isinstance(other, int) else NotImplemented

    def __mul__(self, times: int) -> Dim:
        return combine(0, self, times) if isinstance(times, int) else NotImplemented

    __rmul__ = __mul__

    def __str__(self) -> str:
        pieces = [
            (c, f"{'' if abs(c) == 1 else abs(c)}{name}") for name, c in sorted(self.terms, key=lambda t: t[1] < 0)
        ]
        pieces += [(self.constant, str(abs(self.constant)))] if self.constant else []
        text = " ".join(f"{'-' if sign < 0 else '+'} {piece}" for sign, piece in pieces)
        return text.removeprefix("+ ").replace("- ", "-", text.startswith("-"))


Dim = int | Size
Shape = tuple[Dim, ...]
"""`()` for a number, `(rows, columns)` for a matrix."""


def combine(left: Dim, right: Dim, times: int) -> Dim:
    """left + times · right."""
    if isinstance(left, int) and isinstance(right, int):
        return left + times * right
    totals: dict[str, int] = {}
    for dim, factor in ((left, 1), (right, times)):
        for name, coefficient in terms_of(dim):
            totals[name] = totals.get(name, 0) + factor * coefficient
    constant = constant_of(left) + times * constant_of(right)
    terms = tuple((name, c) for name, c in sorted(totals.items()) if c)
    return Size(terms, constant) if terms else constant


def terms_of(dim: Dim) -> tuple[tuple[str, int], ...]:
    return dim.terms if isinstance(dim, Size) else ()


def constant_of(dim: Dim) -> int:
    return dim.constant if isinstance(dim, Size) else dim


def dim_of(value: int | str | Size) -> Dim:
    """A size given by a user: a number, or the name of a symbol."""
    match value:
        case Size():
            return value
        case str() if SYMBOL.fullmatch(value):
            return Size(((value, 1),))
        case int() if value >= 0:
            return int(value)
        case _:
            raise ShapeError(
                f"{value!r} is not a size", hint="a whole number, or a name such as 'n' for one that may change"
            )


def symbol_of(dim: Dim) -> str | None:
    """The name of a size that is a single symbol; None for others."""
    match dim:
        case Size(((name, 1),), 0):
            return name
        case _:
            return None


def symbols_of(dim: Dim) -> frozenset[str]:
    return frozenset(name for name, _ in terms_of(dim))


def measure(dim: Dim, sizes: Mapping[str, int]) -> int:
    """The value of a size."""
    return constant_of(dim) + sum(c * sizes[name] for name, c in terms_of(dim))


def measured(shape: Shape, sizes: Mapping[str, int]) -> tuple[int, int]:
    """The rows and columns of a matrix; a number is stored as 1 × 1."""
    rows, columns = shape or (1, 1)
    return measure(rows, sizes), measure(columns, sizes)


def show_shape(shape: Shape) -> str:
    return " × ".join(map(str, shape)) if shape else "number"
