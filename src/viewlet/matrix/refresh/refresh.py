"""One epoch of a maintained program: all changes are computed before any is applied.

Statement by statement, the delta rule derives the change, or the result is re-evaluated from the new operands. Derived
changes are checked on a few random vectors (`health.py`); if a check fails, the statement is re-evaluated, too. Until
`MaintainedProgram` commits, its matrices do not change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from viewlet.matrix.algebra.ops import Broadcast, Full, Identity, Leading, Op, SizeOf, Slice, operands, shapes_in
from viewlet.matrix.algebra.sizes import Shape
from viewlet.matrix.arrays.evaluate import is_view
from viewlet.matrix.arrays.kernels import times
from viewlet.matrix.arrays.subspace import leading
from viewlet.matrix.blocks.buffer import LargeBuffer
from viewlet.matrix.blocks.evaluate import Evaluate
from viewlet.matrix.blocks.large import is_large
from viewlet.matrix.compile.compiled import Compiled
from viewlet.matrix.compile.cost import Costs, kind_of
from viewlet.matrix.compile.strategy import Plan, Strategy, is_thin
from viewlet.matrix.delta.changes import Change, Dense, Factored, is_finite, matrix_of, meet
from viewlet.matrix.delta.factors import Array, Factor
from viewlet.matrix.delta.protocol import NoRule
from viewlet.matrix.delta.resize import Frame
from viewlet.matrix.delta.rules import delta
from viewlet.matrix.refresh.buffers import Buffer
from viewlet.matrix.refresh.health import Health
from viewlet.matrix.refresh.updates import Update, apply

REASONS: dict[Strategy, str] = {"hybrid": "it is less work", "reevaluate": "by strategy"}
"""Why a statement that has a rule is re-evaluated."""


@dataclass(frozen=True, slots=True)
class Step:
    """How a statement was refreshed."""

    name: str
    how: str
    """`factored`, `dense` or `evaluated`."""
    rank: int | None = None
    reason: str = ""
    """Why it was re-evaluated, if it was."""
    residual: float | None = None
    """The distance of the maintained result from its definition, if checked."""

    @property
    def outcome(self) -> str:
        rank = "" if self.rank is None else f", rank {self.rank}"
        residual = "" if self.residual is None else f", residual {self.residual:.1e}"
        return f"{self.how}{rank}{residual}{self.reason and f' ({self.reason})'}"

    def __str__(self) -> str:
        return f"{self.name}: {self.outcome}"


@dataclass(frozen=True, slots=True)
class Line:
    """A statement, with properties that every refresh needs."""

    name: str
    op: Op
    reads: tuple[str, ...]
    is_view: bool
    has_size: bool
    """Whether it depends on a size, not only on operands."""


class Prepared:
    """A compiled program, with everything that does not depend on updates."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self.shapes = shapes_in(compiled.program)
        self.lines = tuple(
            Line(name, op, operands(op), is_view(op), isinstance(op, Identity | Full | SizeOf | Broadcast))
            for name, op in compiled.statements.items()
        )


