"""How models are configured, and what is refused: each with one message that says what to do instead."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.adapters.viewlet import warehouses
from dbt.tests.util import run_dbt, run_dbt_and_capture, write_file

import viewlet

REFUSED = {
    "granted": ("{{ config(grants={'select': ['me']}) }} select 1 as a", "has no grants"),
    "commented": ("{{ config(persist_docs={'relation': true}) }} select 1 as a", "keeps no comments"),
    "by_batch": (
        "{{ config(materialized='incremental', incremental_strategy='delete+insert', unique_key='a') }} select 1 as a",
        "no incremental strategy `delete.insert`: use `merge` or `append`",
    ),
    "at_random": ("select rand() as a", "rand"),
}


def database(project: Any) -> Any:
    return warehouses.opened(project.adapter.config.credentials)


def rows(project: Any, model: str) -> list[tuple[Any, ...]]:
    with database(project) as db:
        return sorted(db.table(f"{project.test_schema}.{model}"))


class TestRefused:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {f"{name}.sql": text for name, (text, _) in REFUSED.items()}

    def test_what_is_refused_says_what_to_do(self, project: Any) -> None:
        for result in run_dbt(["run"], expect_pass=False):
            assert pytest.RaisesExc(match=REFUSED[result.node.name][1]).matches(AssertionError(result.message))


POLICY = "{{ config(refresh_policy='full', on_configuration_change=var('then', 'apply')) }} select sum(a) as a from {{ ref('numbers') }}"
GROWN = """{{ config(materialized='incremental', unique_key='a', on_schema_change='append_new_columns') }}
select a, b {% if is_incremental() %}, a as c {% endif %} from {{ ref('numbers') }}
{% if is_incremental() %} where a >= (select max(a) from {{ this }}) {% endif %}"""
SOURCE = """
sources:
  - name: given
    schema: "{{ target.schema }}"
    config: { freshness: { error_after: { count: 1, period: hour } } }
    tables: [{ name: numbers }]
models:
  - name: sums
    columns: [{ name: a, data_tests: [{ accepted_values: { arguments: { values: [7] }, config: { store_failures: true } } }] }]
"""


class TestConfigured:
    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"numbers.csv": "a,b\n1,x\n2,y\n"}

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"seeds": {"+primary_key": "a", "+column_types": {"a": "int"}}}

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"sums.sql": POLICY, "grown.sql": GROWN, "sources.yml": SOURCE}

    def test_configurations(self, project: Any) -> None:
        run_dbt(["seed"])
        run_dbt(["run"])
        with database(project) as db:
            table = db.table(f"{project.test_schema}.numbers")
            assert table.definition.primary_key == ("a",)
            assert [str(f.type) for f in table.fields] == ["int", "string"]
        self.policies(project)
        self.increments(project)
        self.freshness_and_failures(project)

    def policies(self, project: Any) -> None:
        """A changed policy is applied, left as it is, or an error; the query is the same."""

        def known() -> Any:
            return project.adapter.refresh_policy(
                project.adapter.Relation.create(schema=project.test_schema, identifier="sums")
            )

        assert known() == "FULL"
        write_file(POLICY.replace("full", "incremental strict"), project.project_root, "models", "sums.sql")
        _, log = run_dbt_and_capture(["run", "-s", "sums", "--vars", "then: continue"])
        assert (known(), "it stays" in log) == ("FULL", True)
        run_dbt(["run", "-s", "sums", "--vars", "then: fail"], expect_pass=False)
        assert known() == "FULL"
        run_dbt(["run", "-s", "sums"])
        assert known() == "INCREMENTAL STRICT"

    def increments(self, project: Any) -> None:
        """An incremental model merges what is new by its key, and gets new columns."""
        assert rows(project, "grown") == [(1, "x"), (2, "y")]
        write_file("a,b\n1,x\n2,z\n4,w\n", project.project_root, "seeds", "numbers.csv")
        run_dbt(["build", "-s", "numbers", "grown"])
        assert [row[:2] for row in rows(project, "grown")] == [(1, "x"), (2, "z"), (4, "w")]
        assert [row[2] for row in rows(project, "grown")] == [None, 2, 4]

    def freshness_and_failures(self, project: Any) -> None:
        (fresh,) = run_dbt(["source", "freshness"])
        assert 0 <= fresh.age < 3600
        run_dbt(["test"])
        with database(project) as db:
            db.insert(f"{project.test_schema}.numbers", [(10, "v")])
        run_dbt(["test"], expect_pass=False)
        (stored,) = (name for name in self.names(project) if "accepted_values" in name)
        with database(project) as db:
            assert db.table(stored).rows() == [(17, 1)]

    def names(self, project: Any) -> tuple[str, ...]:
        with database(project) as db:
            found: viewlet.Database = db
            return (*found.tables, *found.views)
