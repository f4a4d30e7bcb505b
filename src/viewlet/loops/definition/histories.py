"""Rounds as a column: rewrites a step over states into a plan over their histories.

The history of a state holds its rows, each with the round that derived it. A step turns rows of round r into rows of
round r + 1, so its plan over histories is the step's own plan with the round carried along:

    filters, projections, unions         row by row: they keep the round
    joins with other relations           keep the round
    aggregates, windows                  by round: the step sees one round at a time
    joins of two rows of the loop        UNION ALL: of the same round;  else the later of their rounds

Rounds only increase, so this recursion is well-founded: a change in round r affects later rounds only, and deltas
handled in the order of their rounds are exact, for insertions and deletions, on cycles too. Counting derivations would
keep alive a cycle that is no longer reachable, and delete-and-rederive would delete a whole giant component for each
deleted edge. The round of a row distinguishes derivations that the row depends on from those that depend on the row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from viewlet.columns.fresh_names import free_name
from viewlet.errors import UnsupportedQuery
from viewlet.plan.expr import Call, Column, Expr, Literal, Named, conjunction, conjuncts
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
    column,
    names,
)
from viewlet.plan.show import show_node
from viewlet.plan.types import BIGINT, BOOLEAN, Field

ROUND = "_round"


@dataclass(frozen=True, slots=True)
class History:
    """A plan with the round of each row as a further column; `references` counts the states that it reads."""

    plan: Plan
    round: Field
    references: int = 1

    @property
    def at(self) -> Column:
        return column(self.round)


@dataclass
class Histories:
    """Rewrites plans over states into plans over their histories."""

    view: str
    bags: Mapping[str, str]
    """For each state, the feed that delivers the rows of a round."""
    of_one_round: bool
    """Whether a step sees only the last round (UNION ALL, REPEAT), or all rounds so far."""
    rounds: int | None = None
    """The number of rounds, if known in advance; then parts that read no state are repeated in every round."""
    taken: frozenset[str] = frozenset()
    """Names of columns that are in use."""
    _names: int = 0

    def step(self, plan: Plan) -> History | None:
        """A whole step over histories; None if it reads no state, so that rounds would never end."""
        return self.of(plan) or (None if self.rounds is None else self._in_every_round(plan))

    def of(self, plan: Plan) -> History | None:
        """A plan over histories; None if it reads no state, so that it is the same in every round."""
        match plan:
            case Scan(name) if name in self.bags:
                return self._scan(plan)
            case Scan() | Input() | Values():
                return None
            case Filter():
                return self._below(plan.rows, lambda rows: replace(rows, plan=replace(plan, rows=rows.plan)))
            case Project() | Expand() | Generate():
                return self._below(plan.rows, lambda rows: _row_wise(plan, rows))
            case Aggregate() | Window():
                return self._below(plan.rows, lambda rows: self._by_round(plan, rows))
            case Join():
                return self._join(plan)
            case Union():
                return self._union(plan)
            case Sessions() | Top():
                return self._unless_invariant(plan, "it has no form for each round")
            case SparkOperator():
                return self._unless_invariant(plan, plan.reason)
            case _:
                assert_never(plan)

    def _fresh(self) -> Field:
        self._names += 1
        return Field(free_name(f"{ROUND}{self._names}", self.taken), BIGINT, False)

    def _below(self, rows: Plan, over: Callable[[History], History]) -> History | None:
        found = self.of(rows)
        return None if found is None else over(found)

    def _scan(self, plan: Scan) -> History:
        """The rows of a state, labelled with the round that they contribute to: the next one."""
        was, now = self._fresh(), self._fresh()
        rows = Scan(self.bags[plan.name], (*plan.columns, was))
        following = Call("wrapping_add", (column(was), Literal(1, BIGINT)), BIGINT)
        return History(_extended(rows, plan.columns, now, following), now)

    def _by_round(self, plan: Aggregate | Window, rows: History) -> History:
        """Groups and partitions within each round."""
        if rows.references > 1 and not self.of_one_round and not _is_distinct(plan):
            self._refuse(plan, "it would see rows of several rounds")
        if isinstance(plan, Window):
            columns = (*rows.plan.columns, *plan.columns[len(plan.rows.columns) :])
            return replace(
                rows, plan=replace(plan, rows=rows.plan, partition=(*plan.partition, rows.at), columns=columns)
            )
        results = (*plan.results, Named(rows.round.name, rows.at))
        columns = (*plan.columns, rows.round)
        made = replace(plan, rows=rows.plan, keys=(*plan.keys, rows.at), results=results, columns=columns)
        return replace(rows, plan=made)

    def _join(self, plan: Join) -> History | None:
        left, right = self.of(plan.left), self.of(plan.right)
        match left, right:
            case None, None:
                return None
            case History(), None if plan.kind in ("inner", "left", "semi", "anti", "exists"):
                return replace(left, plan=replace(plan, left=left.plan, columns=_with_round(plan, left)))
            case None, History() if plan.kind in ("inner", "right"):
                return replace(right, plan=replace(plan, right=right.plan, columns=(*plan.columns, right.round)))
            case None, History() if self.rounds is not None and plan.kind != "full":
                return self._within_round(plan, self._in_every_round(plan.left), right)
            case History(), History() if self.of_one_round and plan.kind != "full":
                return self._within_round(plan, left, right)
            case History(), History() if plan.kind == "inner":
                return self._product(plan, left, right)
        return self._refuse(plan, "rows without a partner in one round may have one in a later one")

    def _within_round(self, plan: Join, left: History, right: History) -> History:
        """A join within each round; outer joins, too, match rows only within a round."""
        condition = conjunction((*conjuncts(plan.condition), Call("eq", (left.at, right.at), BOOLEAN)))
        columns = (*_with_round(plan, left), *([right.round] if plan.kind in ("inner", "left", "right") else []))
        made = Join(left.plan, right.plan, plan.kind, condition, columns)
        kept = right if plan.kind == "right" else left
        return History(_extended(made, plan.columns, kept.round, kept.at), kept.round, 2)

    def _product(self, plan: Join, left: History, right: History) -> History:
        """A join of rows of any rounds; results are of the later of the two."""
        made = Join(left.plan, right.plan, "inner", plan.condition, (*_with_round(plan, left), right.round))
        later, latest = self._fresh(), Call("greatest", (left.at, right.at), BIGINT)
        return History(_extended(made, plan.columns, later, latest), later, left.references + right.references)

    def _union(self, plan: Union) -> History | None:
        found = [self.of(part) for part in plan.inputs]
        if not any(found):
            return None
        if self.of_one_round and not all(found):
            if self.rounds is None:
                self._refuse(plan, "a part of it reads no state, and would give its rows again in every round")
            found = [h or self._in_every_round(part) for part, h in zip(plan.inputs, found, strict=True)]
        at = self._fresh()
        parts = tuple(
            _extended(part, part.columns, at, Literal(0, BIGINT))
            if history is None
            else _extended(history.plan, part.columns, at, history.at)
            for part, history in zip(plan.inputs, found, strict=True)
        )
        references = max(h.references for h in found if h is not None)
        return History(Union(parts, (*plan.columns, at)), at, references)

    def _in_every_round(self, plan: Plan) -> History:
        """The rows of a plan, once for each round."""
        at = self._fresh()
        numbers = Values(tuple((number,) for number in range(1, (self.rounds or 0) + 1)), (at,))
        return History(Join(plan, numbers, "inner", None, (*plan.columns, at)), at, references=0)

    def _unless_invariant(self, plan: Plan, why: str) -> History | None:
        """Refuse an operator that reads states."""
        return self._refuse(plan, why) if any(self.of(child) for child in children(plan)) else None

    def _refuse(self, plan: Plan, why: str) -> History:
        raise UnsupportedQuery(
            f"view {self.view}: {show_node(plan)} cannot stand over what is recursive: {why}",
            hint="move it out of the recursion, into the query that reads its result",
        )


def initially(plan: Plan) -> History:
    """The rows before the first round, as round 0."""
    at = Field(free_name(ROUND, all_names(plan)), BIGINT, False)
    return History(_extended(plan, plan.columns, at, Literal(0, BIGINT)), at, references=0)


def _with_round(plan: Join, left: History) -> tuple[Field, ...]:
    """The columns of a join whose left input has a round."""
    at = len(plan.left.columns)
    return (*plan.columns[:at], left.round, *plan.columns[at:])


def _row_wise(plan: Project | Expand | Generate, rows: History) -> History:
    """A row-wise operator that keeps the round."""
    match plan:
        case Project():
            results = (*plan.results, Named(rows.round.name, rows.at))
            return replace(rows, plan=Project(rows.plan, results, (*plan.columns, rows.round), origin=plan.origin))
        case Expand():
            projections = tuple((*p, rows.at) for p in plan.projections)
            return replace(rows, plan=Expand(rows.plan, projections, (*plan.columns, rows.round), origin=plan.origin))
        case Generate():
            at = len(plan.columns) - plan.generated
            columns = (*plan.columns[:at], rows.round, *plan.columns[at:])
            return replace(rows, plan=replace(plan, rows=rows.plan, columns=columns))


def _extended(plan: Plan, columns: tuple[Field, ...], last: Field, value: Expr) -> Plan:
    """Some columns of a plan and a computed one."""
    results = tuple(Named(f.name, column(f)) for f in columns)
    return Project(plan, (*results, Named(last.name, value)), (*columns, last))


def all_names(plan: Plan) -> frozenset[str]:
    """The names of all columns in a plan."""
    return frozenset({*names(plan), *(name for child in children(plan) for name in all_names(child))})


def _is_distinct(plan: Plan) -> bool:
    """Whether a plan is an aggregate without functions: DISTINCT."""
    return isinstance(plan, Aggregate) and all(r.expr in plan.keys for r in plan.results)
