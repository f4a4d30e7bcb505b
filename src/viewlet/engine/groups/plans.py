"""Compiling a plan over inputs into one function: the table of contents of this package."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.evaluate import compile_condition, compile_expr
from viewlet.columns.evaluate import why_not as why_not_expr
from viewlet.columns.rows import Rows
from viewlet.engine.groups.aggregate import compile_aggregate, why_not_aggregate
from viewlet.engine.groups.join import compile_join, why_not_join
from viewlet.engine.groups.keys import KEY
from viewlet.engine.groups.window import compile_top, compile_window, why_not_terms, why_not_window
from viewlet.plan.nodes import (
    Aggregate,
    Expand,
    Filter,
    Generate,
    Input,
    Join,
    Plan,
    Project,
    Scan,
    Sessions,
    SparkOperator,
    Top,
    Union,
    Values,
    Window,
    children,
    expressions,
    names,
)

Function = Callable[[Sequence[Rows]], Rows]


def why_not(plan: Plan, *, keyed: bool = True) -> str | None:
    """Why `compile_plan` cannot do exactly what Spark does; None if it can."""
    if keyed and not _has_key(plan, keyed):
        return "constant rows belong to no group"
    return _why_not(plan, keyed)


def _why_not(plan: Plan, keyed: bool) -> str | None:
    return _why_not_node(plan, keyed) or next((w for c in children(plan) if (w := _why_not(c, keyed))), None)


def _why_not_node(plan: Plan, keyed: bool) -> str | None:
    match plan:
        case Input() | Values():
            return None
        case Filter() | Project() | Expand():
            return next((why for e in expressions(plan) if (why := why_not_expr(e))), None)
        case Union():
            mixed = len({_has_key(p, keyed) for p in plan.inputs}) > 1
            return "a union of constant rows with others is evaluated by Spark alone" if mixed else None
        case Join():
            return why_not_join(plan, (_has_key(plan.left, keyed), _has_key(plan.right, keyed)))
        case Aggregate():
            return why_not_aggregate(plan)
        case Window():
            return why_not_window(plan)
        case Top():
            return why_not_terms(plan.order)
        case SparkOperator():
            return plan.reason
        case Sessions():
            return "sessions are gathered by a step of their own"
        case Generate():
            return "generators are evaluated by Spark alone"
        case Scan():
            return f"`{plan.name}` is not among the inputs"


def _has_key(plan: Plan, keyed: bool) -> bool:
    """Whether a plan's rows carry a `_key`; only constant rows do not."""
    return keyed and (isinstance(plan, Input) or any(_has_key(c, keyed) for c in children(plan)))


def compile_plan(plan: Plan, *, keyed: bool = True) -> Function:
    """The function from the rows of each input to the plan's rows.

    With `keyed`, inputs and results have a last column `_key`, and rows with different `_key` never meet.
    """
    function = _compile(plan, keyed)

    def run(inputs: Sequence[Rows]) -> Rows:
        with np.errstate(all="ignore"):  # infinities and NaN are regular values here
            return function(inputs)

    return run


def _compile(plan: Plan, keyed: bool) -> Function:
    match plan:
        case Input():
            return _compile_input(plan, keyed)
        case Values():
            return _compile_values(plan)
        case Union():
            return _compile_union(plan, keyed)
        case Join():
            left, right = _compile(plan.left, keyed), _compile(plan.right, keyed)
            join = compile_join(plan, (_has_key(plan.left, keyed), _has_key(plan.right, keyed)))
            return lambda inputs: join(left(inputs), right(inputs))
        case Filter() | Project() | Expand() | Aggregate() | Window() | Top():
            rows, step = _compile(plan.rows, keyed), _compile_step(plan, _has_key(plan, keyed))
            return lambda inputs: step(rows(inputs))
        case Scan() | Generate() | Sessions() | SparkOperator():
            raise AssertionError(f"not evaluated here: {why_not(plan)}")


def _compile_step(plan: Filter | Project | Expand | Aggregate | Window | Top, has_key: bool) -> Callable[[Rows], Rows]:
    """The function of one operator on one bag of rows."""
    match plan:
        case Filter():
            holds = compile_condition(plan.condition)
            return lambda rows: rows.filter(holds(rows))
        case Project():
            return _compile_project(plan, has_key)
        case Expand():
            return _compile_expand(plan, has_key)
        case Aggregate():
            return compile_aggregate(plan, has_key)
        case Window():
            return compile_window(plan, has_key)
        case Top():
            return compile_top(plan, has_key)


def _compile_input(plan: Input, keyed: bool) -> Function:
    wanted = (*names(plan), KEY) if keyed else names(plan)

    def read(inputs: Sequence[Rows]) -> Rows:
        rows = inputs[plan.index]
        return rows if rows.names == wanted else rows.rename(wanted)

    return read


def _compile_values(plan: Values) -> Function:
    columns = {
        f.name: pa.array([row[i] for row in plan.rows], type=arrow_type(f.type)) for i, f in enumerate(plan.columns)
    }
    rows = Rows(columns, np.ones(len(plan.rows), dtype=np.int64))
    return lambda inputs: rows


def _compile_union(plan: Union, keyed: bool) -> Function:
    parts = [_compile(p, keyed) for p in plan.inputs]
    wanted = (*names(plan), KEY) if _has_key(plan, keyed) else names(plan)
    return lambda inputs: Rows.concat([part(inputs).rename(wanted) for part in parts])


def _compile_project(plan: Project, has_key: bool) -> Callable[[Rows], Rows]:
    results = [(r.name, compile_expr(r.expr)) for r in plan.results]

    def project(rows: Rows) -> Rows:
        columns = {name: compute(rows) for name, compute in results}
        return Rows(columns | {KEY: rows[KEY]} if has_key else columns, rows.weights)

    return project


def _compile_expand(plan: Expand, has_key: bool) -> Callable[[Rows], Rows]:
    kinds = [arrow_type(f.type) for f in plan.columns]
    projections = [[compile_expr(e) for e in projection] for projection in plan.projections]

    def expand(rows: Rows) -> Rows:
        return Rows.concat([project(rows, p) for p in projections])

    def project(rows: Rows, projection: Sequence[Callable[[Rows], pa.Array]]) -> Rows:
        values = [compute(rows) for compute in projection]
        cast = [v if v.type == kind else v.cast(kind) for v, kind in zip(values, kinds, strict=True)]
        columns = dict(zip(names(plan), cast, strict=True))
        return Rows(columns | {KEY: rows[KEY]} if has_key else columns, rows.weights)

    return expand
