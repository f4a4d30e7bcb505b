"""Pipelines as JSON. Each node is an object with its class under `$`; functions are stored as code."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from viewlet.errors import StoreError
from viewlet.signal.plan import nodes
from viewlet.signal.plan.functions import Function, function_text, read_function

VERSION = 2
"""The version of the format; pipelines of other versions are refused."""

_CLASSES: dict[str, type] = {
    name: found for name, found in vars(nodes).items() if isinstance(found, type) and dataclasses.is_dataclass(found)
}


def to_json(node: nodes.Node) -> dict[str, Any]:
    """Encode a pipeline."""
    return {"version": VERSION, "pipeline": _encode(node)}


def from_json(document: dict[str, Any], *, trusted: bool = True) -> nodes.Node:
    """Decode a pipeline."""
    if document.get("version") != VERSION:
        raise StoreError(f"a signal pipeline of version {document.get('version')} cannot be read, only {VERSION}")
    node: nodes.Node = _decode(document["pipeline"], trusted)
    return node


def _encode(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return {"$": "float", "value": repr(value)}
        case complex():
            return {"$": "complex", "parts": [_encode(value.real), _encode(value.imag)]}
        case None | bool() | int() | float() | str():
            return value
        case tuple():
            return [_encode(v) for v in value]
        case Function(name):
            return {"$": "Function", "name": name, "code": function_text(value)}
        case _:
            fields = {f.name: _encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
            return {"$": type(value).__name__, **fields}


def _decode(value: Any, trusted: bool) -> Any:
    match value:
        case list():
            return tuple(_decode(v, trusted) for v in value)
        case {"$": "float", "value": text}:
            return float(text)
        case {"$": "complex", "parts": [real, imaginary]}:
            return complex(_decode(real, trusted), _decode(imaginary, trusted))
        case {"$": "Function", "name": name, "code": code}:
            return read_function(name, code, trusted=trusted)
        case dict():
            fields = {key: _decode(v, trusted) for key, v in value.items() if key != "$"}
            return _CLASSES[value["$"]](**fields)
        case _:
            return value
