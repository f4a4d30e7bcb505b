"""Programs and saved states as JSON. Each node is an object with its class under `$`."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any, TypeVar

from viewlet.matrix.algebra import ops, sizes
from viewlet.matrix.compile import compiled, machine
from viewlet.matrix.errors import UnsupportedQuery
from viewlet.matrix.refresh import saved

VERSION = 1
"""The version of the format; programs of other versions are refused."""

_CLASSES: dict[str, type] = {
    name: found
    for module in (sizes, ops, machine, compiled, saved)
    for name, found in vars(module).items()
    if isinstance(found, type) and dataclasses.is_dataclass(found)
}


Stored = TypeVar("Stored", ops.Program, saved.Saved)


def dumps(value: ops.Program | saved.Saved) -> str:
    """Encode a program or a saved state as JSON."""
    return json.dumps({"version": VERSION, "value": _encode(value)}, ensure_ascii=False, allow_nan=False)


def loads(text: str, wanted: type[Stored]) -> Stored:
    """Decode what `dumps` returned."""
    stored = json.loads(text)
    if stored.get("version") != VERSION:
        raise UnsupportedQuery(f"a matrix program of version {stored.get('version')} cannot be read, only {VERSION}")
    value = _decode(stored["value"])
    if not isinstance(value, wanted):
        raise UnsupportedQuery(f"this is a stored {type(value).__name__}, not a {wanted.__name__}")
    return value


def _encode(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return {"$": "float", "value": repr(value)}
        case None | bool() | int() | float() | str():
            return value
        case tuple():
            return [_encode(v) for v in value]
        case _:
            fields = {f.name: _encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
            return {"$": type(value).__name__, **fields}


def _decode(value: Any) -> Any:
    match value:
        case list():
            return tuple(_decode(v) for v in value)
        case {"$": "float", "value": text}:
            return float(text)
        case dict():
            return _CLASSES[value["$"]](**{key: _decode(v) for key, v in value.items() if key != "$"})
        case _:
            return value
