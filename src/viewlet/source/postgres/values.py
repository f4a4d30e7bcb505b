"""Parses PostgreSQL's values from their text form; lists the PostgreSQL types that each column type can hold."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from viewlet.plan.types import INTEGRAL, Type

SETTINGS = {
    "DateStyle": "ISO, YMD",
    "TimeZone": "UTC",
    "IntervalStyle": "iso_8601",
    "bytea_output": "hex",
    "extra_float_digits": "1",
}
"""The settings of a session for the text formats of values."""

_WHOLE = {"smallint": ("int2",), "int": ("int2", "int4"), "bigint": ("int2", "int4", "int8", "oid")}
_FROM: dict[str, tuple[str, ...]] = {
    **_WHOLE,
    "decimal": ("numeric", "int2", "int4", "int8"),
    "float": ("float4",),
    "double": ("float4", "float8"),
    "boolean": ("bool",),
    "binary": ("bytea",),
    "date": ("date",),
    "timestamp": ("timestamptz",),
    "timestamp_ntz": ("timestamp",),
    "time": ("time",),
}
_TEXTS = ("string", "collated", "char", "varchar")


def can_hold(kind: Type, given: str) -> bool:
    """Whether a column can hold a PostgreSQL type; strings hold the text of any."""
    if kind.name in _TEXTS:
        return True
    if kind.name == "array":
        return given.startswith("_") and can_hold(kind.args[0], given[1:])
    return given in _FROM.get(kind.name, ())


def wanted(kind: Type) -> str:
    """The PostgreSQL types that a column can hold, for messages."""
    if kind.name == "array":
        return f"an array of {wanted(kind.args[0])}"
    return " or ".join(_FROM.get(kind.name, ())) or "nothing: declare it STRING"


def reader(kind: Type) -> Callable[[str], Any]:
    """A function that parses a text into a Python value; invalid texts stay as they are, and are refused later."""
    if kind.name in INTEGRAL:
        return int
    if kind.name == "array":
        return _array(reader(kind.args[0]))
    return _READERS.get(kind.name, str)


def _number(text: str) -> Decimal | str:
    try:
        return Decimal(text)
    except InvalidOperation:
        return text


def _parsed(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            return parse(text)
        except ValueError:  # infinity, or a year outside of Python's range
            return text

    return read


_READERS: dict[str, Callable[[str], Any]] = {
    "float": float,
    "double": float,
    "decimal": _number,
    "boolean": lambda text: text == "t",
    "binary": lambda text: bytes.fromhex(text[2:]),
    "date": _parsed(dt.date.fromisoformat),
    "timestamp": _parsed(dt.datetime.fromisoformat),
    "timestamp_ntz": _parsed(dt.datetime.fromisoformat),
    "time": _parsed(dt.time.fromisoformat),
}

_ELEMENT = re.compile(
    r'\s*(?:(?P<open>\{)|(?P<close>\})|,|"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^{},"]+))', re.DOTALL
)


def _array(element: Callable[[str], Any]) -> Callable[[str], Any]:
    """Parses `{1,NULL,"a b"}`, also nested; lower bounds are ignored."""

    def read(text: str) -> Any:
        levels: list[list[Any]] = [[]]
        for found in _ELEMENT.finditer(text, text.index("{")):
            if found["open"]:
                levels.append([])
            elif found["close"]:
                inner = levels.pop()
                levels[-1].append(inner)
            elif found["quoted"] is not None:
                levels[-1].append(element(re.sub(r"\\(.)", r"\1", found["quoted"], flags=re.DOTALL)))
            elif found["plain"] is not None:
                levels[-1].append(None if found["plain"] == "NULL" else element(found["plain"]))
        return levels[0][0]

    return read
