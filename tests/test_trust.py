"""Opening a warehouse without trusting the code in it: what can be done, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import viewlet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Product(viewlet.Aggregate):
    """The product of whole numbers."""

    state, returns, zero = "value BIGINT", "BIGINT", (1,)

    def update(self, state: Any, weight: int, x: int) -> Any:
        return (state[0] * x**weight,)

    def result(self, state: Any) -> Any:
        return state[0]


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trust") / "warehouse"
    with viewlet.connect(path, spark=spark) as db:
        for table in ("plain", "folded", "called"):
            db.create_table(table, "x BIGINT")
            db.insert(table, [(2,), (3,)])
        db.create_view("total", "SELECT sum(x) AS n FROM plain")
        db.register_aggregate("product", Product())
        db.create_view("products", "SELECT product(x) AS n FROM folded")
        db.spark.udf.register("twice", lambda x: 2 * x, "bigint")
        db.create_view("doubled", "SELECT twice(x) AS n FROM called")
    return path


@pytest.mark.spark
def test_stored_code_does_not_run_unless_it_is_trusted(spark: SparkSession, folder: Path) -> None:
    with viewlet.connect(folder, spark=spark, trust=False) as db:
        assert db.table("doubled").rows() == [(4,), (6,)]
        assert "Aggregate" in db.explain("products")
        db.insert("plain", [(5,)])
        assert db.table("total").rows() == [(10,)]
        assert not db.check("total").num_rows
        for table, view in (("called", "doubled"), ("folded", "products")):
            with pytest.raises(viewlet.UntrustedCode, match=f"view {view} runs code"):
                db.insert(table, [(7,)])
            with pytest.raises(viewlet.UntrustedCode):
                db.check(view)
            assert sorted(db.table(table).rows()) == [(2,), (3,)], "nothing of the epoch was applied"
    with viewlet.connect(folder, spark=spark) as db:
        db.insert("called", [(7,)])
        db.insert("folded", [(7,)])
        assert (sorted(db.table("doubled").rows()), db.table("products").rows()) == ([(4,), (6,), (14,)], [(42,)])
