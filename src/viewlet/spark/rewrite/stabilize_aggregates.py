"""Aggregates that depend on the order of their rows, with an order of their own.

The rows of a group are ordered by the arguments of all such functions together, so that results that the query takes
from one row (`first(a), first(b)`) do come from one row, and related lists stay aligned. A single function only needs
min, max or a sorted list.
"""

from __future__ import annotations

from viewlet.spark.rewrite.ties import only_if, sortable
from viewlet.spark.session.jvm import Jvm, Node, children, class_of, copy_with, items, same_expr, walk

ROW_CHOICES = ("First", "Last", "AnyValue", "MaxBy", "MinBy", "CollectList", "ListAgg")
OPEN_AGGREGATES = (*ROW_CHOICES, "CollectSet", "Mode")


def settle_aggregate(jvm: Jvm, node: Node) -> Node | None:
    """An Aggregate with deterministic functions; None if they are already."""
    results = items(node.aggregateExpressions())
    calls = [e for r in results for e in walk(r) if class_of(e) == "AggregateExpression"]
    found = [c for c in calls if function_name(c) in OPEN_AGGREGATES]
    if not found:
        return None
    choices = [e for e in found if function_name(e) in ROW_CHOICES]
    ties = distinct([argument(e) for e in choices])
    alone = len(ties) == 1 and len(distinct(choices)) == 1

    def rule(expr: Node) -> Node | None:
        if class_of(expr) != "AggregateExpression" or function_name(expr) not in OPEN_AGGREGATES:
            return None
        if is_spread and is_unordered_text(expr):
            return spread_text(jvm, expr, ties)
        return settle_call(jvm, expr, ties, alone=alone)

    is_spread = has_spread_values(calls)
    settled = [r.transformUp(jvm.rule(rule)) for r in results]
    return copy_with(jvm, node, {1: jvm.seq(settled)})


def function_name(call: Node) -> str:
    return class_of(call.aggregateFunction())


def argument(call: Node) -> Node:
    """The value that a call takes from the row it chooses."""
    function = call.aggregateFunction()
    return function.valueExpr() if class_of(function) in ("MaxBy", "MinBy") else function.child()


def distinct(exprs: list[Node]) -> list[Node]:
    """The expressions that differ in meaning."""
    result: list[Node] = []
    for expr in exprs:
        if not any(same_expr(expr, r) for r in result):
            result.append(expr)
    return result


def settle_call(jvm: Jvm, call: Node, ties: list[Node], *, alone: bool) -> Node | None:
    """One call made deterministic."""
    function, where = call.aggregateFunction(), call.filter()
    match class_of(function):
        case "First" | "AnyValue":
            return first_row(jvm, call, ties, alone=alone, last=False)
        case "Last":
            return first_row(jvm, call, ties, alone=alone, last=True)
        case "MaxBy" | "MinBy" as kind:
            return extreme_row(jvm, function, where, ties, largest=kind == "MaxBy")
        case "CollectSet":
            return jvm.expressions.SortArray(call) if jvm.is_orderable(function.child()) else None
        case "CollectList":
            return sorted_list(jvm, call, ties, alone=alone)
        case "ListAgg":
            return sorted_text(jvm, call, ties)
        case "Mode":
            return copy_with(jvm, call, {0: least_mode(jvm, function) or function})
    return None


def least_mode(jvm: Jvm, function: Node) -> Node | None:
    """`mode` with the smallest of the most frequent values; None if the query says which."""
    return copy_with(jvm, function, {3: jvm.some(True)}) if function.reverseOpt().isEmpty() else None


def first_row(jvm: Jvm, call: Node, ties: list[Node], *, alone: bool, last: bool) -> Node:
    """The value of the group's first (last) row; with IGNORE NULLS, of the first (last) row that has one."""
    function, where = call.aggregateFunction(), call.filter()
    value = function.child()
    if alone and jvm.is_orderable(value):
        return reduce_to(jvm, value, where, largest=last)
    if function.ignoreNulls():
        return choose(jvm, value, ties, where, present=value, largest=last)
    return choose(jvm, value, ties, where, largest=last)


def extreme_row(jvm: Jvm, function: Node, where: Node, ties: list[Node], *, largest: bool) -> Node:
    """max_by and min_by, with ties broken by the values themselves."""
    order = function.orderingExpr()
    return choose(jvm, function.valueExpr(), [order, *ties], where, present=order, largest=largest)


def choose_rows(jvm: Jvm, columns: list[Node]) -> list[Node]:
    """Columns of one row of a group: the first row by all of them."""
    return [choose(jvm, c, columns, jvm.none(), largest=False) for c in columns]


