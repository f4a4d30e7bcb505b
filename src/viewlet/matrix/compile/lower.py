"""Lowering: replaces `Power`, `Iterate` and `Solve` by statements that have delta rules.

An iteration T ← A·T + B has a form for every skip s (table 6.1 of the thesis): s = 1 is the linear model, s = k the
exponential one, others skip s steps at a time. With P_i = Aⁱ and S_i = I + A + … + Aⁱ⁻¹:

    T_2i = P_i·T_i + S_i·B        up to s, by doubling
    T_i  = P_s·T_{i−s} + S_s·B    after that
    T_i  = A·T_{i−1} + B          for the remaining steps

The Krylov model stores no steps: an iteration is one statement (`delta/krylov.py`); powers are computed by doubling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from viewlet.matrix.algebra.builder import Builder, is_zero, rename
from viewlet.matrix.algebra.ops import (
    Add,
    Identity,
    Inverse,
    Iterate,
    Power,
    Product,
    Program,
    Scale,
    Solve,
    Source,
    Statement,
    Steps,
    Subtract,
)


@dataclass(frozen=True, slots=True)
class Form:
    """How a program is lowered."""

    skip: int | None
    """The number of steps at a time; None for all."""
    inverses: bool
    """Whether a solve stores an inverse, which has a delta rule."""
    krylov: bool = False
    """Whether an iteration is one statement that stores no steps."""


def lower(program: Program, form: Form) -> Program:
    """Lower a program."""
    builder = Builder(program.inputs)
    lowering = _Lowering(builder, form)
    for statement in program.statements:
        lowering.statement(statement)
    return builder.program({output: lowering.names[name] for output, name in program.outputs})


def steps_of(program: Program) -> tuple[int, ...]:
    """The numbers of steps of the program's iterations that have a skip."""
    found = []
    for statement in program.statements:
        match statement.op:
            case Power(_, k):
                found.append(k)
            case Iterate(_, k) as loop if is_affine(loop):
                found.append(k)
            case _:
                pass
    return tuple(found)


def has_affine_loop(program: Program) -> bool:
    """Whether the program has an iteration T ← A·T + B."""
    return any(isinstance(s.op, Iterate) and is_affine(s.op) for s in program.statements)


class _Lowering:
    def __init__(self, builder: Builder, form: Form) -> None:
        self.builder = builder
        self.form = form
        self.names = {i.name: i.name for i in builder.inputs}

    def statement(self, statement: Statement) -> None:
        self.names[statement.name] = self.emit(rename(statement.op, self.names))

    def emit(self, op: Source) -> str:
        match op:
            case Power(a, k):
                return _Powers(self.builder.emit, self.builder, a).power(k, self.form.skip or k)
            case Iterate() if is_affine(op):
                return self._skip(op)
            case Iterate():
                return self._unroll(op)
            case Solve(a, b) if self.form.inverses:
                return self.builder.emit(Product(self.builder.emit(Inverse(a)), b))
            case _:
                return self.builder.emit(op)

    def _skip(self, loop: Iterate) -> str:
        a, b = _Affine(self.builder, loop).parts(loop.result)
        if a is None:
            return b or loop.start
        if self.form.krylov:
            return self._steps(a, b, loop)
        powers = _Powers(self.builder.emit, self.builder, a)
        skip = min(self.form.skip or loop.times, loop.times)
        if skip == 1:
            return self._unroll(loop)
        return _general(self.builder.emit, powers, b, loop.start, loop.times, skip)

    def _steps(self, a: str, b: str | None, loop: Iterate) -> str:
        """An iteration as one statement; if it starts from zero, the first step is B."""
        from_zero = b is not None and is_zero(self.builder.statements.get(loop.start))
        start, times = (b, loop.times - 1) if b is not None and from_zero else (loop.start, loop.times)
        return self.builder.emit(Steps(a, start, b, times)) if times else start

    def _unroll(self, loop: Iterate) -> str:
        """The linear model: the body, repeated for each step."""
        current = loop.start
        for _ in range(loop.times):
            names = {loop.parameter: current}
            for statement in loop.body:
                names[statement.name] = self.emit(rename(statement.op, names))
            current = names.get(loop.result, loop.result)
        return current


