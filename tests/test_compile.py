"""Plans to programs: golden texts, and the laws that every program keeps.

`tests/golden/programs/*.sql` hold a query and, below `-- program`, what it compiles to: operators with tiers and
reasons, maps, statements. To rewrite them after a change that was meant: `VIEWLET_GOLDEN=write pytest tests/test_compile.py`,
and read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.test_catalyst import GOLDEN as PLANS
from tests.test_catalyst import analysed, golden
from viewlet.compile import compile_view
from viewlet.explain import explain_program
from viewlet.program.codec import from_json, to_json
from viewlet.program.program import Program
from viewlet.views import ABILITIES

pytestmark = pytest.mark.spark

GOLDEN = Path(__file__).parent / "golden" / "programs"
MARK = "-- program\n"


@pytest.fixture(scope="module")
def fresh(spark: Any) -> Any:
    """A session of this module's own, so that no other test's tables are in it."""
    return spark.newSession()


def compiled(spark: Any, query: str) -> Program:
    analysis = analysed(spark, query)
    return compile_view("v", analysis.plan, analysis.columns, ABILITIES)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.sql")), ids=lambda p: p.stem)
def test_golden_program(fresh: Any, path: Path) -> None:
    query, _, expected = path.read_text().partition(MARK)
    text = explain_program(compiled(fresh, query)) + "\n"
    if os.environ.get("VIEWLET_GOLDEN") == "write":
        path.write_text(f"{query}{MARK}{text}")
    else:
        assert text == expected


@pytest.mark.parametrize("name", sorted(p.stem for p in PLANS.glob("*.sql")))
def test_every_plan_compiles_and_comes_back_from_json(fresh: Any, name: str) -> None:
    program = compiled(fresh, golden(name))
    assert from_json(to_json(program)) == program
