"""Programs made ready to run: each map with its layout, each term compiled, once."""

from __future__ import annotations

from dataclasses import dataclass

from viewlet.engine.block import Run, compile_term
from viewlet.program.program import Map, Program, Step
from viewlet.program.terms import Answer, Fold, Gather, Regroup, Total
from viewlet.store import Layout


@dataclass(frozen=True, slots=True)
class ReadyStep:
    """A step with its terms compiled."""

    map: Map
    layout: Layout
    runs: tuple[Run, ...]
    is_netted: bool
    """Whether a single term gives each row once already."""


@dataclass(frozen=True, slots=True)
class ReadyProgram:
    """A program that can be run."""

    program: Program
    steps: tuple[ReadyStep, ...]


def layout_of(kept: Map, *, is_view: bool) -> Layout:
    """How a map is stored."""
    return Layout(
        columns=tuple(f.name for f in kept.columns), key=kept.key, indexes=kept.indexes, sums=kept.sums, feed=is_view
    )


def make_ready(program: Program) -> ReadyProgram:
    """Compile the terms of a program."""
    return ReadyProgram(program, tuple(_ready_step(step, program.view) for step in program.steps))


def _ready_step(step: Step, view: str) -> ReadyStep:
    netted = len(step.terms) == 1 and isinstance(step.terms[0], Total | Answer | Fold | Gather | Regroup)
    runs = tuple(compile_term(t) for t in step.terms)
    return ReadyStep(step.map, layout_of(step.map, is_view=step.map.name == view), runs, netted)
