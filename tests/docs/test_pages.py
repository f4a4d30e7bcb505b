"""Every code block of every page runs, and prints what the page says. A new page is run as it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import viewlet
from tests.docs.blocks import ROOT, blocks, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OPEN = "import viewlet\ndb = viewlet.connect('warehouse')\n"
SALES = """
db.sql("CREATE TABLE sales (id BIGINT, shop BIGINT, one DOUBLE, price DOUBLE, ads DOUBLE, units DOUBLE)")
db.insert("sales", [(i, i % 3, 1.0, i % 7, i % 5, 90.0 - i % 7 + i % 3) for i in range(30)])
db.sql("CREATE TABLE shops (shop BIGINT, size DOUBLE)")
db.insert("shops", [(0, 1.0), (1, 2.5), (2, 4.0)])
db.sql("CREATE TABLE links (source STRING, target STRING)")
db.insert("links", [("a", "b"), ("b", "a"), ("b", "c"), ("c", "a")])
"""
MATRICES = "import numpy\nX, y = numpy.random.default_rng(1).random((9, 3)), numpy.arange(9.0)[:, None]\nrow = [1.0, 2.0, 3.0]\n"
SPEND = "db.sql('CREATE TABLE o (cust BIGINT, total BIGINT)')\ndb.sql('CREATE MATERIALIZED VIEW spend AS SELECT cust, sum(total) AS total FROM o GROUP BY cust')\n"
LANDING = "from pathlib import Path\nPath('landing/sales').mkdir(parents=True)\n"
FILES = """
import pyarrow.parquet
db.create_table("lineitem", "id BIGINT")
pyarrow.parquet.write_table(pyarrow.table({"id": [1, 2]}), "lineitem.parquet")
db.create_table("sales", "id BIGINT")
open("sales.csv", "w").write("id\\n7\\n")
"""
BEFORE: dict[str, dict[int, str]] = {
    "aggregates.md": {0: OPEN},
    "late.md": {0: OPEN},
    "matrix.md": {
        0: MATRICES,
        1: OPEN + SALES,
        2: "db.drop('fit')\nprogram = matrix.program(models.ols, X=('n', 'term'), y=('n', 1))\n",
    },
    "page.md": {0: OPEN},
    "projects.md": {0: OPEN + LANDING, 1: "db.drop('sales')\n", 2: SPEND},
    "signals.md": {1: "import numpy\n"},
    "warehouse.md": {0: "from datetime import timedelta\n" + OPEN + FILES},
}
"""What stands before some blocks of some pages: tables that the text speaks of."""
ELSEWHERE = {
    "statements.md": "tests/test_statements_page.py",
    "flows.md": "tests/flow/test_page.py",
    "loops.md": "tests/loops/test_loop_views.py",
    "sources.md": "tests/source",
}
"""Pages whose blocks other tests run, with what these need: servers, graphs."""
QUICK = {"README.md", "page.md", "notebooks.md", "operations.md"}
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if blocks(page)]


def test_pages_that_run_elsewhere_are_there() -> None:
    for page, test in ELSEWHERE.items():
        assert (ROOT / "docs" / page).exists(), page
        assert (ROOT / test).exists(), test


@pytest.mark.spark
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=[] if page.name in QUICK else [pytest.mark.slow])
        for page in PAGES
        if page.name not in ELSEWHERE
    ],
)
def test_the_code_of_a_page_runs(
    page: Path, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(viewlet.Database, "watch", lambda *_, **__: iter(()))  # which has no end
    names: dict[str, Any] = {}
    try:
        for block, printed in run(page, names, BEFORE.get(page.name, {})):
            assert block.prints in (None, printed)
    finally:
        if "db" in names:
            names["db"].close()


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = [t for t in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in t]
    assert [t for t in targets if not (page.parent / t).exists()] == []
