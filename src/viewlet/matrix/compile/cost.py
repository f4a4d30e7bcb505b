"""The cost of a refresh: estimated seconds of each statement on a machine (table 6.2 of the thesis, with constants).

A product of r × m and m × c costs its arithmetic and the packing of its matrices for BLAS; with a few vectors, it costs
reading the matrix. A change is described by its rank and the numbers of rows and columns it touches. Estimates choose
between correct ways to refresh, and `explain` shows them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from viewlet.matrix.algebra.ops import (
    Add,
    Broadcast,
    Constant,
    Diagonal,
    Elementwise,
    Full,
    Identity,
    Inner,
    Inverse,
    Leading,
    Op,
    Product,
    Scale,
    SizeOf,
    Slice,
    Solve,
    Stack,
    Steps,
    Subtract,
    Sum,
    SumOfProducts,
    Trace,
    Transpose,
    operands,
)
from viewlet.matrix.arrays.evaluate import is_view
from viewlet.matrix.arrays.kernels import FEW
from viewlet.matrix.compile.machine import Machine
from viewlet.matrix.delta.changes import Change, Dense, Factored
from viewlet.matrix.delta.krylov import is_stepped

Extent = tuple[int, int]
"""Rows and columns."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A change in factors: its rank, and the rows and columns that it touches."""

    rank: int
    rows: int
    columns: int


@dataclass(frozen=True, slots=True)
class Whole:
    """A change as one matrix."""


Kind = Spread | Whole | None
"""How a matrix changes; None if it does not."""
Kinds = Callable[[str], Kind]


def kind_of(change: Change | None) -> Kind:
    match change:
        case None:
            return None
        case Dense():
            return Whole()
        case Factored(left, right):
            return Spread(change.rank, left.support, right.support)
        case _:
            assert_never(change)


