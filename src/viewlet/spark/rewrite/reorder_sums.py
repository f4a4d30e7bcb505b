"""A query whose sums of doubles do not overflow on the way: what would Spark say if it added in another order?

Spark's sum of 1e308, 1e308 and −1e308 is 1e308 or ∞, as the rows happen to come. Here every sum is taken of values
that are 2⁶⁴ times smaller, which leaves their digits as they are, and is multiplied at the end: beyond the largest
double is what the sum itself is. A moment (variance, corr …) of finite values that is not finite is NULL here: of values
whose squares are beyond the largest double, Spark gives ∞ or NaN, as the rows happen to lie.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from viewlet.spark.rewrite.perturb import CALLS_AT, is_double, rounds
from viewlet.spark.session.handles import plan_of
from viewlet.spark.session.jvm import Jvm, Node, children, class_of, copy_with, items

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SCALE = 2.0**64
_CALL = {"Aggregate": "AggregateExpression", "Window": "WindowExpression"}
"""What stands for a call in the results of an operator."""


def steady(frame: DataFrame) -> DataFrame | None:
    """The query with such sums; None where it has none."""
    jvm = Jvm(frame.sparkSession)
    rewrite = _Steady(jvm)
    result = plan_of(frame).transformUpWithSubqueries(jvm.rule(rewrite.operator))
    return jvm.frame(result) if rewrite.found else None


class _Steady:
    def __init__(self, jvm: Jvm) -> None:
        self.jvm, self.found = jvm, False

    def operator(self, node: Node) -> Node | None:
        """An operator with steady calls; its own columns stay."""
        kind = class_of(node)
        if kind not in CALLS_AT:
            return None
        rule = self.jvm.rule(lambda e: self._call(e) if class_of(e) == _CALL[kind] else None)
        at, was = CALLS_AT[kind], self.found
        self.found = False
        changed = [call.transformUp(rule) for call in items(node.productElement(at))]
        here, self.found = self.found, self.found or was
        return copy_with(self.jvm, node, {at: self.jvm.seq(changed)}) if here else None

    def _call(self, call: Node) -> Node | None:
        """A call of a function that adds up doubles, over groups or over a window."""
        aggregate = children(call)[0] if class_of(call) == "WindowExpression" else call
        function = children(aggregate)[0] if class_of(aggregate) == "AggregateExpression" else aggregate
        if not rounds(function):
            return None
        self.found = True
        return self._sum(call, function) if class_of(function) in ("Sum", "Average") else self._moment(call, function)

    def _sum(self, call: Node, function: Node) -> Node:
        """2⁶⁴ · sum(x / 2⁶⁴), and for an average that divided by count(x)."""
        e, (argument, *_) = self.jvm.expressions, children(function)
        scaled = self.jvm.aggregate.Sum(e.Multiply(argument, self.jvm.literal(1 / _SCALE)))
        total = e.Multiply(self._with(call, scaled), self.jvm.literal(_SCALE))
        if class_of(function) == "Sum":
            return total
        count = self._with(call, self.jvm.aggregate.Count(self.jvm.seq([argument])))
        return e.Divide(total, self.jvm.cast(count, function.dataType()))

    def _moment(self, call: Node, function: Node) -> Node:
        """The call itself, but NULL where it is not finite although all values are: 0·∞ is NaN, and so is 0·NaN."""
        e, zero = self.jvm.expressions, self.jvm.literal(0.0)
        first, *more = (e.Multiply(c, zero) for c in children(function) if is_double(c))
        for other in more:
            first = e.Add(first, other)
        is_finite = e.Not(e.IsNaN(e.Multiply(call, zero)))
        is_strange = e.IsNaN(self._with(call, self.jvm.aggregate.Sum(first)))
        return e.If(e.Or(is_finite, is_strange), call, self.jvm.null(call.dataType()))

    def _with(self, call: Node, function: Node) -> Node:
        """The same call of another function."""
        if class_of(call) == "AggregateExpression":
            return copy_with(self.jvm, call, {0: function, 4: self.jvm.new_id()})
        aggregate, spec = children(call)
        return call.withNewChildren(self.jvm.seq([self._with(aggregate, function), spec]))
