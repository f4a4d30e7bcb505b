"""What the pages promise, and the tests that hold Viewlet to it: `promises.toml`, read and compared with both."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
TABLE = "tests/docs/promises.toml"
MEASURED = {
    "cluster-faults.md", "create.md", "functions.md", "fuzz.md", "load.md", "loops-figures.md", "matrix-figures.md",
    "opening.md", "operators.md", "orderbook.md", "refresh.md", "signals-figures.md", "soak.md", "source-rates.md",
    "sql.md", "tpch.md", "tutorial-notebook.md", "views.md",
}  # fmt: skip
"""Pages that a run writes: they say what was found, and promise nothing."""
WORDS = re.compile(
    r"\b(never|always|at most|exactly once|twice|refuse[sd]?|atomic|bounded|left as)\b"
    r"|(?<!\bfrom )\bnothing\b|\b(is|are) an error\b",
    re.IGNORECASE,
)
_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_END = re.compile(r"(?<=[.!?:;])\s+|\n+| \| ")


def stale() -> Iterator[str]:
    """Lines of the table that a page, or a test, no longer bears out."""
    for page, lines in _table().items():
        for promise, tests in lines.items():
            if _flat(promise) not in _flat(text(page)):
                yield f"{page} does not say: {promise}"
            yield from (f"{page}: {promise}: there is no {test}" for test in tests if not _exists(test))


def unlisted() -> Iterator[str]:
    """Sentences with a word of promise that no line of the table is a part of."""
    for page in pages():
        known = [_flat(promise) for promise in (*_table().get(page, {}), *_harmless().get(page, ()))]
        for sentence in _sentences(page):
            if not any(line in sentence or sentence in line for line in known):
                yield f"{page}: {sentence}"


def pages() -> list[str]:
    docs = sorted(path.name for path in (ROOT / "docs").glob("*.md"))
    return ["README.md", "ARCHITECTURE.md", "SECURITY.md", *(page for page in docs if page not in MEASURED)]


def _sentences(page: str) -> Iterator[str]:
    for part in _END.split(_BLOCK.sub("", text(page))):
        sentence = _flat(part).strip(" |.;:")
        if " " in sentence and WORDS.search(sentence):
            yield sentence


def _exists(test: str) -> bool:
    file, _, name = test.partition("::")
    return f"def test_{name}(" in _source(TESTS / file)


def _flat(text: str) -> str:
    return " ".join(text.split())


@cache
def text(page: str) -> str:
    """What a page says."""
    path = ROOT / page if (ROOT / page).exists() else ROOT / "docs" / page
    return path.read_text(encoding="utf-8")


@cache
def _source(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


@cache
def _read() -> dict[str, dict[str, str | list[str]]]:
    return tomllib.loads((ROOT / TABLE).read_text(encoding="utf-8"))


def _table() -> dict[str, dict[str, list[str]]]:
    return {
        page: {promise: [tests] if isinstance(tests, str) else tests for promise, tests in lines.items()}
        for page, lines in _read().items()
        if page != "none"
    }


def _harmless() -> dict[str, list[str]]:
    return {page: [lines] if isinstance(lines, str) else lines for page, lines in _read().get("none", {}).items()}
