"""Programs and plans as JSON, and back: how a compiled view is stored.

Every node is a frozen dataclass, so one rule serves them all: an object with its class under `$`.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import math
from decimal import Decimal
from typing import Any

from viewlet.plan import expr, nodes, sums, types
from viewlet.program import access, program, terms

VERSION = 2
"""Of the stored form; a program of another version is refused, not misread."""

_CLASSES: dict[str, type] = {
    f"{module.__name__.rsplit('.', 1)[-1]}.{name}": found
    for module in (types, expr, nodes, access, sums, terms, program)
    for name, found in vars(module).items()
    if dataclasses.is_dataclass(found) and isinstance(found, type) and found.__module__ == module.__name__
}
_NAMES = {found: name for name, found in _CLASSES.items()}


def to_json(value: Any) -> Any:
    """A JSON value for a node, or anything inside one."""
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
    fields = {f.name: to_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return {"$": _NAMES[type(value)], **fields}


def from_json(value: Any) -> Any:
    """The node that `to_json` made a JSON value of; lists are tuples."""
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
        case dict():
            return _CLASSES[value["$"]](**{k: from_json(v) for k, v in value.items() if k != "$"})
    return value
