"""The stored description of a maintained program, from which it resumes with the same statements."""

from __future__ import annotations

from dataclasses import dataclass

from viewlet.matrix.algebra.ops import Program
from viewlet.matrix.compile.compiled import Alternative, Compiled, statements_of
from viewlet.matrix.compile.machine import Machine


@dataclass(frozen=True, slots=True)
class Saved:
    """The program as written and as compiled, how it is refreshed, and the sizes of its matrices."""

    source: Program
    program: Program
    chosen: Alternative
    alternatives: tuple[Alternative, ...]
    machine: Machine
    sizes: tuple[tuple[str, int], ...]
    tolerance: float
    probes: int

    @property
    def compiled(self) -> Compiled:
        return Compiled(self.program, statements_of(self.program), self.chosen, self.alternatives, self.machine)
