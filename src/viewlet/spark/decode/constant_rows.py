"""Constant rows of a definition, as Python values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viewlet.plan.types import Type
from viewlet.spark.decode.constants import NoPythonValue, python_value
from viewlet.spark.decode.data_types import encode_type
from viewlet.spark.session.jvm import Jvm, Node, class_of, items

MOST_ROWS = 1000
"""More constant rows are data, and stay with Spark."""


def constant_rows(jvm: Jvm, node: Node, kinds: Sequence[Type]) -> tuple[tuple[Any, ...], ...]:
    """The rows of a leaf that reads nothing."""
    match class_of(node):
        case "OneRowRelation":
            return ((),)
        case "EmptyRelation":
            return ()
        case "Range":
            return _range(node)
    if node.data().length() > MOST_ROWS:
        raise NoPythonValue(f"VALUES with more than {MOST_ROWS} rows")
    types = [jvm.data_type(encode_type(k)) for k in kinds]
    return tuple(
        tuple(None if row.isNullAt(i) else python_value(row.get(i, types[i]), kind) for i, kind in enumerate(kinds))
        for row in items(node.data())
    )


def _range(node: Node) -> tuple[tuple[int, ...], ...]:
    numbers = range(node.start(), node.end(), node.step())
    if len(numbers) > MOST_ROWS:
        raise NoPythonValue(f"range() with more than {MOST_ROWS} rows")
    return tuple((n,) for n in numbers)
