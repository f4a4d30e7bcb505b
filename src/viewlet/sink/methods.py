"""The methods of `Database` for sinks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from viewlet.warehouse.read.relation import Relation

if TYPE_CHECKING:
    from viewlet.sink.declared import Destination
    from viewlet.sink.deliver import Receive
    from viewlet.sink.sink import Sink
    from viewlet.warehouse.warehouse import Warehouse


class SinkMethods:
    """Delivering results to other systems."""

    _warehouse: Warehouse

    def export(self, name: str, to: str | Path | Sink) -> list[int]:
        """Update a folder of Parquet files, or another sink, from a table or view; return the epochs written.

        It first receives all rows, then the changes of each epoch, with the columns of `changes`. Each epoch is
        written exactly once, whatever is interrupted.
        """
        from viewlet.sink.parquet_folder import ParquetFolder
        from viewlet.sink.sink import Sender, Sink, send

        sink = to if isinstance(to, Sink) else ParquetFolder(Path(to))
        identity = self._warehouse.identity()
        return send(Sender(Relation(self._warehouse, self._warehouse.catalog.find(name)), identity), sink)

    def deliver(self, name: str, receiver: str, receive: Receive) -> int:
        """Call `receive(epoch, changes)` for each new epoch of a table or view; return the number of calls.

        The first call has all rows. The warehouse records the position of each receiver, by its name; a call that
        was interrupted before that is repeated, with the same epoch.
        """
        from viewlet.sink.deliver import deliver

        return deliver(self._warehouse, name, receiver, receive)

    def create_sink(self, name: str, of: str, to: Destination) -> None:
        """Declare a sink of a table or view: a `viewlet.postgres_table(…)`, `viewlet.kafka_topic(…)` …"""
        from viewlet.sink.declared import create_sink

        with self._warehouse.writing():
            create_sink(self._warehouse, name, of, to)

    def drop_sink(self, name: str) -> None:
        """Remove a sink from the warehouse; its contents stay."""
        from viewlet.sink.declared import drop_sink

        with self._warehouse.writing():
            drop_sink(self._warehouse, name)

    def send_sinks(self, *names: str) -> dict[str, int]:
        """Bring some sinks, or all, up to date; return how many epochs were sent to each."""
        from viewlet.sink.declared import send_sinks

        return send_sinks(self._warehouse, names)
