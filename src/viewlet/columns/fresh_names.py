"""Names for internal columns, chosen to differ from those of users."""

from __future__ import annotations

from collections.abc import Iterable


def free_name(wanted: str, taken: Iterable[str]) -> str:
    """A name that no other column has: the wanted one, or that with `_` behind it. Case does not count."""
    lower = {name.lower() for name in taken}
    while wanted.lower() in lower:
        wanted += "_"
    return wanted
