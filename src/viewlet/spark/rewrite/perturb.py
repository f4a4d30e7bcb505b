"""A query whose sums and moments of doubles read slightly perturbed values, to see how far its results move.

Sums of doubles round, in an order that Spark chooses; where large values cancel, the remainder may be nothing but
rounding error. Only the query itself can tell how large that is: every argument is multiplied by a random number near
1, a different one for each row, and the query is run again. A ratio of moments, such as a skewness, has rounding errors
even if perturbed arguments do not move it (for rows with two distinct values it depends only on their counts), so the
ratio itself is perturbed, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from viewlet.spark.session.handles import plan_of
from viewlet.spark.session.jvm import Jvm, Node, children, class_of, copy_with, items, walk

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROUNDING = frozenset(
    ("Sum", "Average", "StddevPop", "StddevSamp", "VariancePop", "VarianceSamp", "Skewness", "Kurtosis", "Corr",
     "CovPopulation", "CovSample", "RegrSXX", "RegrSYY", "RegrSXY", "RegrSlope", "RegrIntercept", "RegrR2", "RegrAvgX",
     "RegrAvgY", "RegrReplacement")
)  # fmt: skip
RATIOS = frozenset(("Skewness", "Kurtosis", "Corr", "RegrR2"))
"""The functions among them that are ratios of moments."""
CALLS_AT = {"Aggregate": 1, "Window": 0}
"""The position of the calls among an operator's constructor arguments."""
CALL = {"Aggregate": "AggregateExpression", "Window": "WindowExpression"}
"""The class that wraps a call in the results of an operator."""


def perturbed(frame: DataFrame, size: float, seed: int) -> DataFrame | None:
    """The query with such arguments changed by a relative error of up to `size`; None if there are none."""
    jvm = Jvm(frame.sparkSession)
    plan = plan_of(frame)
    perturbation = _Perturbation(jvm, size, seed)
    result = plan.transformUpWithSubqueries(jvm.rule(perturbation.operator))
    return jvm.frame(result) if perturbation.drawn else None


class _Perturbation:
    def __init__(self, jvm: Jvm, size: float, seed: int) -> None:
        self.jvm, self.size, self.seed = jvm, size, seed
        self.drawn = 0

    def operator(self, node: Node) -> Node | None:
        """An operator over rows with additional random numbers, one per argument; its own columns stay."""
        at = CALLS_AT.get(class_of(node))
        calls = [] if at is None else items(node.productElement(at))
        if not any(rounds(e) for c in calls for e in walk(c)):
            return None
        columns: list[Node] = []
        kind = CALL[class_of(node)]
        changed = [c.transformUp(self.jvm.rule(lambda e: self._call(e, columns))) for c in calls]
        changed = [c.transformUp(self.jvm.rule(lambda e: self._ratio(e, kind))) for c in changed]
        below = self.jvm.project([*items(node.child().output()), *columns], node.child())
        above = copy_with(self.jvm, node, {at or 0: self.jvm.seq(changed)}).withNewChildren(self.jvm.seq([below]))
        return self.jvm.project(items(node.output()), above)

    def _call(self, expr: Node, columns: list[Node]) -> Node | None:
        if not rounds(expr):
            return None
        return expr.withNewChildren(self.jvm.seq([self._argument(c, columns) for c in children(expr)]))

    def _ratio(self, expr: Node, kind: str) -> Node | None:
        """ratio + size."""
        function = function_of(expr) if class_of(expr) == kind else None
        if function is None or class_of(function) not in RATIOS:
            return None
        return self.jvm.expressions.Add(expr, self.jvm.literal(self.size))

    def _argument(self, argument: Node, columns: list[Node]) -> Node:
        """argument · (1 − size + 2·size·random)."""
        if not is_double(argument):
            return argument
        self.drawn += 1
        e, number = self.jvm.expressions, self.jvm.literal
        random = self.jvm.alias(e.Rand(number(1000 * self.seed + self.drawn), False), "random")
        columns.append(random)
        spread = e.Multiply(number(2 * self.size), random.toAttribute())
        return e.Multiply(argument, e.Add(number(1.0 - self.size), spread))


def function_of(call: Node) -> Node:
    """The function that is called over groups or over a window."""
    aggregate = children(call)[0] if class_of(call) == "WindowExpression" else call
    return children(aggregate)[0] if class_of(aggregate) == "AggregateExpression" else aggregate


def rounds(expr: Node) -> bool:
    """Whether an expression aggregates doubles, so that the result depends on their order."""
    return class_of(expr) in ROUNDING and any(map(is_double, children(expr)))


def is_double(expr: Node) -> bool:
    return bool(expr.dataType().typeName() == "double")