class Costs:
    """The costs of statements over matrices of known sizes."""

    def __init__(self, extents: Mapping[str, Extent], machine: Machine, width: int = 8) -> None:
        self.extents = extents
        self.machine = machine
        self.width = width
        self._checking: dict[tuple[str, int], float] = {}

    def product(self, rows: int, inner: int, columns: int, times: int = 1) -> float:
        """A product: for few vectors, a pass and a part for each further one; for many, arithmetic and three passes.

        `times`: consecutive products with the same matrix.
        """
        thin = min(rows, inner, columns)
        largest = max(rows * inner, inner * columns, rows * columns)
        reading = self.machine.passing(self.width * largest, times)
        if thin <= FEW:
            return times * self.machine.call + (1 + 0.4 * (thin - 1)) * reading
        arithmetic = 2 * rows * inner * columns / self.machine.flops
        return times * (self.machine.call + arithmetic) + 3 * reading

    def moving(self, entries: float) -> float:
        return self.machine.call + self.width * entries / self.machine.bytes

    def evaluating(self, name: str, op: Op) -> float:
        """Evaluating the whole result from whole operands, and checking that its entries are finite."""
        return 0.0 if is_view(op) else self._result(name, op) + self.moving(math.prod(self.extents[name]))

    def _result(self, name: str, op: Op) -> float:
        rows, columns = self.extents[name]
        match op:
            case Product(a):
                return self.product(rows, self.extents[a][1], columns)
            case SumOfProducts(products, addends):
                found = sum(self.product(rows, self.extents[a][1], columns) for a, _ in products)
                return found + (len(products) + len(addends) - 1) * self.moving(3 * rows * columns)
            case Steps(a, _, added, times):
                adding = 0.0 if added is None else self.moving(3 * rows * columns)
                return self.product(rows, rows, columns, times) + times * adding
            case Inverse():  # 2n³, and slower than a product
                return 3 * self.product(rows, rows, rows)
            case Solve(a):
                return self.product(rows, rows, rows) / 2 + self.product(rows, rows, columns)
            case Leading(a):
                return 10 * self.product(rows, rows, columns)
            case Sum(a) | Trace(a) | Diagonal(a) | Inner(a):
                return self.moving(2 * self.extents[a][0] * self.extents[a][1])
            case Elementwise():
                return self.moving(10 * rows * columns)
            case Add() | Subtract() | Scale() | Stack():
                return self.moving(3 * rows * columns)
            case Transpose() | Slice() | Broadcast() | Identity() | Full() | Constant() | SizeOf():
                return 0.0
            case _:
                assert_never(op)

    def staging(self, names: Iterable[str], kind: Kinds) -> float:
        """Computing the new operands as whole matrices before an evaluation."""
        return sum(self.moving(3 * self.extents[n][0] * self.extents[n][1]) for n in names if kind(n) is not None)

    def applying(self, name: str, kind: Kind) -> float:
        """A += Δ."""
        rows, columns = self.extents[name]
        match kind:
            case None:
                return 0.0
            case Whole():
                return self.moving(3 * rows * columns)
            case Spread(rank, r, c):
                return self.moving(4 * r * c) + 2 * r * rank * c / self.machine.flops  # reads and writes both
            case _:
                assert_never(kind)

    def delta(self, name: str, op: Op, kind: Kinds) -> tuple[float, Kind] | None:
        """The cost of a statement's delta rule and the change that it returns; None if there is no rule."""
        rows, columns = self.extents[name]
        match op:
            case Product(a, b):
                return self._products(name, [(a, b)], [], kind)
            case SumOfProducts(products, addends):
                return self._products(name, products, addends, kind)
            case Steps():
                return self._steps(name, op, kind)
            case Add(a, b) | Subtract(a, b):
                return self._sum(name, kind(a), kind(b))
            case Inverse(a):
                return self._inverse(rows, kind(a))
            case Scale(factor, a):
                changed = isinstance(factor, str) and kind(factor) is not None
                return None if changed else (self.machine.call, kind(a))
            case Transpose(a):
                return 0.0, _turned(kind(a))
            case Slice(a) | Diagonal(a) | Broadcast(a):
                return self.machine.call, _capped(kind(a), rows, columns)
            case Stack(parts):
                return self._sum(name, *(kind(p) for p in parts))
            case Sum(a):
                return self.moving(sum(self._extent(kind(a), a))), _capped(kind(a), rows, columns)
            case Trace(a):
                return self.moving(sum(self._extent(kind(a), a))), Whole()
            case Inner(a, b):
                return self._inner(a, kind(a)) + self._inner(b, kind(b)), Whole()
            case Elementwise(_, parts):
                return self._entrywise(rows, columns, [kind(p) for p in parts if isinstance(p, str)])
            case Solve() | Leading():
                return None
            case Identity() | Full() | Constant() | SizeOf():
                return 0.0, None
            case _:
                assert_never(op)

    def _products(
        self, name: str, products: Sequence[tuple[str, str]], addends: Sequence[str], kind: Kinds
    ) -> tuple[float, Kind]:
        """ΔA·B' + A·ΔB for each product, joined into one change."""
        terms = [term for a, b in products for term in self._terms(name, self.extents[a][1], kind(a), kind(b))]
        joined, found = self._sum(name, *(k for _, k in terms), *map(kind, addends))
        return sum(work for work, _ in terms) + joined, found

    def _terms(self, name: str, inner: int, a: Kind, b: Kind) -> Iterator[tuple[float, Kind]]:
        rows, columns = self.extents[name]
        if isinstance(a, Spread):
            work = self.product(columns, a.columns, a.rank) + self._meeting(columns, a, b)
            yield work, Spread(a.rank, a.rows, columns)
        if isinstance(b, Spread):
            yield self.product(rows, b.rows, b.rank), Spread(b.rank, rows, b.columns)
        for whole in (k for k in (a, b) if isinstance(k, Whole)):
            yield self.product(rows, inner, columns), whole

    def _meeting(self, columns: int, a: Spread, b: Kind) -> float:
        """ΔA·ΔB, the difference of ΔA·B' and ΔA·B, by way of the small matrix between the factors."""
        if not isinstance(b, Spread):
            return 0.0
        inner = min(a.columns, b.rows)
        return 2 * self.machine.call + 2 * a.rank * b.rank * (inner + columns) / self.machine.flops

    def _steps(self, name: str, op: Steps, kind: Kinds) -> tuple[float, Kind] | None:
        """A pass over A for each step; if A changes, with vectors on both sides, then their products with T₀ and B."""
        rows, columns = self.extents[name]
        a, others = kind(op.matrix), [kind(n) for n in (op.start, op.added) if n is not None]
        if isinstance(a, Spread) and is_stepped(columns, a.rank):
            return self.product(rows, rows, columns, op.times) + self.moving(3 * rows * columns), Whole()
        work, spread = 0.0, list[Kind]()
        if isinstance(a, Spread):
            work += self._around(rows, a.rank, op.times) + len(others) * self.product(op.times * a.rank, rows, columns)
            spread.append(Spread(op.times * a.rank, rows, columns))
        for k in others:
            if isinstance(k, Spread):
                work += self.product(rows, rows, k.rank, op.times)
                spread.append(Spread(k.rank, rows, k.columns))
        joined, found = self._sum(name, *spread)
        return None if any(isinstance(k, Whole) for k in (a, *others)) else (work + joined, found)

    def _around(self, size: int, rank: int, times: int) -> float:
        """A·U and Aᵀ·V, `times` times; for low ranks both in one pass."""
        if rank > FEW:
            return 2 * self.product(size, size, rank, times)
        reading = self.machine.passing(self.width * size * size, times)
        return 4 * times * self.machine.call + (1 + 0.4 * (2 * rank - 1)) * reading

    def _sum(self, name: str, *kinds: Kind) -> tuple[float, Kind]:
        rows, columns = self.extents[name]
        there = [k for k in kinds if k is not None]
        spread = [k for k in there if isinstance(k, Spread)]
        if len(spread) < len(there):
            return self.moving(3 * rows * columns * len(there)), Whole()
        if len(there) < 2:
            return 0.0, there[0] if there else None
        r, c = min(rows, sum(k.rows for k in spread)), min(columns, sum(k.columns for k in spread))
        rank = min(sum(k.rank for k in spread), r, c)
        return self._compressing(r + c, sum(k.rank for k in spread)), Spread(rank, r, c)

    def _compressing(self, size: int, rank: int) -> float:
        """The angles of all columns, as fast as a product, and their Cholesky factors: k³/3 each, but far slower."""
        return 16 * self.machine.call + (2 * size * rank**2 + 4 * rank**3) / self.machine.flops

    def _inverse(self, size: int, kind: Kind) -> tuple[float, Kind] | None:
        match kind:
            case None:
                return 0.0, None
            case Whole():
                return None
            case Spread(rank, r, c):
                work = self.product(size, r, rank) + self.product(size, c, rank) + self.product(size, rank, rank)
                return work + self._compressing(0, rank) + self._compressing(2 * size, rank), Spread(rank, size, size)
            case _:
                assert_never(kind)

    def _inner(self, other: str, kind: Kind) -> float:
        rows, columns = self.extents[other]
        match kind:
            case None:
                return 0.0
            case Whole():
                return self.moving(2 * rows * columns)
            case Spread(rank, r, _):
                return self.product(columns, r, rank)
            case _:
                assert_never(kind)

    def _entrywise(self, rows: int, columns: int, kinds: list[Kind]) -> tuple[float, Kind] | None:
        r = sum(k.rows for k in kinds if isinstance(k, Spread))
        c = sum(k.columns for k in kinds if isinstance(k, Spread))
        if any(isinstance(k, Whole) for k in kinds) or min(2 * r / rows, 2 * c / columns) > 1:
            return None
        if 2 * r <= rows:
            return self.moving(10 * r * columns), Spread(r, r, columns)
        return self.moving(10 * c * rows), Spread(c, rows, c)

    def _extent(self, kind: Kind, name: str) -> Extent:
        match kind:
            case None:
                return 0, 0
            case Whole():
                return self.extents[name]
            case Spread(rank, r, c):
                return r * rank, c * rank
            case _:
                assert_never(kind)

    def checking(self, name: str, op: Op, probes: int = 2) -> float:
        """The residual of a statement on random vectors; cached, as every refresh needs it."""
        if (name, probes) not in self._checking:
            again = {op.matrix: op.times} if isinstance(op, Steps) else {}
            read = ((*self.extents[n], probes, again.get(n, 1)) for n in (name, *operands(op)))
            self._checking[name, probes] = sum(self.product(*one) for one in read)
        return self._checking[name, probes]

    def credit(self, name: str, op: Op, kind: Kind) -> float:
        """The credit of a refresh towards the next check: the overhead of a rule, and a quarter of applying the change.

        An inverse gets twice the cost of applying, as one update may lose many digits, while others lose them slowly.
        """
        applying = self.applying(name, kind)
        return 2 * (self.machine.call + applying) if isinstance(op, Inverse) else self.machine.rule + applying / 4

    def stored(self, statements: Mapping[str, Op]) -> int:
        """The bytes of stored results."""
        return self.width * sum(int(np.prod(self.extents[n])) for n, op in statements.items() if not is_view(op))


def _turned(kind: Kind) -> Kind:
    return Spread(kind.rank, kind.columns, kind.rows) if isinstance(kind, Spread) else kind


def _capped(kind: Kind, rows: int, columns: int) -> Kind:
    if not isinstance(kind, Spread):
        return kind
    r, c = min(kind.rows, rows), min(kind.columns, columns)
    return Spread(min(kind.rank, r, c), r, c)
