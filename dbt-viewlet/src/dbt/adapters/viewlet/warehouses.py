"""The warehouses that this process has open.

One process writes to a warehouse at a time, so all connections of dbt share one handle. It is opened when a statement
first needs it and closed with dbt's connections. Statements run one after the other, whatever `threads` says.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dbt.adapters.exceptions import FailedToConnectError

import viewlet

if TYPE_CHECKING:
    from dbt.adapters.viewlet.credentials import ViewletCredentials
    from pyspark.sql import SparkSession

_lock = threading.RLock()
_open: dict[str, viewlet.Database] = {}


@contextmanager
def opened(credentials: ViewletCredentials) -> Iterator[viewlet.Database]:
    """The warehouse of a profile, for one statement."""
    with _lock:
        if credentials.path not in _open:
            _open[credentials.path] = _connect(credentials)
        yield _open[credentials.path]


def close(credentials: ViewletCredentials) -> None:
    """Let go of a warehouse, for other processes to write to it; Spark goes on."""
    with _lock:
        if credentials.path in _open:
            _open.pop(credentials.path).close()


def _connect(credentials: ViewletCredentials) -> viewlet.Database:
    try:
        return viewlet.connect(
            credentials.path,
            spark=_session(credentials) if credentials.spark else None,
            engine=credentials.engine,
            read_only=credentials.read_only,
        )
    except viewlet.ViewletError as error:
        raise FailedToConnectError(str(error)) from error


def _session(credentials: ViewletCredentials) -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.Builder()
    for name, value in credentials.spark.items():
        builder = builder.config(name, str(value))
    return builder.getOrCreate()
