"""The fuzzer itself: it finds what is wrong, makes it small, keeps it, and knows what it has seen."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz import Finding, Run, Search
from tests.oracle import found
from tests.oracle.cases import Case
from tests.oracle.coverage import Coverage, report
from viewlet.engine.choose import EngineName


class Broken(Run):
    """A run in which every view with UNPIVOT is wrong."""

    def play(self, case: Case, engine: EngineName) -> None:
        if any("UNPIVOT" in query.text for _, query in case.views):
            raise Finding("wrong", "UNPIVOT")


@pytest.mark.slow
def test_what_is_wrong_is_found_made_small_and_kept(tmp_path: Path, capsys: Any) -> None:
    run = Broken(None, ends=time.monotonic() + 60, folder=tmp_path)
    for seed in range(400):
        Search(run, "inproc").start(seed, depth=3)
        if run.findings:
            break
    (path,) = run.findings.values()
    case, engine = found.read(path)
    assert engine == "inproc"
    ((_, query),) = case.views
    assert "UNPIVOT" in query.text
    assert len(query.text) < 300
    assert case.epochs == ()
    assert "wrong: UNPIVOT" in capsys.readouterr().out


def test_when_time_is_up_nothing_more_is_played(tmp_path: Path) -> None:
    run = Broken(None, ends=time.monotonic() - 1, folder=tmp_path)
    Search(run, "inproc").start(0, depth=3)
    assert not run.findings


@pytest.mark.spark
def test_coverage_counts_operators_pairs_and_functions(spark: Any) -> None:
    spark.sql("SELECT 1 AS a, 2 AS b").createOrReplaceTempView("fuzzed")
    query = """
        SELECT x.a, max(x.b) FROM fuzzed x LEFT JOIN (SELECT DISTINCT a FROM fuzzed) y ON x.a = y.a
        WHERE x.a IN (SELECT b FROM fuzzed EXCEPT ALL SELECT a FROM fuzzed) GROUP BY x.a
    """
    seen = Coverage()
    spark.sql(query).createOrReplaceTempView("fuzzed_view")
    seen.add(spark.table("fuzzed_view")._jdf.queryExecution().analyzed().toJSON())
    assert seen.operators["table"] == 4
    expected = {("view", "aggregate"), ("aggregate", "filter"), ("filter", "IN"), ("IN", "EXCEPT ALL"), ("filter", "join left"), ("join left", "distinct"), ("join left", "table"), ("distinct", "table")}  # fmt: skip
    assert expected <= seen.pairs.keys()
    assert seen.functions["Max"] == 1
    assert "| join left | 1 | table 1, distinct 1 |" in report(seen)
