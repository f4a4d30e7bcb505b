"""Constants, from Spark's values to Python's."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from viewlet.plan.types import INTEGRAL, Type
from viewlet.spark.session.jvm import Node

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class NoPythonValue(Exception):
    """A constant that Python's types cannot hold: nested, an interval, a date after the year 9999."""


def python_value(raw: Any, kind: Type) -> Any:
    """The Python value of a constant in Spark's internal form."""
    if raw is None:
        return None
    match kind.name:
        case "boolean":
            return bool(raw)
        case name if name in INTEGRAL:
            return int(raw)
        case "float" | "double":
            return float(raw)
        case "decimal":
            return Decimal(str(raw)).quantize(Decimal(1).scaleb(-kind.args[1]))
        case "string":
            return str(raw)
        case "binary":
            return bytes(raw)
        case "date" | "timestamp" | "timestamp_ntz":
            return _moment(raw, kind.name)
    raise NoPythonValue(str(kind))


def _moment(raw: int, kind: str) -> date | datetime:
    """A date from days, or a timestamp from microseconds, since 1970."""
    try:
        if kind == "date":
            return date(1970, 1, 1) + timedelta(days=raw)
        moment = _EPOCH + timedelta(microseconds=raw)
    except OverflowError as error:
        raise NoPythonValue(kind) from error
    return moment if kind == "timestamp" else moment.replace(tzinfo=None)


def literal_value(data: dict[str, Any], kind: Type, source: Node) -> Any:
    """The value of a Literal: from its JSON if that is exact, else from the JVM."""
    if data["value"] is None:
        return None
    if kind.name in ("binary", "date", "timestamp", "timestamp_ntz"):
        return python_value(source().value(), kind)
    if kind.name == "boolean":
        return data["value"] == "true"
    return python_value(data["value"], kind)
