"""The rows that tables and maps of all TPC-H views have at scale 1, in one warehouse: a store knows these sizes.

`python -m tests.compile.tpch_sizes FOLDER` generates the data there, and writes them anew.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from workloads.tpch import queries, schema
from workloads.tpch.data import chunks, generate

import viewlet
from tests.compile.workloads import FOLDER
from viewlet.views.explain_distributed import facts_with_maps

FILE = FOLDER / "tpch_sizes.json"
STATIC = frozenset({"nation", "region"})
"""As in the thesis (§4.2), these do not change."""


def read_sizes() -> dict[str, int]:
    sizes: dict[str, int] = json.loads(FILE.read_text(encoding="utf-8"))
    return sizes


def write_sizes(data: Path) -> None:
    made = generate(1, data)
    with tempfile.TemporaryDirectory(dir=data) as folder, viewlet.connect(folder, engine="inproc") as db:
        for table, statement in schema().items():
            db.sql(f"{statement} STATIC" if table in STATIC else statement)
            db.load(table, chunks(made, table))
        for name, query in queries().items():
            db.create_view(name, query)
        sizes = dict(sorted(facts_with_maps(db._warehouse).rows.items()))
    FILE.write_text(json.dumps(sizes, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_sizes(Path(sys.argv[1]))
