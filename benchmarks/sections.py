"""Pages of figures: a section for each part of a benchmark, which that part alone writes, row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import grid

Row = list[str]


@dataclass(frozen=True)
class Section:
    """What it says before its table, the headings, and rows as they are measured."""

    title: str
    text: str
    headings: list[str]
    rows: Callable[[Any], Iterator[Row]]
    key: int = 0
    """The first so many columns say which row it is: one that was measured before, under other keys, stays."""
    order: Callable[[Row], Any] = lambda row: row[0]
    """Where a row stands among those that stay."""


@dataclass(frozen=True)
class Page:
    """An introduction, and sections in their order."""

    introduction: str
    sections: Mapping[str, Section]

    def run(self, names: list[str], given: Any, out: Path | None) -> None:
        """Measures some sections, prints them, and writes each row down as soon as it is there."""
        for name in names:
            section, rows = self.sections[name], list[Row]()
            for row in section.rows(given):
                rows.append(row)
                if out is not None:  # should a later row take too long
                    self.write(out, section, rows)
            print(grid(section.headings, rows), end="\n\n")

    def write(self, page: Path, section: Section, rows: list[Row]) -> None:
        """Puts a section's rows into the page, in the place of those that were there."""
        there = _sections(page.read_text(encoding="utf-8")) if page.exists() else {}
        if section.key:
            rows = _with_others(section, rows, there.get(section.title, ""))
        there[section.title] = f"{section.text}\n\n{grid(section.headings, rows)}"
        texts = [f"## {one.title}\n{there[one.title]}" for one in self.sections.values() if one.title in there]
        page.write_text("\n\n".join([self.introduction, *texts]) + "\n", encoding="utf-8")


def _sections(text: str) -> dict[str, str]:
    """What stands under each heading."""
    parts = [section.partition("\n") for section in text.split("\n## ")[1:]]
    return {title.strip(): body.strip() for title, _, body in parts}


def _with_others(section: Section, rows: list[Row], body: str) -> list[Row]:
    """These rows, and those that are there under other keys."""
    lines = [line.strip("| ").split(" | ") for line in body.splitlines() if line.startswith("| ")][2:]
    known = {tuple(line[: section.key]): line for line in [*lines, *rows] if len(line) == len(section.headings)}
    return sorted(known.values(), key=section.order)
