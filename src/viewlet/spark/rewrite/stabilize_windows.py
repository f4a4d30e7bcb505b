"""Window functions that depend on the order of tied rows, with the ties broken.

There are three cases. *Kept*: rank and its family, and aggregates over RANGE frames, refer to the query's own order and
its ties. *Ordered*: row_number, lag, ROWS frames and the like get all other columns as further sort terms, in a Window
of their own if they shared one with kept functions. *Numbered*: a choice of rows inside a RANGE frame (last_value,
collect_list) keeps the frame, with its rows in the order of a row_number computed before.
"""

from __future__ import annotations

from viewlet.spark.rewrite.stabilize_aggregates import least_mode, list_field, skips_nulls
from viewlet.spark.rewrite.ties import only_if, tie_breakers
from viewlet.spark.session.jvm import Jvm, Node, class_of, copy_with, items, module

RANKS = ("Rank", "DenseRank", "PercentRank", "CumeDist")
CHOICES = (
    "First",
    "Last",
    "AnyValue",
    "CollectList",
    "NthValue",
    "MaxBy",
    "MinBy",
    "RowNumber",
    "NTile",
    "Lag",
    "Lead",
)
"""Functions whose result depends on the order of the rows in their frame."""
LISTS = ("CollectList", "CollectSet", "NthValue")


def settle_window(jvm: Jvm, node: Node) -> Node | None:
    """A Window with deterministic functions; None if they are already."""
    if not any(function_name(r.child()) == "Mode" for r in items(node.windowExpressions())):
        return settle_ties(jvm, node)
    node = node.transformExpressions(jvm.rule(lambda e: least_mode(jvm, e) if class_of(e) == "Mode" else None))
    return settle_ties(jvm, node) or node


def settle_ties(jvm: Jvm, node: Node) -> Node | None:
    """A Window whose functions do not depend on the order of tied rows; None if they do not already."""
    results = items(node.windowExpressions())
    cases = [case_of(jvm, r.child()) for r in results]
    if all(c == "kept" for c in cases):
        return None
    ordered = [r for r, c in zip(results, cases, strict=True) if c == "ordered"]
    plan, number = node.child(), None
    if ordered or "numbered" in cases:
        plan, number = order_ties(jvm, node, ordered, number="numbered" in cases)
    inner, output = [], items(node.child().output())
    for result, case in zip(results, cases, strict=True):
        if case == "kept":
            inner.append(result)
        if case in ("kept", "ordered"):
            output.append(result.toAttribute())
        else:
            found, final = settle_frame(jvm, result, number)
            inner.append(found)
            output.append(jvm.alias(final, result.name(), result.exprId()))
    return jvm.project(output, copy_with(jvm, node, {0: jvm.seq(inner), 3: plan}) if inner else plan)


def case_of(jvm: Jvm, window: Node) -> str:
    """How a window expression is made deterministic."""
    name, frame = function_name(window), window.windowSpec().frameSpecification()
    peers = is_range(frame) or is_whole(frame)
    if name in RANKS:
        return "kept"
    if not peers:
        return "ordered"
    if name in LISTS and not jvm.is_orderable(value_of(function_and_call(window)[0])):
        return "kept"
    if name == "CollectSet":
        return "set"
    if name in CHOICES and is_range(frame) and not is_whole(frame):
        return "ordered" if starts_whole(window, name, frame) else "numbered"
    return "ordered" if name in CHOICES else "kept"


def function_name(window: Node) -> str:
    return class_of(function_and_call(window)[0])


def is_range(frame: Node) -> bool:
    return class_of(frame.frameType()) == "RangeFrame$"


def is_whole(frame: Node) -> bool:
    """Whether a frame is the whole partition."""
    return class_of(frame.lower()) == "UnboundedPreceding$" and class_of(frame.upper()) == "UnboundedFollowing$"


def starts_whole(window: Node, name: str, frame: Node) -> bool:
    """Whether a function reads only the first row of its partition."""
    if name not in ("First", "AnyValue") or class_of(frame.lower()) != "UnboundedPreceding$":
        return False
    return class_of(frame.upper()) == "CurrentRow$" and not window.windowFunction().aggregateFunction().ignoreNulls()


