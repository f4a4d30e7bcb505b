"""A warehouse that a driver on a cluster writes and this process reads, with as much of `Database` as the oracle needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import viewlet
from tests.cluster.driver import Driver, Edit


class RemoteDatabase:
    """What the oracle does to a warehouse, done by a driver."""

    def __init__(self, driver: Driver, address: str, settings: Mapping[str, str] | None = None) -> None:
        self.driver, self.address = driver, address
        driver("open", address, settings)
        self._reader = viewlet.connect(address, read_only=True)

    def __enter__(self) -> RemoteDatabase:
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.close()

    def sql(self, text: str) -> None:
        self.driver("sql", text)

    def create_view(self, name: str, text: str) -> None:
        self.driver("create_view", name, text)

    @contextmanager
    def epoch(self) -> Iterator[RemoteEpoch]:
        made = RemoteEpoch()
        yield made
        self.driver("change", made.edits)

    @property
    def views(self) -> tuple[str, ...]:
        self._reader.refresh()
        return self._reader.views

    def table(self, name: str) -> Any:
        """A table or view as this process sees it."""
        self._reader.refresh()
        return self._reader.table(name)

    def explain(self, name: str) -> str:
        return str(self._reader.explain(name))


class RemoteEpoch:
    """The changes of an epoch, to be sent."""

    def __init__(self) -> None:
        self.edits: list[Edit] = []

    def insert(self, table: str, rows: Any) -> None:
        self._add("insert", table, rows)

    def delete(self, table: str, rows: Any) -> None:
        self._add("delete", table, rows)

    def upsert(self, table: str, rows: Any) -> None:
        self._add("upsert", table, rows)

    def _add(self, kind: str, table: str, rows: Any) -> None:
        self.edits.append(Edit(kind, table, rows))
