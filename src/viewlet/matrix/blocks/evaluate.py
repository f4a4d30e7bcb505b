"""Evaluates statements with results or operands too large for one process, by jobs over blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any, Protocol, cast
from uuid import uuid4

import numpy as np

from viewlet.matrix.algebra.ops import Broadcast, Full, Identity, Inverse, Op, Product, Solve, Steps, SumOfProducts
from viewlet.matrix.algebra.sizes import Shape, measure, measured
from viewlet.matrix.arrays.evaluate import evaluate as evaluate_here
from viewlet.matrix.arrays.evaluate import is_view, singular
from viewlet.matrix.blocks.large import Large, is_large, node_of
from viewlet.matrix.blocks.nodes import (
    Extent,
    Eye,
    Given,
    Multiplied,
    Node,
    Piece,
    Reader,
    Repeated,
    Stored,
    dtype_of,
    extent,
    pieces,
    read,
)
from viewlet.matrix.blocks.times import Run, product, total
from viewlet.matrix.delta.factors import Array
from viewlet.matrix.errors import EvaluationError, UnsupportedQuery

RESIDENT = 1 << 24
"""The most entries of a matrix in memory: 128 megabytes of float64."""
NEWTON, NEAR = 100, 1e-3
"""The number of Newton steps after which a matrix counts as singular; the residual from which on it must halve."""
Value = Callable[[str], Array]
Evaluate = Callable[[str, Op, Value, Mapping[str, int], Any], Array]


class Shelf(Protocol):
    """The storage of blocks. `write` runs in tasks; `hold` runs in the driver with the results of all of them."""

    def write(self, name: str, number: int, block: Array) -> Any: ...

    def hold(self, name: str, written: list[Any]) -> Reader: ...

    def release(self, name: str) -> None: ...


@dataclass
class Blocks:
    """Evaluates and stores matrices with more than `resident` entries."""

    shelf: Shelf
    run: Run
    shapes: Mapping[str, Shape]
    resident: int = RESIDENT

    def over(self, shapes: Mapping[str, Shape]) -> Blocks:
        """The same for the statements of another program."""
        return replace(self, shapes=shapes)

    def is_large(self, shape: Extent) -> bool:
        return shape[0] * shape[1] > self.resident

    def evaluate(self, name: str, op: Op, value: Value, sizes: Mapping[str, int], dtype: Any) -> Array:
        """The result of a statement: in memory if it fits, else in written blocks."""
        large = self.is_large(measured(self.shapes[name], sizes))
        found = self._result(name, op, value, sizes, dtype, large)
        if large:
            return cast("Array", self._lazy(found) if is_view(op) else self.written(name, node_of(found)))
        return found.gathered() if is_large(found) else found

    def kept(self, name: str, array: Any) -> Array:
        """An input: in memory if it fits, else in written blocks."""
        if is_large(array) or not self.is_large((array.shape[0], array.shape[1])):
            return cast("Array", array)
        return cast("Array", self.written(name, Given(array)))

    def written(self, name: str, node: Node) -> Large:
        """Write a matrix to blocks."""
        label = f"{name}@{uuid4().hex}"
        numbered = list(enumerate(pieces(node)))
        reader = self.shelf.hold(label, self.run(partial(_write, self.shelf, label, name, node), numbered))
        starts = tuple(start for _, (start, _) in numbered)
        return Large(Stored(reader, label, extent(node), dtype_of(node), starts), self.run)

    def _lazy(self, found: Any) -> Large:
        return found if is_large(found) else Large(Given(found), self.run)

    def _result(self, name: str, op: Op, value: Value, sizes: Mapping[str, int], dtype: Any, large: bool) -> Any:
        match op:
            case Product(a, b):
                return self._product(value(a), value(b), large)
            case SumOfProducts(products, addends):
                found = [self._product(value(a), value(b), large) for a, b in products]
                return reduce(add, [*found, *map(value, addends)])
            case Steps(a, start, added, times):
                return self._steps(name, value(a), value(start), None if added is None else value(added), times, large)
            case Identity(size) if large:
                return Large(Eye(measure(size, sizes), dtype), self.run)
            case Full(shape, number) if large:
                return Large(Repeated(np.full((1, 1), number, dtype=dtype), measured(shape, sizes)), self.run)
            case Broadcast(a, shape) if large:
                return Large(Repeated(_small(value(a)), measured(shape, sizes)), self.run)
            case Inverse(a) if large:
                return self._inverse(name, node_of(value(a)))
            case Solve(a) if is_large(value(a)):
                raise UnsupportedQuery(
                    f"{name} solves a system of more than {self.resident:,} entries, which is in blocks",
                    hint='options={"strategy": "incremental"} keeps the inverse',
                )
            case _:
                return evaluate_here(name, op, value, sizes, dtype)

    def _steps(self, name: str, matrix: Any, start: Any, added: Any, times: int, large: bool) -> Any:
        """Evaluate all steps; the blocks of a step are deleted once the next one is written."""
        found = start
        for left in reversed(range(times)):
            before, found = found, self._product(matrix, found, large)
            found = found if added is None else found + added
            if large and left:
                found = self.written(name, node_of(found))
                if before is not start:
                    self._release(before)
        return found

    def _product(self, left: Any, right: Any, large: bool) -> Any:
        if large:
            return Large(Multiplied(node_of(left), node_of(right)), self.run)
        if is_large(left) and is_large(right):
            return product(left.node, right.node, self.run)
        return left @ right

    def _inverse(self, name: str, node: Node) -> Large:
        """Newton's iteration, W ← W(2I − A·W), which only uses products; from Aᵀ / (‖A‖₁·‖A‖∞) it converges."""
        whole = Large(node, self.run)
        down = np.add.reduce(total(_column_sums, node, self.run)).max()
        across = max(total(_row_sums, node, self.run))
        found = self.written(name, node_of(whole.T * (1.0 / (down * across))))
        twice = Large(Eye(len(whole), dtype_of(node)), self.run) * 2.0
        last = np.inf
        for _ in range(NEWTON):
            met = self.written(name, Multiplied(node, found.node))
            residual = float(np.linalg.norm(met - 0.5 * twice))
            if residual < NEAR and residual >= 0.5 * last:
                self._release(met)
                return found
            last, before = residual, found
            found = self.written(name, Multiplied(found.node, node_of(twice - met)))
            self._release(met, before)
        raise singular(name, len(whole))

    def _release(self, *used: Large) -> None:
        for large in used:
            assert isinstance(large.node, Stored)
            self.shelf.release(large.node.name)


def evaluating(blocks: Blocks | None) -> Evaluate:
    """The function that evaluates statements: in process, or in blocks if they are large."""
    return evaluate_here if blocks is None else blocks.evaluate


def _small(value: Any) -> Array:
    return value.gathered() if is_large(value) else value


def _write(shelf: Shelf, label: str, name: str, node: Node, numbered: tuple[int, Piece]) -> Any:
    """Compute and write one block, in a task."""
    number, (start, stop) = numbered
    block = np.ascontiguousarray(read(node, start, stop))
    if not np.isfinite(block).all():
        row, column = np.argwhere(~np.isfinite(block))[0]
        raise EvaluationError(f"{name} is {block[row, column]} in row {start + row}, column {column}")
    return shelf.write(label, number, block)


def _column_sums(block: Array) -> Array:
    return np.abs(block).sum(axis=0)


def _row_sums(block: Array) -> float:
    return float(np.abs(block).sum(axis=1).max())