def order_ties(jvm: Jvm, node: Node, results: list[Node], *, number: bool) -> tuple[Node, Node | None]:
    """A Window in the order of the query and then of all columns; with a row number if wanted."""
    order = items(node.orderSpec())
    given = [*items(node.partitionSpec()), *(o.child() for o in order)]
    full = [*order, *tie_breakers(jvm, node.child(), given)]
    settled = [in_order(jvm, r, full) for r in results]
    row = row_number(jvm, node, full) if number else None
    settled.extend([row] if row is not None else [])
    window = copy_with(jvm, node, {0: jvm.seq(settled), 2: jvm.seq(full)})
    return window, None if row is None else row.toAttribute()


def in_order(jvm: Jvm, result: Node, order: list[Node]) -> Node:
    """A window function over the same rows in a finer order; a frame of peers becomes one of rows."""
    window = result.child()
    spec = window.windowSpec()
    frame = spec.frameSpecification()
    if is_range(frame):
        frame = copy_with(jvm, frame, {0: module(getattr(jvm.expressions, "RowFrame$"))})
    spec = copy_with(jvm, spec, {1: jvm.seq(order), 2: frame})
    return result.withNewChildren(jvm.seq([copy_with(jvm, window, {1: spec})]))


def row_number(jvm: Jvm, node: Node, order: list[Node]) -> Node:
    """The number of a row in its partition."""
    function = jvm.expressions.RowNumber()
    spec = jvm.expressions.WindowSpecDefinition(node.partitionSpec(), jvm.seq(order), function.frame())
    return jvm.alias(jvm.expressions.WindowExpression(function, spec), "_row")


def settle_frame(jvm: Jvm, result: Node, number: Node) -> tuple[Node, Node]:
    """For a choice inside a frame of peers, the window function to compute, and the result from its value."""
    window = result.child()
    function, call = function_and_call(window)
    where = None if call is None else call.filter()
    choice = jvm.reduce(choice_of(jvm, function, number), where=where)
    found = jvm.alias(copy_with(jvm, window, {0: choice}), "_choice")
    return found, result_of(jvm, function, found.toAttribute())


def choice_of(jvm: Jvm, function: Node, number: Node) -> Node:
    """The aggregate that finds the row or rows that a function chooses, by row number."""
    name, value = class_of(function), value_of(function)
    match name:
        case "CollectSet":
            return function
        case "MaxBy" | "MinBy":
            order = function.orderingExpr()
            return copy_with(jvm, function, {1: only_if(jvm, order, jvm.struct([order, number]))})
        case "CollectList" | "NthValue":
            row = only_if(jvm, value if skips_nulls(jvm, function) else None, jvm.struct([number, value]))
            return jvm.aggregate.CollectList(row)
        case _:
            pick = jvm.aggregate.MaxBy if name == "Last" else jvm.aggregate.MinBy
            return pick(value, only_if(jvm, value if function.ignoreNulls() else None, number))


def result_of(jvm: Jvm, function: Node, found: Node) -> Node:
    """The result of a function, from the row or rows found."""
    match class_of(function):
        case "CollectSet":
            return jvm.expressions.SortArray(found)
        case "CollectList":
            nullable = not skips_nulls(jvm, function)
            return list_field(jvm, jvm.expressions.SortArray(found), 1, nullable=nullable)
        case "NthValue":
            values = list_field(jvm, jvm.expressions.SortArray(found), 1, nullable=True)
            at = jvm.expressions.Subtract(function.offset(), jvm.literal(1))
            return jvm.expressions.GetArrayItem(values, at, False)
        case _:
            return found


def value_of(function: Node) -> Node:
    """The value that a function takes from the rows it chooses."""
    match class_of(function):
        case "NthValue":
            return function.input()
        case "MaxBy" | "MinBy":
            return function.valueExpr()
        case _:
            return function.child()


def function_and_call(window: Node) -> tuple[Node, Node | None]:
    """A window's function, and the aggregate call around it if there is one."""
    function = window.windowFunction()
    return (function.aggregateFunction(), function) if class_of(function) == "AggregateExpression" else (function, None)
