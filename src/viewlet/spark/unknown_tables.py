"""Tables that Spark does not find: a hint that lists similar names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from viewlet.formatting import suggestion

_NOT_FOUND = re.compile(r"\[TABLE_OR_VIEW_NOT_FOUND\] The table or view `([^`]+)`")


def table_hint(message: str, known: Iterable[str]) -> str | None:
    """The names most like the one that an error of Spark's is about; None if it is about something else."""
    found = _NOT_FOUND.search(message)
    return None if found is None else suggestion(found[1], known)
