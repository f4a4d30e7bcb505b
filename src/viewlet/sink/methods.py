"""What a `Database` can do with sinks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from viewlet.warehouse.relation import Relation

if TYPE_CHECKING:
    from viewlet.sink.declared import Destination
    from viewlet.sink.deliver import Receive
    from viewlet.sink.sink import Sink
    from viewlet.warehouse.warehouse import Warehouse


class SinkMethods:
    """Sending results on."""

    _warehouse: Warehouse

    def export(self, name: str, to: str | Path | Sink) -> list[int]:
        """Bring a folder of Parquet files, or another sink, up to a table or view; the epochs that were written.

        At first it is given all rows, then what each epoch changed, with the columns of `changes`. Nothing is missed
        and nothing is there twice, whatever is interrupted where.
        """
        from viewlet.sink.parquet_folder import ParquetFolder
        from viewlet.sink.sink import Sender, Sink, send

        sink = to if isinstance(to, Sink) else ParquetFolder(Path(to))
        identity = self._warehouse.identity()
        return send(Sender(Relation(self._warehouse, self._warehouse.catalog.find(name)), identity), sink)

    def deliver(self, name: str, receiver: str, receive: Receive) -> int:
        """Call `receive(epoch, changes)` with what a receiver has not had yet of a table or view; how many calls.

        The first call has all rows. The warehouse remembers how far each receiver has come, by its name; a call that
        was interrupted before that is made again, with the same epoch.
        """
        from viewlet.sink.deliver import deliver

        return deliver(self._warehouse, name, receiver, receive)

    def create_sink(self, name: str, of: str, to: Destination) -> None:
        """Remember where a table or view goes on to: a `viewlet.postgres_table(…)`, `viewlet.kafka_topic(…)` …"""
        from viewlet.sink.declared import create_sink

        with self._warehouse.writing():
            create_sink(self._warehouse, name, of, to)

    def drop_sink(self, name: str) -> None:
        """Forget a sink; what it has stays there."""
        from viewlet.sink.declared import drop_sink

        with self._warehouse.writing():
            drop_sink(self._warehouse, name)

    def send_sinks(self, *names: str) -> dict[str, int]:
        """Bring some sinks, or all, up to date; how many epochs were sent to each."""
        from viewlet.sink.declared import send_sinks

        return send_sinks(self._warehouse, names)
