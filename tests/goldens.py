"""Golden files: a query, and what it becomes, below a mark.

Where a later Spark makes something else of the query, the file has another part for it, which says why:

    -- plan from Spark 4.3: try_sum stays one when the optimizer adds up integers instead
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from viewlet.spark.session.versions import version_of

_FROM = re.compile(r" from Spark (\d+\.\d+): \S.*")


@dataclass
class Golden:
    """A golden file as the running Spark reads it."""

    path: Path
    query: str
    parts: list[tuple[str, str]]
    """Headings, each with the text below it."""
    at: int
    """The part that holds for the running Spark."""

    @property
    def expected(self) -> str:
        return self.parts[self.at][1]

    def is_rewritten(self, text: str) -> bool:
        """Put a text in place of what was expected, if that was asked for."""
        if os.environ.get("VIEWLET_GOLDEN") != "write":
            return False
        self.parts[self.at] = (self.parts[self.at][0], text)
        written = [f"{heading}\n{body}" if heading else body for heading, body in self.parts]
        self.path.write_text(self.query + "".join(written))
        return True


def read_golden(path: Path, mark: str, version: str) -> Golden:
    """A golden file, and the part of it for a version of Spark: the last one that is not newer.

    Where no mark comes before the first part, the query is elsewhere.
    """
    query, *rest = re.split(rf"^({re.escape(mark)}.*)\n", path.read_text(), flags=re.MULTILINE)
    parts = list(zip(rest[::2], rest[1::2], strict=True))
    if mark not in rest[:1]:
        query, parts = "", [("", query), *parts]
    since = [version_of(_since(heading.removeprefix(mark))) for heading, _ in parts]
    assert since == sorted(since), f"{path.name}: older versions of Spark come first"
    return Golden(path, query, parts, max(i for i, first in enumerate(since) if first <= version_of(version)))


def _since(heading: str) -> str:
    """The first version of Spark that a part holds for."""
    if not heading:
        return "0.0"
    found = _FROM.fullmatch(heading)
    assert found is not None, f"a part says from which Spark on it holds, and why: {heading}"
    return found[1]
