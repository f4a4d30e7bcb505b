"""Converts JSON values to Python values of a column; types without JSON literals are numbers and strings."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal

from viewlet.plan.types import Type

Times = Literal["", "seconds", "millis", "micros"]
"""The unit of integers in time columns; empty if integers are not times."""
PER_SECOND = {"seconds": 1, "millis": 1_000, "micros": 1_000_000}
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_NOT_NUMBERS = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}


def parse_json(text: str | bytes) -> Any:
    """Parse JSON; numbers keep all their digits."""
    return json.loads(text, parse_float=Decimal)


def from_json(kind: Type, times: Times = "") -> Callable[[Any], Any]:
    """A function that converts JSON values to Python values; invalid ones stay as they are, and are refused later."""
    match kind.name:
        case "float" | "double":
            return _double
        case "binary":
            return _binary
        case "date" if times:
            return lambda value: days(value) if _is_whole(value) else value
        case "timestamp" | "timestamp_ntz" if times:
            return lambda value: moment(value, times, kind) if _is_whole(value) else value
        case "time" if times:
            return lambda value: moment(value, times, kind) if _is_whole(value) else value
        case "array":
            element = from_json(kind.args[0], times)
            return lambda value: (
                [None if v is None else element(v) for v in value] if isinstance(value, list) else value
            )
        case "struct":
            return _struct(kind, times)
    return _plain


def _plain(value: Any) -> Any:
    return value


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def days(value: int) -> Any:
    """The date a number of days after 1970."""
    try:
        return dt.date(1970, 1, 1) + dt.timedelta(days=value)
    except OverflowError:
        return value


def moment(value: int, unit: str, kind: Type) -> Any:
    """The time a number of units after 1970, or after midnight."""
    try:
        found = _EPOCH + dt.timedelta(microseconds=value * (1_000_000 // PER_SECOND[unit]))
    except OverflowError:
        return value
    if kind.name == "time":
        return found.time()
    return found if kind.name == "timestamp" else found.replace(tzinfo=None)


def _double(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    return float(_NOT_NUMBERS[value]) if isinstance(value, str) and value in _NOT_NUMBERS else value


def _binary(value: Any) -> Any:
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else value
    except binascii.Error:
        return value


def _struct(kind: Type, times: Times) -> Callable[[Any], Any]:
    parts = {name: from_json(part, times) for name, part in kind.args}

    def convert(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {name: None if v is None or name not in parts else parts[name](v) for name, v in value.items()}

    return convert
