"""Windows that need not read their whole partition.

    a row sees `back` rows before it and `ahead` rows after it     (lag, lead, ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)

so only the `ahead` rows before a change and the `back` rows after it see it. A row that sees all rows before it (a
rank, a running sum) is affected by every earlier change, but resumes from the stored result of the last row before the
change.
"""

from __future__ import annotations

from collections.abc import Callable

from viewlet.plan.expr import Call, Column, Expr, Frame, Literal, Named, Order, Over, conjuncts, rewrite
from viewlet.plan.nodes import Filter, Plan, Project, Window, overs_of
from viewlet.plan.types import FRACTIONAL, INTEGRAL, Field, Type
from viewlet.program.access import Leading, Nearby

FURTHEST = 10_000
"""Windows that see more rows read their whole partition."""
_COUNTS = ("row_number", "rank", "dense_rank")
_LAST = ("last", "last_value")


def nearby_rows(plan: Window) -> Nearby | None:
    """The rows around a change that a window must read; None for the whole partition."""
    overs = overs_of(plan)
    match plan.order:
        case (Order(key=Column(name, kind), descending=descending), *_) if kind.is_sortable and overs:
            sees = [_sees(over) for over in overs]
        case _:
            return None
    backs, aheads = [back for back, _ in sees], [ahead for _, ahead in sees if ahead is not None]
    ahead = max(aheads, default=0)
    if len(aheads) < len(sees) or ahead > FURTHEST:
        return None
    limited = [back for back in backs if back is not None]
    if len(limited) == len(backs):
        back = max(limited)
        return Nearby(name, name, descending, back, ahead) if back <= FURTHEST else None
    return Nearby(name, name, descending, None, 0) if not limited and not ahead and all(map(_resumes, overs)) else None


def in_two(plan: Window, fresh: Callable[[str], str]) -> Project:
    """A window that only computes its calls, below a projection that computes the results from them."""
    own = {r.expr: r.name for r in reversed(plan.results)}
    calls = {call: Field(own.get(call) or fresh("w"), call.type) for call in overs_of(plan)}
    columns = (*plan.rows.columns, *calls.values())
    below = Window(plan.rows, plan.partition, plan.order, tuple(Named(f.name, c) for c, f in calls.items()), columns)

    def value(e: Expr) -> Expr | None:
        return Column(calls[e].name, e.type) if isinstance(e, Over) else None

    kept = tuple(Named(f.name, Column(f.name, f.type)) for f in plan.rows.columns)
    results = tuple(Named(r.name, rewrite(r.expr, value)) for r in plan.results)
    return Project(below, (*kept, *results), plan.columns)


def _sees(over: Over) -> tuple[int | None, int | None]:
    """How many rows back and ahead a function sees; None means all."""
    if over.function in _COUNTS:
        return None, 0
    lower, upper = _offset(over.frame, over.frame.lower), _offset(over.frame, over.frame.upper)
    if over.function in ("lag", "lead"):
        upper = lower
    if over.function in _LAST and not over.ignore_nulls and over.frame.lower is None:
        lower = upper
    if over.function in ("percent_rank", "cume_dist", "ntile"):
        return None, None
    return None if lower is None else max(-lower, 0), None if upper is None else max(upper, 0)


def _offset(frame: Frame, bound: Expr | None) -> int | None:
    """A bound as a number of rows, with ties counted as one row; None if it is unbounded or computed."""
    match bound:
        case Literal(int(value)) if frame.unit == "rows" or value == 0:
            return value
        case _:
            return None


def _resumes(over: Over) -> bool:
    """Whether the values of later rows can be computed from the value at a row and the rows after it."""
    if over.function in _COUNTS:
        return True
    if over.where is not None or over.frame.lower is not None or _offset(over.frame, over.frame.upper) != 0:
        return False
    kind = over.args[0].type if over.args else None
    match over.function:
        case "count":
            return True
        case "sum":
            return kind is not None and (kind.name in (*INTEGRAL, *FRACTIONAL) or _is_short_decimal(kind))
        case "min" | "max":
            return kind is not None and kind.is_ordered and kind.name not in ("double", "float")
        case "first" | "first_value":
            return not over.ignore_nulls
        case "nth_value":
            return not over.ignore_nulls and isinstance(nth := over.args[1], Literal) and nth.value == 1
        case _:
            return False


def _is_short_decimal(kind: Type) -> bool:
    """Whether sums of such decimals cannot overflow: an overflow is NULL, and so is a sum of no rows."""
    return kind.name == "decimal" and kind.args[0] + 10 <= 38


def leading_rows(plan: Window, top: Plan) -> Leading | None:
    """The first rows of a partition that can pass the filters above; None if all can."""
    if not plan.order or any(ahead != 0 for _, ahead in map(_sees, overs_of(plan))):
        return None
    match plan.order[0]:
        case Order(key=Column(name, kind), descending=descending) if kind.is_sortable:
            numbers = [
                r.name for r in plan.results if isinstance(r.expr, Over) and r.expr.function in ("row_number", "rank")
            ]
            bounds = [b for number in numbers for b in _bounds(top, plan, number)]
            return Leading(name, descending, min(bounds)) if bounds and 1 <= min(bounds) <= FURTHEST else None
        case _:
            return None


def _bounds(top: Plan, base: Plan, name: str) -> list[int]:
    """Upper bounds that the filters above an operator imply for one of its columns."""
    match top:
        case Filter(rows, condition) if top is not base:
            own = passed_through(rows, base, name)
            here = [b for term in conjuncts(condition) if (b := _bound(term, own)) is not None]
            return here + _bounds(rows, base, name)
        case Project(rows) if top is not base:
            return _bounds(rows, base, name)
        case _:
            return []


def _bound(term: Expr, name: str | None) -> int | None:
    match term:
        case Call("le" | "lt" | "eq" as sign, (Column(column), Literal(int(value)))) if column == name:
            return value - (sign == "lt")
        case _:
            return None


def passed_through(top: Plan, base: Plan, name: str) -> str | None:
    """The name of an operator's column above some filters and projections; None if it is dropped."""
    if top is base:
        return name
    assert isinstance(top, Filter | Project)
    below = passed_through(top.rows, base, name)
    if below is None or isinstance(top, Filter):
        return below
    return next((r.name for r in top.results if isinstance(r.expr, Column) and r.expr.name == below), None)
