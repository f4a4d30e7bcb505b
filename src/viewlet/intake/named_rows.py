"""Values that name their parts: names win over positions wherever there are names.

Mappings, Spark's `Row`, named tuples, dataclasses and attrs classes say which value belongs where, whatever the order
in which they were declared.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

Named = tuple[list[Any], Sequence[Any]]
"""Names, and the value of each."""


def named_values(value: Any) -> Named | None:
    """The names and values that a value consists of; None where it has no names."""
    if isinstance(value, Mapping):
        return list(value), list(value.values())
    if isinstance(value, tuple):
        names = getattr(value, "__fields__", None) or getattr(value, "_fields", None)  # Spark's Row, a named tuple
        return None if names is None else (list(names), value)
    names = _declared(value)
    return None if names is None else (names, [getattr(value, name) for name in names])


def _declared(value: Any) -> list[str] | None:
    """The fields that the class of a value declares."""
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        return [field.name for field in dataclasses.fields(value)]
    attributes = getattr(type(value), "__attrs_attrs__", None)
    return None if attributes is None else [attribute.name for attribute in attributes]
