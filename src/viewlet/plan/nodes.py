"""The algebra: the meaning of a view's definition, as a tree of frozen nodes.

A plan denotes a bag of rows. Column names are unique within a plan, so expressions need no qualifiers and joins no
renaming. A node mirrors one operator of Spark's optimized plan; `origin` is that operator's position in a preorder
walk, so that Spark can run it where nothing else is exact. `origin` is not part of a node's meaning and is ignored in
comparisons.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from viewlet.plan.expr import Column, Expr, Named, Order, Over, Reduce, walk
from viewlet.plan.types import Field


def _origin() -> Any:
    return field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Scan:
    """The rows of a table or view; columns by position, under names unique in the plan."""

    name: str
    columns: tuple[Field, ...]
    origin: int | None = _origin()


@dataclass(frozen=True, slots=True)
class Input:
    """The i-th input of a function over groups: a placeholder for rows."""

    index: int
    columns: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Values:
    """Constant rows."""

    rows: tuple[tuple[Any, ...], ...]
    columns: tuple[Field, ...]
    origin: int | None = _origin()


@dataclass(frozen=True, slots=True)
class Filter:
    """The rows for which the condition is true (not false, not NULL)."""

    rows: Plan
    condition: Expr
    origin: int | None = _origin()

    @property
    def columns(self) -> tuple[Field, ...]:
        return self.rows.columns


@dataclass(frozen=True, slots=True)
class Project:
    """One computed row for each row."""

    rows: Plan
    results: tuple[Named, ...]
    columns: tuple[Field, ...]
    origin: int | None = _origin()


@dataclass(frozen=True, slots=True)
class Join:
    """Pairs of rows for which the condition is true; weights multiply.

    `kind`: inner, left, right, full (rows without a partner padded with NULLs), semi, anti (left rows with or without
    a partner), exists (every left row, and whether it has a partner as a last column).
    """

    left: Plan
    right: Plan
    kind: str
    condition: Expr | None
    columns: tuple[Field, ...]
    origin: int | None = _origin()


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One row for each group of rows with equal keys; without keys, exactly one row.

    `results` are expressions over the keys (matched structurally) and `Reduce` calls, as Spark writes them.
    """

    rows: Plan
    keys: tuple[Expr, ...]
    results: tuple[Named, ...]
    columns: tuple[Field, ...]
    origin: int | None = _origin()


@dataclass(frozen=True, slots=True)
class Union:
    """All rows of all inputs; columns by position."""

    inputs: tuple[Plan, ...]
    columns: tuple[Field, ...]
    origin: int | None = _origin()


@dataclass(frozen=True, slots=True)
class Expand:
    """Several computed rows for each row, one for each projection (GROUPING SETS, UNPIVOT)."""

    rows: Plan
    projections: tuple[tuple[Expr, ...], ...]
    columns: tuple[Field, ...]
    origin: int | None = _origin()


@dataclass(frozen=True, slots=True)
class Generate:
    """The rows that a generator such as explode makes of each row; `outer` keeps rows for which it makes none.

    The columns are those of the input that are still needed, followed by the `generated` generated ones.
    """

    rows: Plan
    generator: Expr
    outer: bool
    generated: int
    columns: tuple[Field, ...]
    origin: int | None = _origin()


@dataclass(frozen=True, slots=True)
class Window:
    """Every row of the input, with functions of the surrounding rows in its partition as further columns.

    `results` name `Over` calls, or expressions that contain them.
    """

    rows: Plan
    partition: tuple[Expr, ...]
    order: tuple[Order, ...]
    results: tuple[Named, ...]
    columns: tuple[Field, ...]
    origin: int | None = _origin()


@dataclass(frozen=True, slots=True)
class Sessions:
    """Every row of the input, with its time span replaced by its session.

    `span` is a column of structs (start, end). Spans of rows with equal keys that overlap or touch form one session.
    `origin` is that of the input, whose place the node takes.
    """

    rows: Plan
    keys: tuple[Expr, ...]
    span: Column
    origin: int | None = _origin()

    @property
    def columns(self) -> tuple[Field, ...]:
        return self.rows.columns


