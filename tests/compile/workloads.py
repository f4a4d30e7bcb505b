"""The queries of `workloads/` with their stored plans, and the sizes that their tables have there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from workloads import orderbook, tpcds, tpch

from viewlet.compile import Facts
from viewlet.plan.types import Field
from viewlet.sql import CreateTable, Statement, parse

FOLDER = Path(__file__).parent.parent / "golden" / "workloads"
QUERIES: dict[str, Mapping[str, str]] = {
    "orderbook": orderbook.QUERIES,
    "tpcds": tpcds.QUERIES,
    "tpch": tpch.queries(),
}
_SIZES = {
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
_STATEMENTS: dict[str, Sequence[Statement]] = {
    "tpch": [parse(text) for text in tpch.schema().values()],
    "orderbook": [parse(text) for text in orderbook.TABLES],
    "tpcds": list(tpcds.TABLES.values()),
}


def _tables(workload: str) -> list[CreateTable]:
    return [statement for statement in _STATEMENTS[workload] if isinstance(statement, CreateTable)]


def schemas(workload: str) -> dict[str, tuple[Field, ...]]:
    """The columns of a workload's tables."""
    return {table.name: table.fields for table in _tables(workload)}


def facts(workload: str) -> Facts:
    """The sizes and keys of a workload's tables."""
    keyed = [(t.name, [f.name for f in t.fields], t.primary_key) for t in _tables(workload) if t.primary_key]
    return Facts(_SIZES[workload], {name: tuple(map(names.index, key)) for name, names, key in keyed})
