"""TPC-H: eight tables, the 22 queries with the specification's validation parameters, data and changes.

The queries stand as published, in Spark SQL. A view is a bag, so ORDER BY counts only where LIMIT follows. The
revenue view of Q15 is a view of its own, `q15_revenue`.
"""

from __future__ import annotations

import re
from pathlib import Path

TABLES = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")
_HERE = Path(__file__).parent


def schema() -> dict[str, str]:
    """The statements that create the tables, by table."""
    statements = (_HERE / "schema.sql").read_text(encoding="utf-8").strip().rstrip(";").split(";")
    return dict(zip(TABLES, map(str.strip, statements), strict=True))


def narrowed(name: str) -> dict[str, str]:
    """The statements for one query alone: the tables that it reads, with the columns it names and the keys."""
    text = _whole_text(name)
    return {table: _only_columns(statement, text) for table, statement in schema().items() if table in reads(name)}


def _only_columns(statement: str, text: str) -> str:
    key = statement[statement.index("PRIMARY KEY") :]
    lines = statement.splitlines()
    kept = [line for line in lines[1:-2] if re.search(rf"\b{line.split()[0]}\b", text + key)]
    return "\n".join([lines[0], *kept, *lines[-2:]])


def columns(statement: str) -> list[str]:
    """The columns that a statement of `schema` or `narrowed` declares."""
    return [line.split()[0] for line in statement.splitlines()[1:-2]]


def queries() -> dict[str, str]:
    """The queries by name, in an order in which they can be created."""
    texts = {path.stem: path.read_text(encoding="utf-8").strip() for path in (_HERE / "queries").glob("*.sql")}
    return dict(sorted(texts.items(), key=lambda item: (item[0][:3], "_" not in item[0])))


def reads(name: str) -> tuple[str, ...]:
    """The tables that a query reads, itself or through Q15's view."""
    return tuple(table for table in TABLES if re.search(rf"\b{table}\b", _whole_text(name)))


def _whole_text(name: str) -> str:
    texts = queries()
    return texts[name] + (texts["q15_revenue"] if name == "q15" else "")
