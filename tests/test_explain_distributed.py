"""`explain` for a cluster: what it says of a view, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

import viewlet
from tests.compile.test_distribute import TPCH, compiled, tpch_facts
from viewlet.errors import UnknownName, WrongArgument
from viewlet.program.distributed import Local, Partitioned, Replicated
from viewlet.views.placement import read_placement


def test_placement_that_a_user_gives() -> None:
    known = tpch_facts()
    program = compiled("q03", TPCH["q03"], known)
    given = {"q03.m3": ["o_custkey"], "q03.m1": "replicated", "q03.m2": "driver"}
    tags = read_placement(program, known, given)
    assert tags == {"q03.m3": Partitioned(("o_custkey",)), "q03.m1": Replicated(), "q03.m2": Local()}


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"q03.m99": "driver"}, UnknownName, "has no map"),
        ({"q03.m3": "somewhere"}, WrongArgument, '"driver", "replicated", or a list of columns'),
        ({"q03.m3": ["c_name"]}, WrongArgument, "can be partitioned by o_custkey, o_orderkey"),
        ({"q03.m2": ["_s3"]}, WrongArgument, "can be partitioned by l_orderkey"),
        ({"q03.m6": "replicated"}, WrongArgument, "which the driver keeps"),
    ],
)
def test_placement_that_cannot_be(given: dict[str, str], error: type[Exception], message: str) -> None:
    known = tpch_facts()
    with pytest.raises(error, match=message):
        read_placement(compiled("q03", TPCH["q03"], known), known, given)


@pytest.mark.spark
def test_views_of_a_warehouse(spark: object, tmp_path: Path) -> None:
    with viewlet.connect(str(tmp_path / "w")) as db:
        db.sql("CREATE TABLE orders (id BIGINT, cust BIGINT, total DECIMAL(12,2), PRIMARY KEY (id))")
        db.sql("CREATE MATERIALIZED VIEW spend AS SELECT cust, sum(total) AS total FROM orders GROUP BY cust")
        db.sql("CREATE MATERIALIZED VIEW big AS SELECT * FROM spend WHERE total > 100")
        alone = db.explain("spend", distributed=True)
        assert "  spend.m1  " in alone
        assert "all 2 views together: 1 job, 1 stage" in alone
        asked = db.explain("spend", placement={"spend.m1": ["cust"], "spend": ["cust"]})
        assert "an epoch that changes orders: 1 job, 2 stages" in asked
        assert "#2 := repartition(#1)" in asked
        db.sql("CREATE MATERIALIZED VIEW first AS SELECT id, cust, total FROM orders ORDER BY id LIMIT 3")
        assert "all rows of orders, which is no map of the view" in db.explain("first", distributed=True)
        assert "all 2 views together" in db.explain("spend", distributed=True)
