"""Strategies: which statements are refreshed by deltas and which are re-evaluated, and the costs.

    hybrid         each statement in the way that is cheaper for the whole refresh; a change whose factors are as large
                   as the matrix is carried as one matrix
    incremental    by deltas, in factors, wherever there is a rule
    reevaluate     every statement that a change reaches is re-evaluated

Among strategies with equal estimates the first wins, since it can still adapt to changes larger than expected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from viewlet.matrix.algebra.ops import Op, operands
from viewlet.matrix.arrays.evaluate import is_view
from viewlet.matrix.compile.cost import Costs, Kind, Kinds, Spread, Whole

Strategy = Literal["hybrid", "incremental", "reevaluate"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)


@dataclass(frozen=True, slots=True)
class Plan:
    """The statements that are re-evaluated although they have a rule, and the seconds of the whole refresh."""

    evaluated: frozenset[str]
    seconds: float


def plan(statements: Mapping[str, Op], changing: Mapping[str, Kind], costs: Costs, strategy: Strategy) -> Plan:
    """Plan a refresh after changes of some inputs."""
    reached = _reached(statements, changing)
    everything = frozenset(name for name, op in reached.items() if not is_view(op))
    match strategy:
        case "reevaluate":
            candidates = [everything]
        case "incremental":
            candidates = [frozenset[str]()]
        case "hybrid":
            mixed = (_cheaper_to_evaluate(reached, changing, costs, staging) for staging in (False, True))
            candidates = [frozenset[str](), *mixed, everything]
    return min((Plan(c, _seconds(reached, changing, costs, c)) for c in candidates), key=lambda p: p.seconds)


def is_thin(kind: Kind, extent: tuple[int, int]) -> bool:
    """Whether a change in factors takes as much space as the matrix, so that one matrix is the better form."""
    rows, columns = extent
    return isinstance(kind, Spread) and kind.rank * (kind.rows + kind.columns) >= rows * columns


def _reached(statements: Mapping[str, Op], changing: Mapping[str, Kind]) -> dict[str, Op]:
    names = {name for name, kind in changing.items() if kind is not None}
    found: dict[str, Op] = {}
    for name, op in statements.items():
        if names.intersection(operands(op)):
            names.add(name)
            found[name] = op
    return found


def _by_delta(name: str, op: Op, kind: Kinds, costs: Costs) -> tuple[float, Kind] | None:
    """The seconds of a statement's delta, with applying it and its share of checks, and the change of its result."""
    rule = costs.delta(name, op, kind)
    if rule is None or is_view(op):
        return rule
    work, result = rule
    if is_thin(result, costs.extents[name]):
        result = Whole()
    checks = min(costs.checking(name, op), costs.credit(name, op, result))
    return costs.machine.rule + work + costs.applying(name, result) + checks, result


def _evaluation_cost(name: str, op: Op, costs: Costs) -> float:
    return costs.machine.statement + costs.evaluating(name, op)


def _cheaper_to_evaluate(
    reached: Mapping[str, Op], changing: Mapping[str, Kind], costs: Costs, staging: bool
) -> frozenset[str]:
    """The statements that are cheaper to re-evaluate, including the penalty for their readers of a whole change.

    New operands are computed once, for the statement that needs them first; `staging`: all statements are charged for
    them, rather than none.
    """
    kinds, kept = dict(changing), dict[str, float]()
    for name, op in reached.items():
        found = _by_delta(name, op, kinds.get, costs)
        anew = _evaluation_cost(name, op, costs)
        kept[name], kinds[name] = found if found is not None else (anew, Whole())
    penalty = _penalties(reached, kinds, kept, costs)
    for name, op in reached.items():
        penalty[name] += costs.staging(operands(op), kinds.get) if staging else 0.0
    return frozenset(
        name
        for name, op in reached.items()
        if not is_view(op) and _evaluation_cost(name, op, costs) + penalty[name] < kept[name]
    )


def _penalties(
    reached: Mapping[str, Op], kinds: Mapping[str, Kind], kept: Mapping[str, float], costs: Costs
) -> dict[str, float]:
    """For each matrix, the additional cost for its direct and indirect readers if it changes as a whole."""
    penalty = dict.fromkeys(reached, 0.0)
    for name, op in reversed(list(reached.items())):
        for read in set(operands(op)) & reached.keys():
            if isinstance(kinds[read], Whole):
                continue
            found = _by_delta(name, op, {**kinds, read: Whole()}.get, costs)
            cost = min(_evaluation_cost(name, op, costs), found[0] if found is not None else float("inf"))
            onward = 0.0 if isinstance(kinds[name], Whole) else penalty[name]
            penalty[read] += max(0.0, cost - kept[name]) + onward
    return penalty


def _seconds(reached: Mapping[str, Op], changing: Mapping[str, Kind], costs: Costs, evaluated: frozenset[str]) -> float:
    """The estimated seconds of a refresh, given the decisions. Evaluations need whole new operands."""
    kinds, staged = dict(changing), set[str]()
    total = sum(costs.applying(name, kind) for name, kind in changing.items())
    for name, op in reached.items():
        found = None if name in evaluated else _by_delta(name, op, kinds.get, costs)
        if found is None:
            total += _evaluation_cost(name, op, costs) + costs.staging(
                [n for n in operands(op) if n not in staged], kinds.get
            )
            staged.update((name, *operands(op)))
            kinds[name] = Whole()
        else:
            total, kinds[name] = total + found[0], found[1]
    return total