def choose(jvm: Jvm, value: Node, keys: list[Node], where: Node, *, largest: bool, present: Node | None = None) -> Node:
    """`value` of the row with the smallest (largest) keys, among the rows where `present` is not NULL."""
    at = next((i for i, k in enumerate(keys) if same_expr(k, value)), None)
    if at is not None and all(jvm.is_orderable(k) for k in keys):
        row = reduce_to(jvm, only_if(jvm, present, jvm.struct(keys)), where, largest=largest)
        return jvm.expressions.GetStructField(row, at, jvm.some(f"c{at}"))
    key = only_if(jvm, present, jvm.struct([sortable(jvm, k) for k in keys]))
    pick = jvm.aggregate.MaxBy if largest else jvm.aggregate.MinBy
    return jvm.reduce(pick(value, key), where=where)


def reduce_to(jvm: Jvm, value: Node, where: Node, *, largest: bool) -> Node:
    return jvm.reduce(jvm.aggregate.Max(value) if largest else jvm.aggregate.Min(value), where=where)


def sorted_list(jvm: Jvm, call: Node, ties: list[Node], *, alone: bool) -> Node | None:
    """collect_list in the order of the group's rows."""
    function = call.aggregateFunction()
    value = function.child()
    if not jvm.is_orderable(value):
        return None
    if alone or call.isDistinct():
        return jvm.expressions.SortArray(call)
    keys, skips = [sortable(jvm, t) for t in ties], skips_nulls(jvm, function)
    row = jvm.struct([*keys, jvm.expressions.KnownNotNull(value) if skips else value])
    row = only_if(jvm, value if skips else None, row)
    collected = copy_with(jvm, call, {0: copy_with(jvm, function, {0: row})})
    return list_field(jvm, jvm.expressions.SortArray(collected), len(keys), nullable=not skips)


def skips_nulls(jvm: Jvm, function: Node) -> bool:
    """Whether a function skips NULL; `collect_list` always did before Spark 4.2."""
    if class_of(function) == "CollectList" and jvm.version < (4, 2):
        return True
    return bool(function.ignoreNulls())


def list_field(jvm: Jvm, rows: Node, at: int, *, nullable: bool = False) -> Node:
    """One field of every struct in a list; `nullable` if the field may be NULL."""
    fields = rows.dataType().elementType().fields()
    return jvm.expressions.GetArrayStructFields(rows, fields[at], at, len(fields), nullable)


def has_spread_values(calls: list[Node]) -> bool:
    """Whether Spark expands DISTINCT values into rows of their own: for several, or one with a FILTER."""
    distinct_calls = [c for c in calls if c.isDistinct()]
    spread = {frozenset(map(str, varying(c.aggregateFunction()))) for c in distinct_calls}
    return len(spread) > 1 or any(c.filter().isDefined() for c in distinct_calls)


def varying(function: Node) -> list[Node]:
    """The arguments of a function that are not constant."""
    return [child for child in children(function) if not child.foldable()]


def is_unordered_text(call: Node) -> bool:
    """Whether a call is a listagg of strings without an order."""
    function = call.aggregateFunction()
    if class_of(function) != "ListAgg" or not function.orderExpressions().isEmpty():
        return False
    return bool(function.child().dataType().typeName() == "string")


def spread_text(jvm: Jvm, call: Node, ties: list[Node]) -> Node:
    """listagg as a sorted list or set, since Spark fails on an ordered listagg where it expands values."""
    function, e = call.aggregateFunction(), jvm.expressions
    if call.isDistinct():
        values = e.SortArray(jvm.reduce(jvm.aggregate.CollectSet(function.child()), where=call.filter()))
    else:
        collected = jvm.reduce(jvm.aggregate.CollectList(function.child()), where=call.filter())
        values = sorted_list(jvm, collected, ties, alone=False)
    delimiter = e.Coalesce(jvm.seq([function.delimiter(), jvm.literal("")]))
    text = e.ArrayJoin(values, delimiter, jvm.none())
    return e.If(e.GreaterThan(e.Size(values, False), jvm.literal(0)), text, jvm.null(text.dataType()))


def sorted_text(jvm: Jvm, call: Node, ties: list[Node]) -> Node:
    """listagg in the order it asks for, then in the order of the group's rows."""
    function = call.aggregateFunction()
    order = items(function.orderExpressions())
    if call.isDistinct():
        more = [] if order else [function.child()]
    else:
        more = [sortable(jvm, t) for t in ties]
    full = jvm.seq([*order, *(jvm.ascending(m) for m in more)])
    return copy_with(jvm, call, {0: copy_with(jvm, function, {2: full})})
