"""Fixtures of the compiler: queries, the plans that Spark makes of them, and what a pass or tier gives.

`tests/golden/compile/<folder>/<module>.sql` has the cases of a module, one after the other:

    -- case: one distinct argument
    SELECT cust, count(DISTINCT day) AS days FROM orders GROUP BY cust
    -- plan
    …
    -- rewritten
    …

A line `-- facts: {"growing": ["orders"]}` says what is known of the tables. The plans are beside it, in
`<module>.json`, so that no test of the compiler needs Spark. After a change that was meant, rewrite both with
`VIEWLET_GOLDEN=write pytest tests/compile`, and read the difference.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewlet.compile import Facts
from viewlet.plan.nodes import Plan
from viewlet.plan.types import Field
from viewlet.program.codec import from_json, to_json

FOLDER = Path(__file__).parent.parent / "golden" / "compile"
MODULES = sorted(str(path.relative_to(FOLDER).with_suffix("")) for path in FOLDER.rglob("*.sql"))
WRITES = os.environ.get("VIEWLET_GOLDEN") == "write"
_FACTS = "-- facts: "
_CASE = re.compile(r"^-- case: ", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """One query of a fixture file, and the text that its module is to give for its plan."""

    title: str
    facts: dict[str, Any]
    query: str
    expected: str

    @property
    def known(self) -> Facts:
        """What is known of the tables."""
        sets = {name: frozenset(value) for name, value in self.facts.items() if isinstance(value, list)}
        return Facts(**(self.facts | sets))

    def written(self, text: str) -> str:
        """The case as its file has it, with another text."""
        facts = f"-- facts: {json.dumps(self.facts)}\n" if self.facts else ""
        return f"-- case: {self.title}\n{facts}{self.query}{text}"


@dataclass(frozen=True)
class Decoded:
    """What Spark made of a query: its plan, and its columns under the user's names."""

    plan: Plan
    columns: tuple[Field, ...]


def read_cases(module: str) -> list[Case]:
    """The cases of a module's fixture file."""
    return [_case(text) for text in _CASE.split((FOLDER / f"{module}.sql").read_text())[1:]]


def _case(text: str) -> Case:
    title, *lines = text.splitlines(keepends=True)
    facts = json.loads(lines.pop(0).removeprefix(_FACTS)) if lines[0].startswith(_FACTS) else {}
    end = next((i for i, line in enumerate(lines) if line.startswith("-- ")), len(lines))
    return Case(title.strip(), facts, "".join(lines[:end]), "".join(lines[end:]))


def write_case(module: str, case: Case, text: str) -> None:
    """Put what a module gives now in place of what a fixture expected."""
    texts = (c.written(text if c.title == case.title else c.expected) for c in read_cases(module))
    (FOLDER / f"{module}.sql").write_text("".join(texts))


def read_plans(path: Path) -> dict[str, Decoded]:
    """The plans of some queries, by title."""
    found = json.loads(path.read_text())
    return {title: Decoded(from_json(one["plan"]), from_json(one["columns"])) for title, one in found.items()}


def write_plans(path: Path, plans: Mapping[str, Decoded]) -> None:
    """The plans of some queries as JSON, with a line for each operator."""
    written = (
        f' {json.dumps(title)}: {{"columns": {json.dumps(to_json(d.columns))}, "plan":\n  {_layout(to_json(d.plan), "  ")}}}'
        for title, d in plans.items()
    )
    path.write_text("{\n" + ",\n".join(written) + "\n}\n")


def _layout(value: Any, indent: str) -> str:
    """An operator on a line, and those that it reads below it."""
    below = [name for name in ("left", "right", "rows", "inputs") if _is_operator(value.get(name))]
    own = json.dumps({name: v for name, v in value.items() if name not in below}, ensure_ascii=False)
    inner = indent + " "
    parts = [f'"{name}":\n{inner}{_layouts(value[name], inner)}' for name in below]
    return own if not parts else f"{own[:-1]}, {', '.join(parts)}}}"


def _layouts(value: Any, indent: str) -> str:
    if isinstance(value, dict):
        return _layout(value, indent)
    return "[" + f",\n{indent}".join(_layout(v, indent) for v in value) + "]"


def _is_operator(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(map(_is_operator, value))
    return isinstance(value, dict) and value.get("$", "").startswith("nodes.")
