"""Propagating one more column through Spark's operators: a row's weight, or the key of its group.

Each rule takes an operator and its inputs, which have the column, and returns the operator with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viewlet.spark.session.jvm import Jvm, Node, class_of, copy_with, items, rebuild, same_expr

ROW_WISE = ("Filter", "Project", "Generate", "Expand", "BatchEvalPython", "ArrowEvalPython")
HANDING_ON = ("Filter", "Sort", "GlobalLimit", "LocalLimit", "Offset", "Generate", "BatchEvalPython", "ArrowEvalPython")
"""Operators that pass on all columns of their input."""


@dataclass(frozen=True)
class Propagated:
    """A plan, its own columns, and the propagated column (None for constants, which belong to every group)."""

    plan: Node
    columns: tuple[Node, ...]
    extra: Node | None

    def tidy(self, jvm: Jvm) -> Node:
        """The plan with its own columns, followed by the extra one."""
        return jvm.project([*self.columns, *([] if self.extra is None else [self.extra])], self.plan)


def propagate_weight(jvm: Jvm, operator: Node, rows: Propagated) -> Propagated:
    """A row-wise operator, with the weight of each row."""
    if class_of(operator) not in ROW_WISE:
        raise AssertionError(f"{operator.nodeName()} is not row-wise")
    return propagate_key(jvm, operator, [rows])


def propagate_key(jvm: Jvm, operator: Node, inputs: Sequence[Propagated]) -> Propagated:
    """An operator with the key, which keeps rows of different keys apart."""
    kind, columns = class_of(operator), tuple(items(operator.output()))
    if all(i.extra is None for i in inputs):
        plan = rebuild(jvm, operator, [i.plan for i in inputs]) if inputs else operator
        return Propagated(plan, columns, None)
    if kind == "Join":
        return propagate_through_join(jvm, operator, *inputs)
    if kind == "Union":
        return propagate_through_union(jvm, operator, inputs)
    (rows,) = inputs
    match kind:
        case "Project":
            changes = {0: _with(jvm, operator.projectList(), rows.extra), 1: rows.plan}
        case "Expand":
            return propagate_through_expand(jvm, operator, rows)
        case "Aggregate":
            keys = _with(jvm, operator.groupingExpressions(), rows.extra)
            changes = {0: keys, 1: _with(jvm, operator.aggregateExpressions(), rows.extra), 2: rows.plan}
        case "Window":
            return propagate_through_window(jvm, operator, rows)
        case _ if kind in HANDING_ON:
            return Propagated(rebuild(jvm, operator, [rows.plan]), columns, rows.extra)
        case _:
            raise AssertionError(f"{operator.nodeName()} does not work group by group")
    return Propagated(copy_with(jvm, operator, changes), columns, rows.extra)


def _with(jvm: Jvm, columns: Node, extra: Node | None) -> Node:
    return jvm.seq([*items(columns), extra])


def propagate_through_expand(jvm: Jvm, operator: Node, rows: Propagated) -> Propagated:
    """Add the extra column to every projection."""
    projections = jvm.seq([_with(jvm, p, rows.extra) for p in items(operator.projections())])
    output = _with(jvm, operator.output(), rows.extra)
    plan = copy_with(jvm, operator, {0: projections, 1: output, 2: rows.plan})
    return Propagated(plan, tuple(items(operator.output())), rows.extra)


def propagate_through_window(jvm: Jvm, operator: Node, rows: Propagated) -> Propagated:
    """Add the key to the partition of the operator and of each of its functions."""
    results = [_partitioned(jvm, r, rows.extra) for r in items(operator.windowExpressions())]
    changes = {0: jvm.seq(results), 1: _with(jvm, operator.partitionSpec(), rows.extra), 3: rows.plan}
    return Propagated(copy_with(jvm, operator, changes), tuple(items(operator.output())), rows.extra)


def _partitioned(jvm: Jvm, result: Node, extra: Node | None) -> Node:
    def rule(expr: Node) -> Node | None:
        if class_of(expr) != "WindowSpecDefinition":
            return None
        return copy_with(jvm, expr, {0: _with(jvm, expr.partitionSpec(), extra)})

    return result.transform(jvm.rule(rule))


def propagate_through_union(jvm: Jvm, operator: Node, inputs: Sequence[Propagated]) -> Propagated:
    """Add the key as the last column of each input, since columns match by position."""
    if any(i.extra is None for i in inputs):
        raise AssertionError("constant rows in a union belong to no group")
    plan = operator.withNewChildren(jvm.seq([i.tidy(jvm) for i in inputs]))
    *columns, extra = items(plan.output())
    return Propagated(plan, tuple(columns), extra)


def propagate_through_join(jvm: Jvm, operator: Node, left: Propagated, right: Propagated) -> Propagated:
    """Partners have equal keys; a row without one has its own side's. Constants match rows of every group."""
    columns, kind = tuple(items(operator.output())), class_of(operator.joinType())
    condition = operator.condition()
    if left.extra is not None and right.extra is not None:
        condition = jvm.some(_and(jvm, condition, jvm.expressions.EqualTo(left.extra, right.extra)))
    plan = copy_with(jvm, operator, {0: left.plan, 1: right.plan, 3: condition})
    match kind:
        case "Inner$" | "Cross$":
            return Propagated(plan, columns, right.extra if left.extra is None else left.extra)
        case "LeftOuter$" | "LeftSemi$" | "LeftAnti$" | "ExistenceJoin" | "LeftSingle$" if left.extra is not None:
            return Propagated(plan, columns, left.extra)
        case "RightOuter$" if right.extra is not None:
            return Propagated(plan, columns, right.extra)
        case "FullOuter$" if left.extra is not None and right.extra is not None:
            either = [c for c in items(plan.output()) if same_expr(c, left.extra) or same_expr(c, right.extra)]
            key = jvm.alias(jvm.expressions.Coalesce(jvm.seq(either)), "_key")
            return Propagated(jvm.project([*columns, key], plan), columns, key.toAttribute())
    raise AssertionError(f"a {operator.nodeName()} with constants does not work group by group")


def _and(jvm: Jvm, condition: Node, term: Node) -> Node:
    return term if condition.isEmpty() else jvm.expressions.And(condition.get(), term)