class _Powers:
    """P_i = Aⁱ and S_i = I + A + … + Aⁱ⁻¹, each emitted once."""

    def __init__(self, emit: Callable[[Source], str], builder: Builder, of: str) -> None:
        self.emit = emit
        self.of = of
        self.identity = emit(Identity(builder.shapes[of][0]))

    def doubled(self, k: int) -> str:
        """P_2i = P_i·P_i; P_i = A·P_{i−1} if i is odd."""
        if k == 1:
            return self.of
        half = self.doubled(k // 2) if k % 2 == 0 else self.of
        return self.emit(Product(half, half if k % 2 == 0 else self.doubled(k - 1)))

    def power(self, k: int, skip: int) -> str:
        """P_i = P_s·P_{i−s}, with P_s by doubling; the remaining steps one by one."""
        skip = min(skip, k)
        stride = current = self.doubled(skip)
        for _ in range(k // skip - 1):
            current = self.emit(Product(stride, current))
        for _ in range(k % skip):
            current = self.emit(Product(self.of, current))
        return current

    def sums(self, k: int) -> str:
        """S_2i = P_i·S_i + S_i; S_i = A·S_{i−1} + I if i is odd."""
        if k == 1:
            return self.identity
        if k % 2:
            return self.emit(Add(self.emit(Product(self.of, self.sums(k - 1))), self.identity))
        half = self.sums(k // 2)
        return self.emit(Add(self.emit(Product(self.doubled(k // 2), half)), half))


def _general(emit: Callable[[Source], str], powers: _Powers, b: str | None, start: str, times: int, skip: int) -> str:
    """T after `times` steps of T ← A·T + B, at most `skip` at a time."""

    def step(current: str, length: int) -> str:
        moved = emit(Product(powers.doubled(length), current))
        return moved if b is None else emit(Add(moved, emit(Product(powers.sums(length), b))))

    def doubled(length: int) -> str:
        if length == 1:
            return step(start, 1)
        return step(doubled(length // 2), length // 2) if length % 2 == 0 else step(doubled(length - 1), 1)

    current = doubled(skip)
    for _ in range(times // skip - 1):
        current = step(current, skip)
    for _ in range(times % skip):
        current = step(current, 1)
    return current


def is_affine(loop: Iterate) -> bool:
    """Whether a step is A·T + B for an A and a B that do not depend on T."""
    inside = {loop.parameter}
    for statement in loop.body:
        match statement.op:
            case Product(a, b) if b in inside and a not in inside:
                pass
            case Add() | Subtract() | Scale(float()):
                pass
            case Scale(str() as factor, _) if factor not in inside:
                pass
            case _:
                return False
        inside.add(statement.name)
    return True


class _Affine:
    """Derives A and B of a step A·T + B from its statements; None stands for I or 0."""

    def __init__(self, builder: Builder, loop: Iterate) -> None:
        self.builder = builder
        self.body = {s.name: s.op for s in loop.body}
        self.parameter = loop.parameter
        self.identity = builder.emit(Identity(builder.shapes[loop.start][0]))

    def parts(self, name: str) -> tuple[str | None, str | None]:
        """(A, B) of a matrix of the body; A is None if it does not depend on T, B if nothing is added."""
        if name == self.parameter:
            return self.identity, None
        if name not in self.body:
            return None, name
        emit = self.builder.emit
        match self.body[name]:
            case Product(m, e):  # M·(A·T + B) = (M·A)·T + M·B
                return self._each(lambda part: emit(Product(m, part)), e)
            case Scale(factor, e):  # λ·(A·T + B) = (λA)·T + λB
                return self._each(lambda part: emit(Scale(factor, part)), e)
            case Add(a, b):
                return self._both(a, b, lambda x, y: emit(Add(x, y)), lambda y: y)
            case Subtract(a, b):
                return self._both(a, b, lambda x, y: emit(Subtract(x, y)), lambda y: emit(Scale(-1.0, y)))
            case op:
                raise AssertionError(op)

    def _each(self, make: Callable[[str], str], name: str) -> tuple[str | None, str | None]:
        a, b = self.parts(name)
        return a and make(a), b and make(b)

    def _both(
        self, left: str, right: str, join: Callable[[str, str], str], alone: Callable[[str], str]
    ) -> tuple[str | None, str | None]:
        def joined(x: str | None, y: str | None) -> str | None:
            if x is None:
                return y and alone(y)
            return x if y is None else join(x, y)

        (a, b), (c, d) = self.parts(left), self.parts(right)
        return joined(a, c), joined(b, d)
