"""The entry point: traces a function into a program, and starts maintaining it for given matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from numpy.typing import ArrayLike

from viewlet.matrix.algebra.ops import Program, shapes_in
from viewlet.matrix.algebra.show import show
from viewlet.matrix.algebra.sizes import Size, symbols_of
from viewlet.matrix.algebra.trace import trace
from viewlet.matrix.blocks.evaluate import Blocks
from viewlet.matrix.codec import dumps, loads
from viewlet.matrix.compile.compiled import Compiled, Expected, compile_program
from viewlet.matrix.compile.explain import explain
from viewlet.matrix.compile.machine import Machine, this_machine
from viewlet.matrix.compile.strategy import Strategy
from viewlet.matrix.delta.factors import Array
from viewlet.matrix.errors import UnknownName
from viewlet.matrix.refresh.from_scratch import evaluate_all, evaluate_source
from viewlet.matrix.refresh.health import Health
from viewlet.matrix.refresh.maintained_program import MaintainedProgram
from viewlet.matrix.refresh.start import TOLERANCE, intake

MEASURED = 1 << 16
"""The number of input entries from which on measuring this machine pays off for the choice of a strategy."""


class MatrixProgram:
    """A traced program, which can be printed, stored, explained and started."""

    def __init__(self, source: Program) -> None:
        self.source = source

    def __str__(self) -> str:
        return show(self.source)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MatrixProgram) and self.source == other.source

    def __hash__(self) -> int:
        return hash(self.source)

    def to_json(self) -> str:
        return dumps(self.source)

    @staticmethod
    def from_json(text: str) -> MatrixProgram:
        return MatrixProgram(loads(text, Program))

    def compile(
        self,
        sizes: Mapping[str, int] | None = None,
        *,
        model: str = "auto",
        strategy: Strategy | Literal["auto"] = "auto",
        expected: Expected | None = None,
        machine: Machine | None = None,
        in_blocks: bool = False,
    ) -> Compiled:
        """Compile the program for matrices of some sizes, in the cheapest or the requested form."""
        wanted = {s for i in self.source.inputs for dim in i.shape for s in symbols_of(dim)}
        if missing := sorted(wanted - (sizes or {}).keys()):
            raise UnknownName(f"sizes missing: {', '.join(missing)}", hint="compile and explain need a number for each")
        return compile_program(self.source, sizes or {}, model, strategy, expected, machine, in_blocks)

    def explain(self, sizes: Mapping[str, int] | None = None, **options: Any) -> str:
        """Return how the program would be maintained for some sizes, with the estimate of each alternative."""
        return explain(self.compile(sizes, **options), sizes or {}, {})

    def evaluate(self, *, dtype: Any = None, blocks: Blocks | None = None, **inputs: ArrayLike) -> dict[str, Array]:
        """Evaluate the program from scratch, as written, and return its outputs; numbers are 1 × 1."""
        arrays, sizes = intake(self.source.inputs, inputs, dtype)
        return evaluate_source(self.source, arrays, sizes, next(iter(arrays.values())).dtype, blocks)

    def start(
        self,
        *,
        dtype: Any = None,
        tolerance: float | None = None,
        probes: int = 2,
        options: Mapping[str, Any] | None = None,
        blocks: Blocks | None = None,
        **inputs: ArrayLike,
    ) -> MaintainedProgram:
        """Evaluate the program and store every intermediate result, for later updates.

        `options` are those of `compile`: model, strategy, expected, machine; for large matrices, this machine is
        measured once. A statement is re-evaluated if its residual on `probes` random vectors exceeds `tolerance`.
        `blocks`: where large matrices are stored.
        """
        arrays, sizes = intake(self.source.inputs, inputs, dtype)
        large = sum(array.size for array in arrays.values()) > MEASURED
        machine = this_machine() if large else None
        compiled = self.compile(sizes, **{"machine": machine, "in_blocks": blocks is not None, **(options or {})})
        kind = next(iter(arrays.values())).dtype
        health = Health(TOLERANCE[kind] if tolerance is None else tolerance, probes)
        shapes = shapes_in(compiled.program)
        within = None if blocks is None else blocks.over(shapes)
        if within is not None:
            arrays = {name: within.kept(name, array) for name, array in arrays.items()}
        values = evaluate_all(compiled.statements, arrays, sizes, shapes, kind, within)
        return MaintainedProgram(self.source, compiled, values, sizes, health, within)


def program(function: Callable[..., Any], **shapes: tuple[int | str | Size, int | str | Size]) -> MatrixProgram:
    """Trace a function of matrices, each with its shape: numbers, or names of sizes that may change."""
    return MatrixProgram(trace(function, shapes))
