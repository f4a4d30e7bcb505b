"""Plans to programs: golden texts, and the laws that every program keeps.

`tests/golden/programs/*.sql` hold a query and, below `-- program`, what it compiles to: operators with tiers and
reasons, maps, statements; `tests/golden/workloads/` the same for the queries of `workloads/`, at the sizes that their
tables have there. To rewrite them after a change that was meant: `VIEWLET_GOLDEN=write pytest tests/test_compile.py`,
and read the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from workloads import orderbook, tpcds, tpch

from tests.goldens import read_golden
from tests.test_catalyst import GOLDEN as PLANS
from tests.test_catalyst import analysed, golden
from viewlet.compile import Facts, compile_view
from viewlet.inspect.explain import explain_program
from viewlet.program.codec import from_json, to_json
from viewlet.program.program import Program
from viewlet.spark.analyse import analyse
from viewlet.sql import CreateTable, Statement, parse
from viewlet.warehouse.define import ABILITIES

pytestmark = pytest.mark.spark

GOLDEN = Path(__file__).parent / "golden" / "programs"
WORKLOADS = Path(__file__).parent / "golden" / "workloads"
MARK = "-- program"


@pytest.fixture(scope="module")
def fresh(spark: Any) -> Any:
    """A session of this module's own, so that no other test's tables are in it."""
    return spark.newSession()


def compiled(spark: Any, query: str) -> Program:
    analysis = analysed(spark, query)
    return compile_view("v", analysis.plan, analysis.columns, ABILITIES)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.sql")), ids=lambda p: p.stem)
def test_golden_program(fresh: Any, path: Path) -> None:
    kept = read_golden(path, MARK, fresh.version)
    text = explain_program(compiled(fresh, kept.query), verbose=True) + "\n"
    assert kept.is_rewritten(text) or text == kept.expected


@pytest.mark.parametrize("name", sorted(p.stem for p in PLANS.glob("*.sql")))
def test_every_plan_compiles_and_comes_back_from_json(fresh: Any, name: str) -> None:
    program = compiled(fresh, golden(name))
    assert from_json(to_json(program)) == program


SIZES = {
    "tpch": {
        "region": 5, "nation": 25, "supplier": 10_000, "customer": 150_000, "part": 200_000, "partsupp": 800_000,
        "orders": 1_500_000, "lineitem": 6_000_000,
    },
    "orderbook": {"bids": 5_000, "asks": 5_000},
    "tpcds": {
        "store_sales": 2_880_000, "store_returns": 288_000, "catalog_sales": 1_440_000, "catalog_returns": 144_000,
        "web_sales": 720_000, "inventory": 11_700_000, "customer": 100_000, "customer_address": 50_000,
        "customer_demographics": 1_920_000, "household_demographics": 7_200, "date_dim": 73_000, "time_dim": 86_400,
        "item": 18_000, "store": 12, "promotion": 300, "warehouse": 5,
    },
}  # fmt: skip
QUERIES = {
    "tpch": tpch.queries(),
    "orderbook": orderbook.QUERIES,
    "tpcds": tpcds.QUERIES,
}
TABLES: dict[str, Sequence[Statement]] = {
    "tpch": [parse(text) for text in tpch.schema().values()],
    "orderbook": [parse(text) for text in orderbook.TABLES],
    "tpcds": list(tpcds.TABLES.values()),
}


@pytest.mark.parametrize(
    ("workload", "name"), [(w, n) for w, named in QUERIES.items() for n in named], ids=lambda part: part
)
def test_golden_workload(fresh: Any, workload: str, name: str) -> None:
    tables = [t for t in TABLES[workload] if isinstance(t, CreateTable)]
    schemas = {t.name: t.fields for t in tables}
    if (workload, name) == ("tpch", "q15"):
        schemas["q15_revenue"] = analyse(fresh, QUERIES["tpch"]["q15_revenue"], schemas).columns
    keys = {t.name: tuple([f.name for f in t.fields].index(k) for k in t.primary_key) for t in tables if t.primary_key}
    analysis = analyse(fresh, QUERIES[workload][name], schemas)
    facts = Facts(SIZES[workload], keys)
    program = compile_view(name, analysis.plan, analysis.columns, ABILITIES, facts=facts)
    assert from_json(to_json(program)) == program
    text = explain_program(program, verbose=True) + "\n"
    golden = read_golden(WORKLOADS / workload / f"{name}.txt", "-- program", fresh.version)
    if not golden.is_rewritten(text):
        assert text == golden.expected
