"""What the tests of a cluster play: tables, views, epochs, and the rows that the tables should hold after each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from workloads import orderbook, tpch
from workloads.orderbook.generator import Book
from workloads.tpch.changes import Changes

from tests.cluster.driver import Edit
from tests.oracle.cases import Row, TableCase
from tests.oracle.queries import Column

_COLUMN = re.compile(r"^\s+(\w+) (.+?)(?: NOT NULL)?,$", re.MULTILINE)


def table_of(statement: str) -> TableCase:
    """The table that a statement creates, for the judge."""
    name = statement.split()[2]
    return TableCase(name, tuple(Column(*found) for found in _COLUMN.findall(statement)), has_key=True)


class Tpch:
    """All 22 queries, or some, over small tables that change everywhere."""

    statements = tuple(tpch.schema().values())

    def __init__(self, seed: int, names: Sequence[str] = ()) -> None:
        self.queries = {name: text for name, text in tpch.queries().items() if not names or name in names}
        self._changes = Changes(seed)
        self.tables = [table_of(statement) for statement in self.statements]

    def initial(self) -> list[Edit]:
        return [Edit(*edit) for edit in self._changes.initial()]

    def epoch(self) -> list[Edit]:
        return [Edit(*edit) for edit in self._changes.epoch()]

    def rows(self, table: TableCase) -> list[Row]:
        return [tuple(row[c.name] for c in table.columns) for row in self._changes.contents[table.name].rows.values()]


class OrderBook:
    """All six views over both sides of a small book."""

    statements = tuple(orderbook.TABLES)
    queries: Mapping[str, str] = orderbook.QUERIES

    def __init__(self, seed: int, orders: int = 60, messages: int = 25) -> None:
        self._book, self._messages = Book(orders, seed), messages
        self.tables = [table_of(re.sub(r"--.*\n", "", statement)) for statement in self.statements]

    def initial(self) -> list[Edit]:
        bids, asks = self._book.initial()
        return [Edit("insert", "bids", bids), Edit("insert", "asks", asks)]

    def epoch(self) -> list[Edit]:
        new = self._book.messages(self._messages)
        edits = [Edit(kind, name, getattr(new[name], kind)) for name in new for kind in ("insert", "upsert", "delete")]
        return [edit for edit in edits if edit.rows.num_rows]

    def rows(self, table: TableCase) -> list[Row]:
        held: Any = dict(zip(("bids", "asks"), self._book.initial(), strict=True))[table.name]
        return [tuple(row[c.name] for c in table.columns) for row in held.to_pylist()]
