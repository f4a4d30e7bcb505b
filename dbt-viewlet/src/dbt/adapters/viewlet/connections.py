"""Connections of dbt, which all lead to the one handle of the warehouse."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dbt.adapters.contracts.connection import AdapterResponse, Connection, ConnectionState
from dbt.adapters.sql import SQLConnectionManager
from dbt.adapters.viewlet import warehouses
from dbt.adapters.viewlet.credentials import ViewletCredentials
from dbt.adapters.viewlet.cursor import Cursor, Handle
from dbt_common.exceptions import DbtDatabaseError

from viewlet import ViewletError


class ViewletConnectionManager(SQLConnectionManager):
    """Every statement is an epoch of its own, so there are no transactions to begin or to roll back."""

    TYPE = "viewlet"

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        connection.handle = Handle(connection.credentials)
        connection.state = ConnectionState.OPEN
        return connection

    @contextmanager
    def exception_handler(self, sql: str) -> Iterator[None]:
        try:
            yield
        except ViewletError as error:
            raise DbtDatabaseError(str(error)) from error

    def cleanup_all(self) -> None:
        super().cleanup_all()
        assert isinstance(self.profile.credentials, ViewletCredentials)
        warehouses.close(self.profile.credentials)

    def cancel(self, connection: Connection) -> None:
        """A statement runs in this process, and ends with it."""

    @classmethod
    def get_response(cls, cursor: Cursor) -> AdapterResponse:
        return AdapterResponse(_message=cursor.message, rows_affected=cursor.rowcount)

    @classmethod
    def data_type_code_to_name(cls, type_code: int | str) -> str:
        return str(type_code)

    def begin(self) -> Connection:
        connection = self.get_thread_connection()
        connection.transaction_open = True
        return connection

    def commit(self) -> Connection:
        connection = self.get_thread_connection()
        connection.transaction_open = False
        return connection

    def rollback_if_open(self) -> None:
        self.commit()

    def clear_transaction(self) -> None:
        self.commit()

    @classmethod
    def _rollback_handle(cls, connection: Connection) -> None:
        """What a failed statement did is nothing."""

    def add_begin_query(self, *args: Any, **kwargs: Any) -> None:
        """There is no statement for it."""

    def add_commit_query(self, *args: Any, **kwargs: Any) -> None:
        """There is no statement for it."""
