"""Decoding window functions into the algebra's `Over`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from viewlet.plan.expr import Expr, Frame, Literal, Over
from viewlet.plan.types import INT
from viewlet.spark.decode.aggregate_functions import decode_function, null_treatment
from viewlet.spark.decode.tree import Tree

if TYPE_CHECKING:
    from viewlet.spark.decode.expressions import Expressions

RANKS = {
    "RowNumber": "row_number", "Rank": "rank", "DenseRank": "dense_rank", "PercentRank": "percent_rank", "CumeDist": "cume_dist",
}  # fmt: skip
"""Functions of the order alone; Spark repeats the sort keys as their arguments."""

WITH_ARGUMENTS = {"NTile": "ntile", "Lag": "lag", "Lead": "lead", "NthValue": "nth_value"}


def decode_over(expressions: Expressions, window: Tree) -> Over:
    """One window function with its frame."""
    function, spec = window.parts
    frame = decode_frame(expressions, spec.part("frameSpecification"))
    if name := RANKS.get(function.kind):
        return Over(name, (), function.type, frame)
    where = None
    if function.kind == "AggregateExpression":
        where = expressions.decode(function.parts[1]) if len(function.parts) > 1 else None
        function = function.parts[0]
    ignore_nulls = null_treatment(function) == "ignore nulls"
    name, args = name_and_arguments(expressions, function)
    return Over(name.removesuffix("[ignore nulls]"), args, function.type, frame, ignore_nulls, where)


def name_and_arguments(expressions: Expressions, function: Tree) -> tuple[str, tuple[Expr, ...]]:
    if name := WITH_ARGUMENTS.get(function.kind):
        return name, expressions.decode_all(function.parts)
    return decode_function(expressions, function)


def decode_frame(expressions: Expressions, frame: Tree) -> Frame:
    unit = "range" if frame.data["frameType"]["object"].endswith(".RangeFrame$") else "rows"
    lower, upper = (decode_bound(expressions, part) for part in frame.parts)
    return Frame(unit, lower, upper)


def decode_bound(expressions: Expressions, bound: Tree) -> Expr | None:
    if bound.kind in ("UnboundedPreceding$", "UnboundedFollowing$"):
        return None
    return Literal(0, INT) if bound.kind == "CurrentRow$" else expressions.decode(bound)
