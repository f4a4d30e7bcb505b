"""Session windows: in Spark's plan, a struct (start, end) in each row; an Aggregate merges those that overlap."""

from __future__ import annotations

from collections.abc import Sequence

from viewlet.plan.expr import Column, Expr
from viewlet.plan.nodes import Plan, Sessions, origin_of
from viewlet.spark.decode.tree import Undecodable
from viewlet.spark.session.jvm import Node, class_of

_MARK = "spark.sessionWindow"
"""Spark's mark on the key whose groups it merges during execution."""


def in_sessions(rows: Plan, keys: tuple[Expr, ...], grouping: Sequence[Node]) -> Plan:
    """The rows of an aggregate; if one of its keys is a session window, each row in its session."""
    at = [i for i, key in enumerate(grouping) if is_session(key)]
    if not at:
        return rows
    span, nullable = keys[at[0]], {f.name for f in rows.columns if f.nullable}
    if len(at) > 1 or not isinstance(span, Column) or span.name in nullable:
        raise Undecodable("session windows that may be NULL are merged by Spark alone")
    others = tuple(key for i, key in enumerate(keys) if i != at[0])
    return Sessions(rows, others, span, origin=origin_of(rows))


def is_session(key: Node) -> bool:
    """Whether a key of an aggregate is a session window."""
    return class_of(key) == "AttributeReference" and bool(key.metadata().contains(_MARK))