@dataclass(frozen=True, slots=True)
class Top:
    """The first `limit` rows after `offset` in a total order; a `limit` of None means all."""

    rows: Plan
    order: tuple[Order, ...]
    limit: int | None
    offset: int = 0
    origin: int | None = _origin()

    @property
    def columns(self) -> tuple[Field, ...]:
        return self.rows.columns

    @property
    def leads(self) -> Order | None:
        """The first term of the order, if it is a column by which rows can be kept sorted."""
        first = self.order[0] if self.order else None
        return first if first and isinstance(first.key, Column) and first.key.type.is_sortable else None


@dataclass(frozen=True, slots=True)
class SparkOperator:
    """An operator that only Spark can run; `text` is Spark's own rendering of it."""

    inputs: tuple[Plan, ...]
    text: str
    reason: str
    columns: tuple[Field, ...]
    origin: int | None = _origin()


Plan = (
    Scan
    | Input
    | Values
    | Filter
    | Project
    | Join
    | Aggregate
    | Union
    | Expand
    | Generate
    | Window
    | Sessions
    | Top
    | SparkOperator
)


def children(plan: Plan) -> tuple[Plan, ...]:
    """The plans that a plan reads."""
    match plan:
        case Scan() | Input() | Values():
            return ()
        case Filter() | Project() | Aggregate() | Expand() | Generate() | Window() | Sessions() | Top():
            return (plan.rows,)
        case Join():
            return (plan.left, plan.right)
        case Union() | SparkOperator():
            return plan.inputs


def map_children(plan: Plan, change: Callable[[Plan], Plan]) -> Plan:
    """The same node over changed children; the node itself if none changes."""
    match plan:
        case Scan() | Input() | Values():
            return plan
        case Filter() | Project() | Aggregate() | Expand() | Generate() | Window() | Sessions() | Top():
            rows = change(plan.rows)
            return plan if rows is plan.rows else replace(plan, rows=rows)
        case Join():
            left, right = change(plan.left), change(plan.right)
            return plan if left is plan.left and right is plan.right else replace(plan, left=left, right=right)
        case Union() | SparkOperator():
            inputs = tuple(change(p) for p in plan.inputs)
            return (
                plan if all(a is b for a, b in zip(inputs, plan.inputs, strict=True)) else replace(plan, inputs=inputs)
            )


def expressions(plan: Plan) -> tuple[Expr, ...]:
    """The expressions that a node itself evaluates."""
    match plan:
        case Scan() | Input() | Values() | Union() | SparkOperator():
            return ()
        case Filter():
            return (plan.condition,)
        case Project():
            return tuple(r.expr for r in plan.results)
        case Join():
            return () if plan.condition is None else (plan.condition,)
        case Aggregate():
            return (*plan.keys, *(r.expr for r in plan.results))
        case Expand():
            return tuple(e for projection in plan.projections for e in projection)
        case Generate():
            return (plan.generator,)
        case Window():
            return (*plan.partition, *(o.key for o in plan.order), *(r.expr for r in plan.results))
        case Sessions():
            return (*plan.keys, plan.span)
        case Top():
            return tuple(o.key for o in plan.order)


def names(plan: Plan) -> tuple[str, ...]:
    return tuple(f.name for f in plan.columns)


def column(f: Field) -> Column:
    """The expression that reads a field."""
    return Column(f.name, f.type)


def leaves(plan: Plan) -> tuple[Plan, ...]:
    """The scans of a plan, one for each occurrence."""
    if isinstance(plan, Scan):
        return (plan,)
    return tuple(leaf for child in children(plan) for leaf in leaves(child))


def origin_of(plan: Plan) -> int | None:
    """The operator of Spark's plan that a node mirrors, if any."""
    return None if isinstance(plan, Input) else plan.origin


def calls_of(plan: Aggregate) -> tuple[Reduce, ...]:
    """The distinct aggregate calls in the results."""
    return tuple(dict.fromkeys(e for r in plan.results for e in walk(r.expr) if isinstance(e, Reduce)))


def overs_of(plan: Window) -> tuple[Over, ...]:
    """The distinct window calls in the results."""
    return tuple(dict.fromkeys(e for r in plan.results for e in walk(r.expr) if isinstance(e, Over)))
