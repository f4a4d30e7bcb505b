"""Strategies: whether a statement is refreshed by its delta or evaluated anew, and what a whole refresh then costs.

reevaluate     every statement that a change reaches is evaluated anew
incremental    changes stay in factors wherever there is a rule
hybrid         each statement the cheaper way; a change with as many ranks as its matrix is thin is one matrix
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, assert_never, get_args

from viewlet.matrix.cost import Costs, Kind, Kinds, Spread, Whole
from viewlet.matrix.evaluate import is_view
from viewlet.matrix.ops import Op, operands

Strategy = Literal["incremental", "hybrid", "reevaluate"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)


@dataclass(frozen=True, slots=True)
class Choice:
    """How a statement is refreshed, what that is estimated to cost, and how it then changes."""

    tries_delta: bool
    """Whether the delta rule is asked; it may still have a reason to say no."""
    seconds: float
    kind: Kind
    reason: str = ""


def choose(name: str, op: Op, kind: Kinds, costs: Costs, strategy: Strategy) -> Choice:
    """How one statement is refreshed, given how its operands change."""
    rule = costs.delta(name, op, kind)
    if is_view(op):
        return Choice(True, 0.0, rule[1] if rule else None)
    anew = costs.evaluating(name, op) + costs.staging(operands(op), kind)
    if strategy == "reevaluate":
        return Choice(False, anew, Whole(), "by strategy")
    if rule is None:
        return Choice(True, anew, Whole())
    work, result = rule
    match strategy:
        case "incremental":
            return Choice(True, work + costs.applying(name, result), result)
        case "hybrid":
            result = Whole() if is_thin(result, costs.extents[name]) else result
            kept = Choice(True, work + costs.applying(name, result), result)
            return kept if kept.seconds <= anew else Choice(False, anew, Whole(), "it is less work")
        case _:
            assert_never(strategy)


def is_thin(kind: Kind, extent: tuple[int, int]) -> bool:
    """Whether a change in factors takes as much room as the matrix: then one matrix is the better form."""
    rows, columns = extent
    return isinstance(kind, Spread) and kind.rank * (kind.rows + kind.columns) >= rows * columns


def estimate(statements: Mapping[str, Op], changing: Mapping[str, Kind], costs: Costs, strategy: Strategy) -> float:
    """The seconds of a refresh in which some inputs change."""
    kinds = dict(changing)
    total = sum(costs.applying(name, kind) for name, kind in changing.items())
    for name, op in statements.items():
        if any(kinds.get(n) is not None for n in operands(op)):
            choice = choose(name, op, kinds.get, costs, strategy)
            kinds[name], total = choice.kind, total + choice.seconds
    return total
