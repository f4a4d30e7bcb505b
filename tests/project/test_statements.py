"""What a project's SQL files define, read without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from viewlet.errors import ProjectError
from viewlet.project.definitions import Definitions
from viewlet.project.statements import SqlFile


def read(tmp_path: Path, text: str) -> Definitions:
    path, found = tmp_path / "file.sql", Definitions()
    path.write_text(text, encoding="utf-8")
    SqlFile(path, found).read()
    return found


def test_properties_count_and_storage_says_nothing(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        """CREATE MATERIALIZED VIEW v (x INT) USING parquet PARTITIONED BY (x) COMMENT 'it''s'
           TBLPROPERTIES ('refresh_policy' = 'incremental_strict', a.b = 1) AS SELECT 1 AS x;
           CREATE STREAMING TABLE s CLUSTER BY (x) AS SELECT * FROM STREAM v""",
    )
    assert found.datasets["v"].policy == "INCREMENTAL STRICT"
    assert found.datasets["v"].options["a.b"] == "1"
    assert [query.query for query in found.queries["s"]] == ["SELECT * FROM STREAM v"]


@pytest.mark.parametrize("clause", ["STORED SOMEWHERE", "TBLPROPERTIES 'x'", "SCHEDULE EVERY 1 HOUR"])
def test_what_is_no_clause_is_refused(clause: str, tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match=r"file\.sql:1: line 1: expected"):
        read(tmp_path, f"CREATE MATERIALIZED VIEW v {clause} AS SELECT 1 AS x")
