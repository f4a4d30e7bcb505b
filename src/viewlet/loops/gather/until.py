"""The conditions after UNTIL for vertices, evaluated on pairs of new and old rows without a join."""

from __future__ import annotations

import numpy as np

from viewlet.columns.arrays import Mask, truth_of
from viewlet.columns.evaluate import compile_condition
from viewlet.columns.rows import Rows
from viewlet.engine.groups import compile_plan
from viewlet.loops.definition.compiled import CompiledUntil
from viewlet.plan.expr import Call, Column, Expr, Named, conjuncts
from viewlet.plan.nodes import Filter, Input, Join, Plan, Project, children, column, map_children


class PairsUntil:
    """Decides when rounds end and which changes are held back."""

    def __init__(self, until: CompiledUntil) -> None:
        done = _checked(until.is_done)
        self._names = [f.name for f in _input(done).columns]
        self._is_done = compile_plan(done, keyed=False)
        held = None if until.is_held is None else _checked(until.is_held)
        self._held_names = [] if held is None else [f.name for f in _input(held).columns]
        self._held = None if held is None else [compile_condition(c) for c in _conditions(held)]

    @property
    def holds_back(self) -> bool:
        return self._held is not None

    def is_done(self, pairs: Rows) -> bool:
        """Whether the condition holds; without changes it does."""
        if not len(pairs):
            return True
        (answers,) = self._is_done([pairs.rename(self._names)]).columns.values()
        return bool(truth_of(answers.fill_null(False)).all())

    def held(self, pairs: Rows) -> Mask:
        """A mask of the pairs that are held back."""
        named = pairs.rename(self._held_names)
        result = np.ones(len(pairs), dtype=np.bool_)
        for condition in self._held or ():
            result &= condition(named)
        return result


def _checked(plan: Plan) -> Plan:
    found = over_pairs(plan)
    assert found is not None, "a condition that pairs of rows do not decide"
    return found


def _conditions(plan: Plan) -> list[Expr]:
    """The filters of a plan; all projections keep their columns, except the last, which picks the keys."""
    below = [] if isinstance(plan, Input) else _conditions(children(plan)[0])
    return [*below, plan.condition] if isinstance(plan, Filter) else below


def over_pairs(plan: Plan) -> Plan | None:
    """A function of new and old rows, rewritten to read pairs instead of joining; None if that is not possible."""
    if isinstance(plan, Join):
        return _paired(plan)
    if len(children(plan)) != 1:
        return None
    below = over_pairs(children(plan)[0])
    return below and map_children(plan, lambda _: below)


def _paired(plan: Join) -> Plan | None:
    """The join as filters on pairs."""
    left, right = _side(plan.left), _side(plan.right)
    by_key = [isinstance(c, Call) and c.function == "eq_null_safe" for c in conjuncts(plan.condition)]
    if left is None or right is None or {left[0].index, right[0].index} != {0, 1} or not any(by_key):
        return None
    where = [*left[1], *right[1]]
    if plan.kind == "inner":
        where += conjuncts(plan.condition)
    elif plan.kind != "full" or where or not all(by_key):
        return None
    new, old = sorted((left[0], right[0]), key=lambda side: side.index)
    pairs: Plan = Input(0, (*new.columns, *old.columns))
    for condition in where:
        pairs = Filter(pairs, condition)
    return Project(pairs, tuple(Named(f.name, column(f)) for f in plan.columns), plan.columns)


def _side(plan: Plan) -> tuple[Input, list[Expr]] | None:
    """An input and the filters above it; None if the plan does anything else than select its columns."""
    match plan:
        case Input():
            return plan, []
        case Project(results=results) if all(isinstance(r.expr, Column) and r.expr.name == r.name for r in results):
            return _side(plan.rows)
        case Filter():
            found = _side(plan.rows)
            return found and (found[0], [*found[1], plan.condition])
        case _:
            return None


def _input(plan: Plan) -> Input:
    return plan if isinstance(plan, Input) else _input(children(plan)[0])
