"""Names for internal columns that differ from those of users."""

from __future__ import annotations

from collections.abc import Iterable


def free_name(wanted: str, taken: Iterable[str]) -> str:
    """The wanted name with `_` appended until no other column has it, ignoring case."""
    lower = {name.lower() for name in taken}
    while wanted.lower() in lower:
        wanted += "_"
    return wanted