class Refresh:
    """The new matrices and changes of one epoch."""

    def __init__(
        self,
        prepared: Prepared,
        buffers: Mapping[str, Buffer | LargeBuffer],
        frame: Frame,
        updates: Mapping[str, Update],
        changes: Mapping[str, Change],
        costs: Costs,
        plan: Plan,
        health: Health,
        dtype: np.dtype[np.floating[Any]],
        evaluate: Evaluate,
    ) -> None:
        self.compiled = prepared.compiled
        self.updates = updates
        self.frame = frame
        self.dtype = dtype
        self.steps: list[Step] = []
        self.fresh: dict[str, Array] = {}
        """New matrices computed as a whole, in the frame after the epoch."""
        self.changes: dict[str, Change] = dict(changes)
        self._buffers = buffers
        self._costs = costs
        self._plan = plan
        self._health = health
        self._result = evaluate
        self._lines = prepared.lines
        self._shapes = prepared.shapes
        self._affected: set[str] = set(changes)
        self._evaluated: set[str] = set()

    def run(self) -> None:
        """Refresh every statement that the changes reach."""
        for line in self._lines:
            if self._is_reached(line):
                self._refresh(line)

    def is_changed(self, name: str) -> bool:
        return name in self._affected

    def shape(self, name: str) -> Shape:
        return self._shapes[name]

    def old(self, name: str) -> Array:
        """An old matrix, in the common frame."""
        if name in self._buffers:
            return self._buffers[name].array
        op, frame = self.compiled.statements[name], self.frame
        if isinstance(op, SizeOf):
            return self._result(name, op, self.old, frame.before, self.dtype)
        if isinstance(op, Slice):
            return self._result(name, op, lambda of: self._uncut(of, op), frame.common, self.dtype)
        made = self._result(name, op, self.old, frame.common, self.dtype)
        return frame.hide_coming(made, self.shape(name)) if isinstance(op, Broadcast | Identity | Full) else made

    def _uncut(self, name: str, op: Slice) -> Array:
        """The old operand of a slice without added rows along sliced axes, since slices count from the old end."""
        array = self.old(name)
        for axis, (dim, span) in enumerate(zip(self.shape(name), (op.rows, op.columns), strict=True)):
            if (resize := self.frame.resize(dim)) is not None and span != (None, None):
                array = array[(slice(None),) * axis + (slice(resize.old),)]
        return array

    def change(self, name: str) -> Change | None:
        """The change of a matrix, in the common frame."""
        if name in self._evaluated and name not in self.changes:
            now = self.frame.expand(self.fresh[name], self.shape(name) or (1, 1))
            self.changes[name] = Dense(now - self.old(name))
        return self.changes.get(name)

    def new(self, name: str) -> Array:
        """A new matrix, in the frame after the epoch."""
        if name not in self._affected:
            return self.old(name)
        if name not in self.fresh:
            self.fresh[name] = self._make(name)
        return self.fresh[name]

    def _make(self, name: str) -> Array:
        op = self.compiled.statements.get(name)
        if op is not None and is_view(op):
            return self._result(name, op, self.new, self.frame.after, self.dtype)
        staged = self._buffers[name].copy()
        apply(self.updates.get(name), self.changes[name], staged)
        return self.frame.contract(staged.array, self.shape(name))

    def times(self, name: str, vectors: Array) -> Array:
        """The new matrix · vectors, in the common frame, without forming the new matrix."""
        product = np.array(vectors) if self._is_kept_identity(name) else times(self.old(name), vectors)
        match self.change(name):
            case None:
                return product
            case Dense(matrix):
                return product + matrix @ vectors
            case Factored(left, right):
                met = right.values.T @ (vectors if right.at is None else vectors[right.at])
                product[slice(None) if left.at is None else left.at] += left.values @ met
                return product

    def meet(self, name: str, factor: Factor) -> Factor:
        """The new matrixᵀ · factor, in the common frame, without forming the new matrix."""
        return factor if self._is_kept_identity(name) else meet(self.old(name), self.change(name), factor)

    def _is_kept_identity(self, name: str) -> bool:
        """Whether a matrix is an identity of constant size, so that products with it need no work."""
        op = self.compiled.statements.get(name)
        return isinstance(op, Identity) and not self._is_resized(name, op)

    def _is_reached(self, line: Line) -> bool:
        return not self._affected.isdisjoint(line.reads) or (line.has_size and self._is_resized(line.name, line.op))

    def _is_resized(self, name: str, op: Op) -> bool:
        return self.frame.touches((op.size,) if isinstance(op, SizeOf) else self.shape(name))

    def _refresh(self, line: Line) -> None:
        if reason := self._why_evaluate(line):
            return self._evaluate(line, reason)
        match delta(line.name, line.op, self):
            case None:
                return None
            case NoRule(reason):
                return self._evaluate(line, reason)
            case found:
                return self._accept(line, self._form(line.name, found))

    def _why_evaluate(self, line: Line) -> str:
        """Why a statement is re-evaluated even if it has a rule; empty if it is not."""
        if self.frame.resizes:
            reshaped = [n for n in (line.name, *line.reads) if self.frame.is_reshaped(self.shape(n))]
            if reshaped:
                return f"the size of {reshaped[0]} is no single symbol, and it changed"
        if not self._evaluated.isdisjoint(line.reads):
            whole = [n for n in line.reads if n in self._evaluated and self._is_in_blocks(n)]
            if whole:
                return f"{whole[0]}, which is in blocks, was evaluated anew"
        return REASONS[self.compiled.chosen.strategy] if line.name in self._plan.evaluated else ""

    def _form(self, name: str, change: Change) -> Change:
        thin = is_thin(kind_of(change), self._costs.extents[name])
        dense = thin and self.compiled.chosen.strategy == "hybrid" and not self._is_in_blocks(name)
        return Dense(matrix_of(change)) if dense else change

    def _is_in_blocks(self, name: str) -> bool:
        """Whether a matrix was or is in blocks, so that differences cannot be formed."""
        return is_large(self.old(name)) or is_large(self.fresh.get(name))

    def _accept(self, line: Line, change: Change) -> None:
        name, op = line.name, line.op
        if not is_finite(change):
            return self._evaluate(line, "its change is not finite")
        self.changes[name] = change
        self._affected.add(name)
        if line.is_view:
            return None
        due = self._health.is_due(name, op, self._costs, kind_of(change), self._is_in_blocks(name))
        residual = self._health.residual(name, op, self) if due else None
        if residual is not None and not residual <= self._health.tolerance:
            del self.changes[name]
            return self._evaluate(line, f"residual {residual:.1e} beyond {self._health.tolerance:.0e}")
        rank = change.rank if isinstance(change, Factored) else None
        self.steps.append(Step(name, "dense" if rank is None else "factored", rank, "", residual))
        return None

    def _evaluate(self, line: Line, reason: str) -> None:
        name, op = line.name, line.op
        self._affected.add(name)
        self._evaluated.add(name)
        if isinstance(op, Leading) and not self.frame.touches(self.shape(name)):
            self.fresh[name] = leading(self.new(op.of), op.count, self.old(name))
        else:
            self.fresh[name] = self._result(name, op, self.new, self.frame.after, self.dtype)
        if not line.is_view:
            self.steps.append(Step(name, "evaluated", reason=reason))
