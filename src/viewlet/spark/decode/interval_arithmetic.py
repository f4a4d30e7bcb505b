"""Times and intervals: `t + INTERVAL '10' MINUTES` as a time and a number of microseconds.

In UTC all days have the same length. Months do not: intervals with months are left to Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from py4j.java_gateway import get_field

from viewlet.plan.expr import Call, Expr, Literal
from viewlet.plan.types import BIGINT
from viewlet.spark.decode.tree import Tree
from viewlet.spark.decode.vocabulary import PLAIN

if TYPE_CHECKING:
    from viewlet.spark.decode.expressions import Expressions

DAY = 86_400_000_000


def decode_time_plus(expressions: Expressions, tree: Tree) -> Call | None:
    """A time plus an interval made of constants; None for others."""
    time, interval = tree.parts
    micros = _micros(expressions, interval)
    return None if micros is None else Call("add_micros", (expressions.decode(time), micros), tree.type)


def _micros(expressions: Expressions, tree: Tree) -> Expr | None:
    """An interval as a number of microseconds."""
    match tree.kind:
        case "Literal":
            return _constant(tree)
        case "If":
            chosen = [1, 2]
        case "CaseWhen":
            count = len(tree.parts)
            chosen = [i for i in range(count) if i % 2 or i == count - 1]
        case _:
            return None
    parts = {i: _micros(expressions, tree.parts[i]) for i in chosen}
    args = [parts[i] if i in parts else expressions.decode(part) for i, part in enumerate(tree.parts)]
    return None if None in args else Call(PLAIN[tree.kind], tuple(filter(None, args)), BIGINT)


def _constant(tree: Tree) -> Literal | None:
    if tree.data["value"] is None:
        return Literal(None, BIGINT)
    value = tree.jvm.value()
    if isinstance(value, int):
        return Literal(value, BIGINT)
    months, days, micros = (get_field(value, name) for name in ("months", "days", "microseconds"))
    return None if months else Literal(days * DAY + micros, BIGINT)
