"""Compiles a program for matrices of known sizes, with the cheapest model and strategy.

Every model (linear, skip-s, exponential, krylov) is lowered, and its cost estimated under every strategy, weighting the
changes of each input by their frequency. The cheapest wins, unless the user chooses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from viewlet.matrix.algebra.ops import Iterate, Op, Power, Program, shapes_in
from viewlet.matrix.algebra.sizes import measured
from viewlet.matrix.compile.cost import Costs, Extent, Kind, Spread
from viewlet.matrix.compile.fuse import fuse
from viewlet.matrix.compile.lower import Form, has_affine_loop, lower, steps_of
from viewlet.matrix.compile.machine import Machine
from viewlet.matrix.compile.reassociate import reassociate
from viewlet.matrix.compile.solving import solve_inverses
from viewlet.matrix.compile.strategy import STRATEGIES, Strategy, plan
from viewlet.matrix.errors import UnsupportedQuery

Model = str
"""`linear`, `exponential`, `skip-s` or `krylov`."""


@dataclass(frozen=True)
class Expected:
    """Expected changes: the rank for each input, and the relative frequency of each."""

    ranks: Mapping[str, int] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Alternative:
    """A model and a strategy, with the estimated seconds of a refresh and the bytes stored."""

    model: Model
    strategy: Strategy
    seconds: float
    bytes: int


@dataclass(frozen=True)
class Compiled:
    """A compiled program: its statements, how they are refreshed, and the alternatives considered."""

    program: Program
    statements: Mapping[str, Op]
    chosen: Alternative
    alternatives: tuple[Alternative, ...]
    machine: Machine


def compile_program(
    source: Program,
    sizes: Mapping[str, int],
    model: Model | Literal["auto"] = "auto",
    strategy: Strategy | Literal["auto"] = "auto",
    expected: Expected | None = None,
    machine: Machine | None = None,
    in_blocks: bool = False,
) -> Compiled:
    """Compile a program in its cheapest form, or in the requested one.

    With matrices in blocks every pass over one is a job, so the Krylov model, which needs one for each step, is not
    considered.
    """
    ordered = reassociate(source, sizes)
    ordered = ordered if in_blocks else solve_inverses(ordered)
    found = [
        min(
            (_estimate(form, m, s, sizes, expected or Expected(), machine or Machine()) for form in forms), key=_seconds
        )
        for m in _models(ordered, model, in_blocks)
        for s in _strategies(strategy)
        for forms in (_forms(ordered, m, s, in_blocks),)
    ]
    chosen, program = min(found, key=_seconds)
    alternatives = tuple(a for a, _ in found)
    return Compiled(program, statements_of(program), chosen, alternatives, machine or Machine())


def _seconds(found: tuple[Alternative, Program]) -> float:
    return found[0].seconds


def _forms(program: Program, model: Model, strategy: Strategy, in_blocks: bool) -> Iterator[Program]:
    """The program lowered. If it is re-evaluated, products stay separate, so that only those that change are evaluated.

    A solve stores an inverse, which has a delta rule, or not: a hybrid tries both, except in blocks, where an inverse
    is possible and a solve is not.
    """
    either = (True,) if in_blocks else (True, False)
    keeps = {"incremental": (True,), "hybrid": either, "reevaluate": (False,)}
    for inverses in keeps[strategy]:
        found = lower(program, Form(_skip(model), inverses, krylov=model == "krylov"))
        yield found if strategy == "reevaluate" else fuse(found)


def statements_of(program: Program) -> dict[str, Op]:
    """The operators of a lowered program."""
    found: dict[str, Op] = {}
    for statement in program.statements:
        assert not isinstance(statement.op, Power | Iterate), "lowering leaves no loops"
        found[statement.name] = statement.op
    return found


def extents_of(program: Program, sizes: Mapping[str, int]) -> dict[str, Extent]:
    """The rows and columns of every named matrix."""
    return {name: measured(shape, sizes) for name, shape in shapes_in(program).items()}


def _estimate(
    program: Program, model: Model, strategy: Strategy, sizes: Mapping[str, int], expected: Expected, machine: Machine
) -> tuple[Alternative, Program]:
    extents = extents_of(program, sizes)
    costs, statements = Costs(extents, machine), statements_of(program)
    seconds = 0.0
    for declared in program.inputs:
        rate = expected.rates.get(declared.name, 0.0 if expected.rates else 1.0)
        change = _row_change(extents[declared.name], expected.ranks.get(declared.name, 1))
        seconds += rate * plan(statements, {declared.name: change}, costs, strategy).seconds
    return Alternative(model, strategy, seconds, costs.stored(statements)), program


def _row_change(extent: Extent, rank: int) -> Kind:
    rows, columns = extent
    rank = min(rank, rows, columns)
    return Spread(rank, rank, columns)


def _strategies(strategy: str) -> tuple[Strategy, ...]:
    found = tuple(s for s in STRATEGIES if strategy in (s, "auto"))
    if not found:
        raise UnsupportedQuery(f"there is no strategy {strategy!r}", hint=f"one of {', '.join(STRATEGIES)}, or auto")
    return found


def _models(program: Program, model: str, in_blocks: bool) -> Iterator[Model]:
    """The models to consider; a program without iterations has only one."""
    longest = max(steps_of(program), default=1)
    if model != "auto":
        _skip(model)
        yield model
    elif longest == 1:
        yield "linear"
    else:
        yield from ("linear", "exponential", *_skips(longest))
        yield from ("krylov",) if has_affine_loop(program) and not in_blocks else ()


def _skips(longest: int) -> Iterator[Model]:
    skip = 2
    while skip < longest:
        yield f"skip-{skip}"
        skip *= 2


def _skip(model: Model) -> int | None:
    match model.split("-"):
        case ["linear"]:
            return 1
        case ["exponential"] | ["krylov"]:
            return None
        case ["skip", steps] if steps.isdecimal() and int(steps) > 0:
            return int(steps)
        case _:
            raise UnsupportedQuery(
                f"there is no model {model!r}", hint="linear, exponential, skip-4 and the like, krylov, or auto"
            )
