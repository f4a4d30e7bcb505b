"""A run changes what has changed, and nothing else; all views hold what Spark SQL returns."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from dbt.adapters.viewlet import warehouses
from dbt.tests.util import run_dbt, write_file

CUSTOMERS = "id,name\n1,Ada\n2,Ben\n3,\n"
ORDERS = "id,customer,day,total,late\n1,1,2026-03-02,80.5,true\n2,1,2026-03-09,40,false\n3,2,2026-03-09,15.25,\n"
SPEND = "select customer, sum(total) as total, count(*) as n from {{ ref('orders') }} group by customer"
BIG = "select s.customer, c.name, s.total from {{ ref('spend') }} s left join {{ ref('customers') }} c on c.id = s.customer where total > 20"
LAST = """select customer, total from (
  select *, row_number() over (partition by customer order by day desc) as place from {{ ref('orders') }}
) where place = 1"""
COPY = "{{ config(materialized='table') }} select customer, total * 2 as double from {{ ref('spend') }}"
MODELS = {"spend.sql": SPEND, "big.sql": BIG, "last.sql": LAST, "copy.sql": COPY}


class Project:
    """A project of dbt's, and its warehouse; Spark SQL says what must hold."""

    def __init__(self, project: Any) -> None:
        self.project = project

    @property
    def epoch(self) -> int:
        with self.opened() as db:
            epoch: int = db.last_epoch
        return epoch

    def opened(self) -> Any:
        return warehouses.opened(self.project.adapter.config.credentials)

    def name(self, model: str) -> str:
        return f"{self.project.test_schema}.{model}"

    def write(self, folder: str, **files: str) -> None:
        for name, text in files.items():
            write_file(text, self.project.project_root, folder, f"{name}.{'csv' if folder == 'seeds' else 'sql'}")

    def rows(self, model: str) -> Counter[tuple[Any, ...]]:
        with self.opened() as db:
            return Counter(db.table(self.name(model)))

    def messages(self, *arguments: str) -> dict[str, str]:
        """What a command of dbt's says of each model."""
        return {r.node.name: r.adapter_response["_message"] for r in run_dbt(list(arguments))}

    def holds(self, model: str, text: str) -> None:
        """A model has the rows that Spark SQL returns for its text over the rows of what it reads."""
        with self.opened() as db:
            spark = db.spark.newSession()
            for name in (*db.tables, *db.views):
                own = name.partition(".")[2]
                spark.createDataFrame(db.table(name).arrow()).createOrReplaceTempView(own)
        plain = re.sub(r"{{ ref\('(\w+)'\) }}", r"`\1`", re.sub(r"{{ config.*? }}", "", text))
        expected = spark.sql(plain)
        assert self.rows(model) == Counter(map(tuple, expected.collect())), model


class Shop:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return MODELS

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"customers.csv": CUSTOMERS, "orders.csv": ORDERS}

    @pytest.fixture
    def shop(self, project: Any) -> Project:
        return Project(project)


class TestDifferences(Shop):
    def test_only_what_changed_changes(self, shop: Project) -> None:
        assert shop.messages("seed") == {"customers": "epoch 1: +3 −0 rows", "orders": "epoch 2: +3 −0 rows"}
        assert len(run_dbt(["run"])) == len(MODELS)
        for name, text in MODELS.items():
            shop.holds(name.removesuffix(".sql"), text)

        epoch = shop.epoch
        assert set(shop.messages("seed").values()) | set(shop.messages("run").values()) == {"unchanged"}
        assert shop.epoch == epoch, "an unchanged project commits nothing"

        shop.write("seeds", orders=ORDERS.replace("15.25", "30") + "4,3,2026-04-01,9.99,true\n")
        assert shop.messages("seed")["orders"] == f"epoch {epoch + 1}: +2 −1 rows"
        with shop.opened() as db:
            (record,) = db.history(since=epoch)
            assert record["kind"] == "epoch"
            changed = {
                name.partition(".")[2]: done["inserted"] + done["deleted"] for name, done in record["views"].items()
            }
            assert changed == {"spend": 3, "big": 1, "last": 3}
        for model in ("spend", "big", "last"):
            shop.holds(model, MODELS[f"{model}.sql"])
        assert shop.messages("run")["copy"] == f"epoch {epoch + 2}: +2 −1 rows", "a table is computed by a run"
        shop.holds("copy", COPY)

    def test_changed_models(self, shop: Project) -> None:
        run_dbt(["build"])
        epoch, before = shop.epoch, shop.rows("spend")
        shop.write("models", spend=SPEND.replace("from", "-- all of it\n  from"))
        assert shop.messages("run", "-s", "spend") == {"spend": "unchanged"}
        more = SPEND.replace("group by", "where id <> 2 group by")
        shop.write("models", spend=more)
        assert shop.messages("run", "-s", "spend") == {"spend": f"epoch {epoch + 1}: +1 −1 rows"}
        with shop.opened() as db:
            changes = db.table(shop.name("spend")).changes(since=epoch)
            assert changes.num_rows == sum(((before - shop.rows("spend")) + (shop.rows("spend") - before)).values())
        shop.holds("spend", more)
        shop.holds("big", BIG)

    def test_other_columns(self, shop: Project) -> None:
        run_dbt(["build"])
        wider = SPEND.replace("count(*) as n", "count(*) as n, max(day) as day")
        shop.write("models", spend=wider)
        failed = run_dbt(["run", "-s", "spend"], expect_pass=False)
        assert "big read" in failed[0].message
        assert "--select spend+" in failed[0].message
        assert shop.rows("big"), "nothing was dropped"
        run_dbt(["run", "-s", "spend+"])
        shop.holds("spend", wider)
        shop.holds("big", BIG)
        shop.write(
            "seeds",
            customers=CUSTOMERS.replace("id,name", "id,name,region")
            .replace("a\n", "a,north\n")
            .replace("n\n", "n,\n")
            .replace("3,\n", "3,,\n"),
        )
        run_dbt(["build"])
        assert {row[2] for row in shop.rows("customers")} == {"north", None}
        shop.holds("big", BIG)
        shop.write("models", spend=SPEND)
        run_dbt(["run"])
        shop.holds("spend", SPEND)
