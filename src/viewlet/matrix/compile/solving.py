"""Replaces A⁻¹·B by the solution of A·X = B if nothing else reads the inverse.

Which of the two is maintained is decided later (`compiled.py`): an inverse has a delta rule; a solution is re-evaluated
in a third of the time of an inverse, and loses fewer digits.
"""

from __future__ import annotations

from dataclasses import replace

from viewlet.matrix.algebra.ops import Inverse, Product, Program, Solve, Source, read_once


def solve_inverses(program: Program) -> Program:
    """Replace every such product by a solve."""
    alone = read_once(program)
    inverses = {s.name: s.op.of for s in program.statements if isinstance(s.op, Inverse) and s.name in alone}
    statements = [replace(s, op=_solved(s.op, inverses)) for s in program.statements]
    gone = {s.op.left for s in program.statements if isinstance(s.op, Product) and s.op.left in inverses}
    return replace(program, statements=tuple(s for s in statements if s.name not in gone))


def _solved(op: Source, inverses: dict[str, str]) -> Source:
    return Solve(inverses[op.left], op.right) if isinstance(op, Product) and op.left in inverses else op
