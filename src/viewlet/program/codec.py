"""Programs and plans as JSON, and back: the stored form of a compiled view.

Every node is a frozen dataclass, so one rule serves all: an object with its class under `$`, without fields that have
their default value. Types and columns are written as Spark's DDL: `"columns": ["total decimal(12,2)"]`.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any

from viewlet.plan import expr, nodes, sums, types
from viewlet.plan.types import Field, Type, parse_type
from viewlet.program import access, program, terms

VERSION = 3
"""The version of the stored form; programs of other versions are refused."""

_CLASSES: dict[str, type] = {
    f"{module.__name__.rsplit('.', 1)[-1]}.{name}": found
    for module in (types, expr, nodes, access, sums, terms, program)
    for name, found in vars(module).items()
    if dataclasses.is_dataclass(found) and isinstance(found, type) and found.__module__ == module.__name__
}
_NAMES = {found: name for name, found in _CLASSES.items()}

Read = Callable[[str], Type | Field]


def to_json(value: Any) -> Any:
    """A node, or a value inside one, as JSON."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else {"$": "float", "v": repr(value)}
        case tuple() | list():
            return [to_json(v) for v in value]
        case Decimal():
            return {"$": "decimal", "v": str(value)}
        case bytes():
            return {"$": "bytes", "v": base64.b64encode(value).decode()}
        case dt.datetime():
            return {"$": "datetime", "v": value.isoformat()}
        case dt.date():
            return {"$": "date", "v": value.isoformat()}
        case dict():
            return {"$": "dict", "v": [[to_json(k), to_json(v)] for k, v in value.items()]}
    return {"$": _NAMES[type(value)], **dict(_fields(value))}


def _fields(node: Any) -> Iterator[tuple[str, Any]]:
    """The fields of a node that do not have their default value."""
    texts = _TEXTS[type(node)]
    for f in dataclasses.fields(node):
        value = getattr(node, f.name)
        if type(value) is not type(f.default) or value != f.default:
            text = _as_text(value, texts[f.name]) if f.name in texts else None
            yield f.name, to_json(value) if text is None else text


def _as_text(value: Any, read: Read) -> str | list[str] | None:
    """Types or columns as text; None if one does not parse back, because only Spark computes with its type."""
    try:
        if isinstance(value, tuple):
            texts = [str(v) for v in value]
            return texts if tuple(map(read, texts)) == value else None
        return str(value) if read(str(value)) == value else None
    except ValueError:
        return None


def from_json(value: Any) -> Any:
    """The inverse of `to_json`; lists become tuples."""
    match value:
        case list():
            return tuple(from_json(v) for v in value)
        case {"$": "float", "v": text}:
            return float(text)
        case {"$": "decimal", "v": text}:
            return Decimal(text)
        case {"$": "bytes", "v": text}:
            return base64.b64decode(text)
        case {"$": "datetime", "v": text}:
            return dt.datetime.fromisoformat(text)
        case {"$": "date", "v": text}:
            return dt.date.fromisoformat(text)
        case {"$": "dict", "v": items}:
            return {from_json(k): from_json(v) for k, v in items}
        case {"$": name}:
            found = _CLASSES[name]
            return found(**{k: _from_text(v, _TEXTS[found].get(k)) for k, v in value.items() if k != "$"})
    return value


def _from_text(value: Any, read: Read | None) -> Any:
    match value:
        case str() if read is not None:
            return read(value)
        case [str(), *_] if read is not None:
            return tuple(map(read, value))
    return from_json(value)


def _read_column(text: str) -> Field:
    name, _, kind = text.partition(" ")
    return Field(name, parse_type(kind.removesuffix(_NOT_NULL)), not kind.endswith(_NOT_NULL))


_NOT_NULL = " NOT NULL"
_TYPE: Read = lru_cache(maxsize=4096)(parse_type)
_COLUMN: Read = lru_cache(maxsize=4096)(_read_column)
_HINTS = {"Type": _TYPE, "Type | None": _TYPE, "Field": _COLUMN, "tuple[Field, ...]": _COLUMN}
_TEXTS: dict[type, dict[str, Read]] = {
    found: {f.name: _HINTS[str(f.type)] for f in dataclasses.fields(found) if f.type in _HINTS}
    for found in _CLASSES.values()
}
"""The fields of each class that hold types or columns, with the parsers of their text."""
