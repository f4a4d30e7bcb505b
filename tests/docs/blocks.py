"""The code of a page, run in its order: Python in one namespace, SQL through the `db` that is there."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewlet.sql import split

ROOT = Path(__file__).parents[2]
BUCKET = "s3://bucket"
"""A bucket that is not there: tests/storage makes such calls with one that is."""
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```\n(?:prints\n```\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A piece of code, and what the page says that it prints."""

    language: str
    text: str
    prints: str | None


def blocks(page: Path) -> list[Block]:
    """The blocks of a page that are code to be run."""
    found = [Block(m[1], m[2], m[3]) for m in _BLOCK.finditer(page.read_text(encoding="utf-8"))]
    return [block for block in found if block.language in ("python", "sql")]


def run(page: Path, names: dict[str, Any], before: dict[int, str]) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page, each after what a test puts before it; what each printed."""
    for number, block in enumerate(blocks(page)):
        if BUCKET in block.text:
            continue
        exec(before.get(number, ""), names)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            if block.language == "python":
                exec(compile(block.text, f"{page.name}, block {number}", "exec"), names)
            else:
                for _, statement in split(block.text):
                    names["db"].sql(statement)
        yield block, printed.getvalue()
