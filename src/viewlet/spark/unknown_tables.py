"""A hint with similar names for tables that Spark does not find."""

from __future__ import annotations

import re
from collections.abc import Iterable

from viewlet.formatting import suggestion

_NOT_FOUND = re.compile(r"\[TABLE_OR_VIEW_NOT_FOUND\] The table or view `([^`]+)`")


def table_hint(message: str, known: Iterable[str]) -> str | None:
    """The names most similar to that in Spark's error; None if the error is about something else."""
    found = _NOT_FOUND.search(message)
    return None if found is None else suggestion(found[1], known)
