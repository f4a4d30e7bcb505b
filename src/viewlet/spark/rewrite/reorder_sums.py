"""A query whose sums of doubles do not overflow on the way, to see what Spark could return in another order.

Spark's sum of 1e308, 1e308 and −1e308 is 1e308 or ∞, depending on the order of rows. Here every sum is taken of values
scaled down by 2⁶⁴, which does not change their digits, and is scaled up at the end: it exceeds the largest double only
if the sum itself does. A result that is not finite although all values are becomes NULL. This happens to a moment
(variance, corr …) of values whose squares exceed the largest double, for which Spark returns ∞ or NaN depending on the
order of rows; and to a sum of products that exceed it, where Spark adds infinities and a view adds the products.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from viewlet.spark.rewrite.perturb import CALL, CALLS_AT, function_of, is_double, rounds
from viewlet.spark.session.handles import plan_of
from viewlet.spark.session.jvm import Jvm, Node, children, class_of, copy_with, items

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SCALE = 2.0**64
_ARITHMETIC = frozenset(("Add", "Subtract", "Multiply", "UnaryMinus"))


def steady(frame: DataFrame) -> DataFrame | None:
    """The query with such sums; None if it has none."""
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
        rule = self.jvm.rule(lambda e: self._call(e) if class_of(e) == CALL[kind] else None)
        at, was = CALLS_AT[kind], self.found
        self.found = False
        changed = [call.transformUp(rule) for call in items(node.productElement(at))]
        here, self.found = self.found, self.found or was
        return copy_with(self.jvm, node, {at: self.jvm.seq(changed)}) if here else None

    def _call(self, call: Node) -> Node | None:
        """A call of a function that adds up doubles, over groups or over a window."""
        function = function_of(call)
        if not rounds(function):
            return None
        self.found = True
        return self._sum(call, function) if class_of(function) in ("Sum", "Average") else self._moment(call, function)

    def _sum(self, call: Node, function: Node) -> Node:
        """2⁶⁴ · sum(x / 2⁶⁴), divided by count(x) for an average."""
        e, (argument, *_) = self.jvm.expressions, children(function)
        scaled = self.jvm.aggregate.Sum(e.Multiply(argument, self.jvm.literal(1 / _SCALE)))
        total = e.Multiply(self._with(call, scaled), self.jvm.literal(_SCALE))
        if class_of(function) == "Average":
            count = self._with(call, self.jvm.aggregate.Count(self.jvm.seq([argument])))
            total = e.Divide(total, self.jvm.cast(count, function.dataType()))
        factors = list(_factors(argument))
        return total if factors == [argument] else self._open(total, call, factors)

    def _moment(self, call: Node, function: Node) -> Node:
        return self._open(call, call, [c for c in children(function) if is_double(c)])

    def _open(self, result: Node, call: Node, values: list[Node]) -> Node:
        """The result, or NULL if it is not finite although all values are: 0·∞ is NaN, and so is 0·NaN."""
        e, zero = self.jvm.expressions, self.jvm.literal(0.0)
        first, *more = (e.Multiply(value, zero) for value in values)
        for other in more:
            first = e.Add(first, other)
        is_finite = e.Not(e.IsNaN(e.Multiply(result, zero)))
        is_strange = e.IsNaN(self._with(call, self.jvm.aggregate.Sum(first)))
        return e.If(e.Or(is_finite, is_strange), result, self.jvm.null(result.dataType()))

    def _with(self, call: Node, function: Node) -> Node:
        """The same call with another function."""
        if class_of(call) == "AggregateExpression":
            return copy_with(self.jvm, call, {0: function, 4: self.jvm.new_id()})
        aggregate, spec = children(call)
        return call.withNewChildren(self.jvm.seq([self._with(aggregate, function), spec]))


def _factors(argument: Node) -> Iterator[Node]:
    """The operands of an argument's multiplications and additions."""
    if class_of(argument) in _ARITHMETIC:
        for part in children(argument):
            yield from _factors(part)
    else:
        yield argument
