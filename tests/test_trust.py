"""Opening a warehouse without trusting the code in it: what can be done, and what is refused."""

from __future__ import annotations

import sys
from _thread import LockType as Lock
from _thread import allocate_lock
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import viewlet
from viewlet import flow
from viewlet.warehouse.declare.users_code import from_text

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


def holding(lock: Lock) -> Callable[[Any], Any]:
    """A function that no process can hand to another."""

    def careful(x: Any) -> Any:
        with lock:
            return x

    return careful


def with_stage(function: Callable[[Any], Any]) -> flow.Flow:
    made = flow.Flow("f")
    made.source("readings")
    made.stage(inputs={"readings": "sensor"}, name="s")(lambda key, inputs: function({}))
    return made


def test_code_that_cannot_be_stored_is_refused(tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "w") as db:
        db.sql("CREATE TABLE readings (sensor INT, at INT, v DOUBLE)")
        signal = db.signal("readings", by="sensor", time="at", value="v")
        with pytest.raises(
            viewlet.UnsupportedQuery, match=r"the code of the function careful cannot be stored: .*lock"
        ):
            db.create_signal("out", signal.select(holding(allocate_lock())))
        with pytest.raises(viewlet.UnsupportedQuery, match=r"the code of flow f cannot be stored: .*lock"):
            db.create_flow(with_stage(holding(allocate_lock())))
        assert [name for name in ("out", "f") if name in db.status()["views"]] == []


def test_code_whose_module_is_gone_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "their_stages.py").write_text("def work(row):\n    return {}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    work = import_module("their_stages").work
    with viewlet.connect(tmp_path / "w") as db:
        db.sql("CREATE TABLE readings (sensor INT, at INT, v DOUBLE)")
        db.create_flow(with_stage(work))
    monkeypatch.undo()
    sys.modules.pop("their_stages")
    from_text.cache_clear()
    with (
        viewlet.connect(tmp_path / "w") as db,
        pytest.raises(viewlet.StoreError, match="the code of flow f cannot be loaded here: No module named"),
    ):
        db.run_flow("f")


def test_a_flow_does_not_run_unless_it_is_trusted(tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "w") as db:
        db.sql("CREATE TABLE readings (sensor INT, at INT, v DOUBLE)")
        db.create_flow(with_stage(lambda row: {}))
    with (
        viewlet.connect(tmp_path / "w", trust=False) as db,
        pytest.raises(viewlet.UntrustedCode, match="flow f runs code"),
    ):
        db.run_flow("f")
