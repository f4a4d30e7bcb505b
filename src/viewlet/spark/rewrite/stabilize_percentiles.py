"""percentile_approx, computed exactly: the value of rank ⌈share · n⌉ of the n sorted values.

Spark's sketch returns exactly this value while a group has fewer than accuracy / 2 values. For a larger group its
result depends on the order in which rows arrive; any rank within n / accuracy is correct, and so is this one. Spark
takes a share up to 1 / accuracy as the least value, and one from 1 − 1 / accuracy as the greatest. The value is that of
percentile_disc, a double like the values in Spark's sketch, so both round alike.
"""

from __future__ import annotations

from collections.abc import Callable

from viewlet.spark.session.jvm import Jvm, Node, class_of, copy_with, items


def settle_percentiles(jvm: Jvm, plan: Node) -> Node:
    """An analysed plan without percentile_approx."""
    return plan.transformUpWithSubqueries(jvm.rule(lambda node: _settle_node(jvm, node)))


def _settle_node(jvm: Jvm, node: Node) -> Node | None:
    match class_of(node):
        case "Aggregate":
            return node.transformExpressionsDown(
                jvm.rule(lambda e: exact(jvm, e, lambda c: c) if _is_sketch(e) else None)
            )
        case "Window" if any(_is_sketch(r.child().windowFunction()) for r in items(node.windowExpressions())):
            return _settle_window(jvm, node)
    return None


def _settle_window(jvm: Jvm, node: Node) -> Node:
    """A Window of percentile_disc calls, and above it the values converted back."""
    inner, output = list[Node](), items(node.child().output())
    for result in items(node.windowExpressions()):
        found = _over_window(jvm, result, inner)
        if found is None:
            inner.append(result)
        output.append(result.toAttribute() if found is None else jvm.alias(found, result.name(), result.exprId()))
    return jvm.project(output, copy_with(jvm, node, {0: jvm.seq(inner)}))


def _over_window(jvm: Jvm, result: Node, inner: list[Node]) -> Node | None:
    """A result over columns that are added to a Window; None if it stays as it is."""
    window = result.child()

    def placed(call: Node) -> Node:
        inner.append(jvm.alias(copy_with(jvm, window, {0: call}), result.name()))
        return inner[-1].toAttribute()

    return exact(jvm, window.windowFunction(), placed) if _is_sketch(window.windowFunction()) else None


def _is_sketch(call: Node) -> bool:
    return class_of(call) == "AggregateExpression" and class_of(call.aggregateFunction()) == "ApproximatePercentile"


def exact(jvm: Jvm, call: Node, placed: Callable[[Node], Node]) -> Node | None:
    """The value at the rank of each share, of the argument's type; an array for several shares."""
    function = call.aggregateFunction()
    value, kind = _number(jvm, function.child()), function.child().dataType()

    def ranked(share: float) -> Node:
        disc = jvm.aggregate.PercentileDisc(value, jvm.literal(share), False, 0, 0, False)
        return placed(disc.toAggregateExpression(call.isDistinct(), call.filter()))

    doubles = [ranked(share) for share in _shares(function)]
    found = [_back(jvm, double, kind) for double in doubles]
    if class_of(function.percentageExpression().dataType()) != "ArrayType":
        return found[0]
    if not found:
        return None  # with no shares it is NULL, whatever the group holds
    listed = jvm.expressions.CreateArray(jvm.seq(found))
    return jvm.expressions.If(jvm.expressions.IsNull(doubles[0]), jvm.null(listed.dataType()), listed)


def _shares(function: Node) -> list[float]:
    """The shares that a call asks for; those within the accuracy of an end become that end."""
    given = function.percentageExpression().eval(None)
    shares = [float(given)] if isinstance(given, float) else [float(s) for s in given.toDoubleArray()]
    error = 1.0 / int(function.accuracyExpression().eval(None))
    return [0.0 if s <= error else 1.0 if s >= 1.0 - error else s for s in shares]


def _number(jvm: Jvm, value: Node) -> Node:
    """A value as a number: dates in days, timestamps in microseconds; intervals Spark accepts as they are."""
    kind = value.dataType()
    match class_of(kind).removesuffix("$"):
        case "DateType":
            return jvm.expressions.DateDiff(value, _first_day(jvm))
        case "TimestampType" | "TimestampNTZType":
            return jvm.expressions.PreciseTimestampConversion(value, kind, jvm.data_type("long"))
    return value


def _back(jvm: Jvm, double: Node, kind: Node) -> Node:
    """The value that a double stands for; a decimal that has become too large is NULL, as in Spark's sketch."""
    match class_of(kind).removesuffix("$"):
        case "DoubleType":
            return double
        case "DateType":
            return jvm.expressions.DateAdd(_first_day(jvm), jvm.cast(double, jvm.data_type("integer")))
        case "TimestampType" | "TimestampNTZType" | "DayTimeIntervalType":
            return _from_integer(jvm, double, jvm.data_type("long"), kind)
        case "YearMonthIntervalType":
            return _from_integer(jvm, double, jvm.data_type("integer"), kind)
        case "DecimalType":
            return jvm.expressions.Cast(double, kind, jvm.some("UTC"), jvm.expressions.EvalMode.TRY())
    return jvm.cast(double, kind)


def _from_integer(jvm: Jvm, double: Node, integer: Node, kind: Node) -> Node:
    """The value that Spark represents by an integer."""
    return jvm.expressions.PreciseTimestampConversion(jvm.cast(double, integer), integer, kind)


def _first_day(jvm: Jvm) -> Node:
    return jvm.expressions.Literal(0, jvm.data_type("date"))
