"""Sources and sinks that stand beside a project, in `viewlet.sql`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import viewlet
from viewlet.errors import ProjectError
from viewlet.project.surroundings import read_surroundings

SPEC = "name: shop\nstorage: file:///tmp/shop\nlibraries:\n  - glob:\n      include: transformations/**\n"
AROUND = """
CREATE TABLE sales (id BIGINT, cust STRING, total INT) FROM FOLDER 'landing' FORMAT JSON ON BAD RECORD KEEP ASIDE;
CREATE SINK files FROM spend TO FOLDER 'out';
"""
VIEW = "CREATE MATERIALIZED VIEW spend AS SELECT cust, sum(total) AS total FROM sales GROUP BY cust;"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    (root / "transformations").mkdir(parents=True)
    (root / "landing").mkdir()
    (root / "spark-pipeline.yml").write_text(SPEC, encoding="utf-8")
    (root / "viewlet.sql").write_text(AROUND, encoding="utf-8")
    (root / "transformations/spend.sql").write_text(VIEW, encoding="utf-8")
    return root


@pytest.mark.spark
@pytest.mark.slow
def test_a_project_reads_and_sends(root: Path, spark: Any) -> None:
    (root / "landing/a.json").write_text('{"id": 1, "cust": "ada", "total": 5}\n', encoding="utf-8")
    with viewlet.connect(root / "w", spark=spark) as db:
        db.run_project(root)
        assert db.table("spend").rows() == [("ada", 5)]
        (root / "landing/b.json").write_text('{"id": 2, "cust": "ada", "total": 7}\nnonsense\n', encoding="utf-8")
        assert [str(o) for o in db.run_project(root)][-1] == "sink files: 1 epoch sent"
        assert db.table("spend").rows() == [("ada", 12)]
        assert len(db.table("sales_bad")) == 1
        sent = pq.read_table(max((root / "out").glob("*.parquet"))).to_pylist()
        assert {(row["total"], row["_change_type"]) for row in sent} == {(5, "delete"), (12, "insert")}
        epoch = db.status()["epoch"]
        db.run_project(root)
        assert db.status()["epoch"] == epoch
        (root / "viewlet.sql").write_text(AROUND.replace("total INT", "total BIGINT"), encoding="utf-8")
        with pytest.raises(ProjectError, match=r"viewlet\.sql:2: table sales exists with another declaration"):
            db.run_project(root)


def test_what_else_it_may_not_say(root: Path) -> None:
    assert [s.name for _, s in read_surroundings(root).tables] == ["sales"]
    for text, message in [
        ("CREATE TABLE t (id INT)", "neither a table with a source nor a sink"),
        ("\nSELECT 1", "viewlet.sql:2: neither"),
        ("CREATE SINK s FROM", "expected"),
    ]:
        (root / "viewlet.sql").write_text(text, encoding="utf-8")
        with pytest.raises(ProjectError, match=message):
            read_surroundings(root)
    (root / "viewlet.sql").unlink()
    assert read_surroundings(root).tables == ()
