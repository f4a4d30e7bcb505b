"""The demonstration's data are what they claim to be, and its stream of changes is always right."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.marks import THOROUGH
from viewlet.demo.days import make_stream
from viewlet.demo.definitions import TABLES, VIEWS
from viewlet.demo.retail import Retail, make_retail
from viewlet.plan.types import parse_type
from viewlet.sql import CreateTable, CreateView, parse

KEYS = {"customers": 1, "products": 1, "orders": 1, "lines": 2, "returns": 2}


@pytest.fixture(scope="module")
def retail() -> Retail:
    return make_retail(lines=6_000)


def test_the_same_seed_gives_the_same_rows(retail: Retail) -> None:
    assert make_retail(lines=6_000).tables == retail.tables
    assert make_retail(lines=6_000, seed=9).tables != retail.tables


def test_tables_are_as_declared(retail: Retail) -> None:
    for name, text in TABLES.items():
        statement = parse(text)
        assert isinstance(statement, CreateTable)
        assert tuple(f.name for f in statement.fields) == tuple(retail.tables[name].column_names)
        assert len(statement.primary_key) == KEYS[name]
        for field, column in zip(statement.fields, retail.tables[name].columns, strict=True):
            assert _matches(str(field.type), column.type), field
            assert field.nullable or not column.null_count
            assert not column.null_count or field.nullable


def _matches(declared: str, kind: pa.DataType) -> bool:
    expected = {
        "bigint": pa.int64(), "int": pa.int32(), "string": pa.string(), "date": pa.date32(),
        "decimal(12,2)": pa.decimal128(12, 2),
    }  # fmt: skip
    return bool(kind == expected[str(parse_type(declared))])


def test_views_are_materialized_views() -> None:
    for name, query in VIEWS.items():
        assert parse(f"CREATE MATERIALIZED VIEW {name} AS {query}") == CreateView(name, query.strip())


def test_an_order_costs_what_its_lines_cost(retail: Retail) -> None:
    sums: Counter[int] = Counter()
    for row in retail.tables["lines"].to_pylist():
        sums[row["order_id"]] += row["amount"]
    totals = {row["id"]: row["total"] for row in retail.tables["orders"].to_pylist()}
    assert totals == sums


def test_data_are_skewed_and_have_gaps(retail: Retail) -> None:
    sold = Counter(retail.tables["lines"]["product"].to_pylist())
    assert sold.most_common(1)[0][1] > 5 * sum(sold.values()) / len(sold)
    assert retail.tables["orders"]["customer"].null_count
    assert retail.tables["customers"]["segment"].null_count


def test_every_epoch_is_right_on_what_came_before(retail: Retail) -> None:
    state = {name: _keyed(name, table.to_pylist()) for name, table in retail.tables.items()}
    for epoch in make_stream(retail, sizes=(10, 100), rounds=3):
        for change in epoch.changes:
            rows = _keyed(change.table, change.rows.to_pylist())
            held = state[change.table]
            assert len(rows) == change.rows.num_rows
            assert rows.keys().isdisjoint(held) if change.action == "insert" else rows.keys() <= held.keys()
            _apply(held, change.action, rows)
        assert {row["order_id"] for row in state["lines"].values()} == {key[0] for key in state["orders"]}
    assert _totals_agree(state)


def _keyed(table: str, rows: list[dict[str, Any]]) -> dict[tuple[Any, ...], dict[str, Any]]:
    return {tuple(row.values())[: KEYS[table]]: row for row in rows}


def _apply(held: dict[Any, Any], action: str, rows: dict[Any, Any]) -> None:
    if action == "delete":
        for key in rows:
            del held[key]
    else:
        held.update(rows)


def _totals_agree(state: dict[str, dict[Any, dict[str, Any]]]) -> bool:
    sums: dict[int, Decimal] = {}
    for row in state["lines"].values():
        sums[row["order_id"]] = sums.get(row["order_id"], Decimal(0)) + row["amount"]
    return {row["id"]: row["total"] for row in state["orders"].values()} == sums


def test_epochs_are_about_as_large_as_they_say(retail: Retail) -> None:
    for epoch in make_stream(make_retail(lines=60_000), sizes=(10, 1_000), rounds=1):
        assert epoch.size / 3 <= epoch.rows <= 3 * epoch.size


@pytest.mark.spark
def test_the_demonstration_ends_well(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from viewlet.demo.run import run_demo

    assert run_demo(tmp_path / "shop", lines=3_000, sizes=(10, 50), rounds=1)
    shown = capsys.readouterr().out
    assert all(name in shown for name in VIEWS)
    assert "6 views equal to what Spark SQL computes from scratch" in shown
    if THOROUGH:
        assert run_demo(tmp_path / "shop", lines=300, sizes=(10, 50), rounds=1), "its own folder is made anew"


def test_the_demonstration_leaves_other_folders_alone(tmp_path: Path) -> None:
    from viewlet.demo.run import run_demo
    from viewlet.errors import StoreError

    (tmp_path / "precious").touch()
    with pytest.raises(StoreError, match="--warehouse DIR"):
        run_demo(tmp_path)
    assert (tmp_path / "precious").exists()
