"""Programs prepared to run: the layout of each map and the compiled terms."""

from __future__ import annotations

from dataclasses import dataclass

from viewlet.engine.terms.compile_term import CompiledTerm, compile_term
from viewlet.program.program import Map, Program, Step
from viewlet.program.terms import FinalizeSums, Fold, GroupSums, Regroup, Sessionize
from viewlet.store import Layout


@dataclass(frozen=True, slots=True)
class PreparedStep:
    """A step with its terms compiled."""

    map: Map
    layout: Layout
    terms: tuple[CompiledTerm, ...]
    is_netted: bool
    """Whether its single term never returns a row twice."""


@dataclass(frozen=True, slots=True)
class PreparedProgram:
    """A program that can be run."""

    program: Program
    steps: tuple[PreparedStep, ...]


def layout_of(kept: Map, *, is_view: bool) -> Layout:
    """How a map is stored."""
    return Layout(
        columns=tuple(f.name for f in kept.columns), key=kept.key, indexes=kept.indexes, sums=kept.sums, feed=is_view
    )


def prepare(program: Program) -> PreparedProgram:
    """Compile the terms of a program."""
    return PreparedProgram(program, tuple(_ready_step(step, program.view) for step in program.steps))


def _ready_step(step: Step, view: str) -> PreparedStep:
    netted = len(step.terms) == 1 and isinstance(step.terms[0], GroupSums | FinalizeSums | Fold | Sessionize | Regroup)
    terms = tuple(compile_term(t) for t in step.terms)
    return PreparedStep(step.map, layout_of(step.map, is_view=step.map.name == view), terms, netted)
