"""The stored plans are those that Spark makes of the queries.

`VIEWLET_GOLDEN=write pytest tests/compile` writes them anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.compile.fixtures import FOLDER, MODULES, WRITES, Decoded, read_cases, read_plans, write_plans
from tests.compile.workloads import FOLDER as WORKLOADS
from tests.compile.workloads import QUERIES, schemas
from tests.schemas import TABLES
from viewlet.plan.show import show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from viewlet.plan.types import Field

UNORDERED = {"two distinct arguments"}
"""Of several distinct arguments, Spark numbers the groups in the order of its own hashes."""
pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def fresh(spark: SparkSession) -> SparkSession:
    """A session of this module's own, so that no other test's tables are in it."""
    return spark.newSession()


def decoded(spark: SparkSession, query: str, tables: Mapping[str, tuple[Field, ...]]) -> Decoded:
    from viewlet.spark.analyse import analyse

    found = analyse(spark, query, tables)
    return Decoded(found.plan, found.columns)


def compare(path: Path, plans: dict[str, Decoded]) -> None:
    """Plans that Spark makes now are those of a file, unless that is to be written."""
    if WRITES:
        write_plans(path, plans)
    stored = read_plans(path)
    shown = [{title: show(d.plan) for title, d in found.items()} for found in (stored, plans)]
    for title in UNORDERED & stored.keys():
        assert sorted(shown[0].pop(title).split()) == sorted(shown[1].pop(title).split())
    assert shown[0] == shown[1]
    assert stored.keys() == plans.keys()
    assert all(found == plans[title] for title, found in stored.items() if title not in UNORDERED)


@pytest.mark.parametrize("module", MODULES)
def test_plans_of_fixtures(fresh: SparkSession, module: str) -> None:
    compare(FOLDER / f"{module}.json", {c.title: decoded(fresh, c.query, TABLES) for c in read_cases(module)})


@pytest.mark.parametrize("workload", QUERIES)
def test_plans_of_workloads(fresh: SparkSession, workload: str) -> None:
    plans: dict[str, Decoded] = {}
    for name, query in QUERIES[workload].items():
        others = {other: d.columns for other, d in plans.items() if other in query}
        plans[name] = decoded(fresh, query, schemas(workload) | others)
    compare(WORKLOADS / f"{workload}.json", plans)
