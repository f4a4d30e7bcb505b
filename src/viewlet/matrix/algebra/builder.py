"""Builds programs: names each emitted operator, shares equal ones, simplifies trivial ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from viewlet.matrix.algebra.ops import (
    Add,
    Broadcast,
    Declared,
    Full,
    Identity,
    Inverse,
    Iterate,
    Product,
    Program,
    Scale,
    Source,
    Statement,
    Subtract,
    Transpose,
    map_operands,
    operands,
)
from viewlet.matrix.algebra.shapes import shape_of
from viewlet.matrix.algebra.sizes import Shape


class Builder:
    """A program that grows statement by statement."""

    def __init__(self, inputs: Iterable[Declared]) -> None:
        self.inputs = tuple(inputs)
        self.shapes: dict[str, Shape] = {i.name: i.shape for i in self.inputs}
        self.statements: dict[str, Source] = {}
        self._known: dict[Source, str] = {}
        self._count = 0

    def emit(self, op: Source) -> str:
        """Add an operator, checking its shape; return the name of its result."""
        shape = shape_of(op, self.shapes)
        simpler = self._simplify(op)
        if isinstance(simpler, str):
            return simpler
        if simpler not in self._known:
            name = self.fresh("t", shape)
            self._known[simpler], self.statements[name] = name, simpler
        return self._known[simpler]

    def fresh(self, prefix: str, shape: Shape) -> str:
        """Reserve an unused name for a matrix of that shape."""
        while (name := f"{prefix}{self._count + 1}") in self.shapes:
            self._count += 1
        self.shapes[name] = shape
        return name

    def loop_body(self, parameter: str, since: int) -> tuple[Statement, ...]:
        """Remove and return a loop's body: the statements emitted since `since` that depend on its parameter."""
        inside = {parameter}
        for name in list(self.statements)[since:]:
            if inside.intersection(operands(self.statements[name])):
                inside.add(name)
        body = tuple(Statement(n, op, self.shapes[n]) for n, op in self.statements.items() if n in inside)
        for statement in body:
            del self._known[self.statements.pop(statement.name)]
        return body

    def program(self, outputs: Mapping[str, str]) -> Program:
        """The finished program: only statements that outputs need, renumbered, with outputs under their own names."""
        needed = self._needed(outputs.values())
        names = self._names([n for n in self.statements if n in needed], outputs)
        statements = tuple(
            Statement(names[n], rename(op, names), self.shapes[n]) for n, op in self.statements.items() if n in needed
        )
        return Program(self.inputs, statements, tuple((o, names.get(n, n)) for o, n in outputs.items()))

    def _needed(self, wanted: Iterable[str]) -> set[str]:
        needed = set(wanted)
        for name in reversed(self.statements):
            if name in needed:
                needed.update(operands(self.statements[name]))
        return needed

    def _names(self, kept: list[str], outputs: Mapping[str, str]) -> dict[str, str]:
        taken = {i.name for i in self.inputs} | set(outputs)
        own = {n: o for o, n in reversed(list(outputs.items())) if n in self.statements and o not in self.shapes}
        free = (t for t in (f"t{i}" for i in range(1, len(kept) + len(taken) + 1)) if t not in taken)
        return {n: own.get(n) or next(free) for n in kept}

    def _simplify(self, op: Source) -> Source | str:
        """A cheaper operator with the same result, or the name of an existing result."""
        known = {n: self.statements.get(n) for n in operands(op)}
        match op:
            case Transpose(a) if isinstance(inner := known[a], Transpose):  # Aᵀᵀ = A
                return inner.of
            case Transpose(a) | Inverse(a) if isinstance(known[a], Identity):  # Iᵀ = I⁻¹ = I
                return a
            case Product(a, b) if isinstance(known[a], Identity):  # I·B = B
                return b
            case Product(a, b) if isinstance(known[b], Identity):  # A·I = A
                return a
            case Product(a, b) if is_zero(known[a]) or is_zero(known[b]):  # 0·B = 0
                return Full(shape_of(op, self.shapes), 0.0)
            case Add(a, b) if is_zero(known[a]):  # 0 + B = B
                return b
            case Add(a, b) | Subtract(a, b) if is_zero(known[b]):  # A ± 0 = A
                return a
            case Scale(1.0, a):
                return a
            case Scale(float() as c, a) if isinstance(inner := known[a], Scale) and isinstance(inner.factor, float):
                return Scale(c * inner.factor, inner.of)
            case Broadcast(a, shape) if self.shapes[a] == shape:
                return a
            case _:
                return op


def is_zero(op: Source | None) -> bool:
    """Whether a result is zero whatever the inputs."""
    return isinstance(op, Full) and op.value == 0.0


def rename(op: Source, names: Mapping[str, str]) -> Source:
    """The operator over other names."""
    match op:
        case Iterate(start, _, parameter, body, result):
            inner = {k: v for k, v in names.items() if k != parameter}
            inner.update((s.name, f"{parameter}.{i}") for i, s in enumerate(body, 1))
            renamed = tuple(Statement(inner[s.name], rename(s.op, inner), s.shape) for s in body)
            return replace(op, start=names.get(start, start), body=renamed, result=inner.get(result, result))
        case _:
            return map_operands(op, lambda name: names.get(name, name))
