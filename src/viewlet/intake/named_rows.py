"""Values with named parts: names take precedence over positions.

Mappings, Spark's `Row`, named tuples, dataclasses and attrs classes name their values, in whatever order they declare
them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

Named = tuple[list[Any], Sequence[Any]]
"""Names, and the value of each."""


def named_values(value: Any) -> Named | None:
    """The names and values of a value's parts; None if they have no names."""
    if isinstance(value, Mapping):
        return list(value), list(value.values())
    if isinstance(value, tuple):
        names = getattr(value, "__fields__", None) or getattr(value, "_fields", None)  # Spark's Row, a named tuple
        return None if names is None else (list(names), value)
    names = _declared(value)
    return None if names is None else (names, [getattr(value, name) for name in names])


def _declared(value: Any) -> list[str] | None:
    """The fields declared by a value's class."""
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        return [field.name for field in dataclasses.fields(value)]
    attributes = getattr(type(value), "__attrs_attrs__", None)
    return None if attributes is None else [attribute.name for attribute in attributes]
