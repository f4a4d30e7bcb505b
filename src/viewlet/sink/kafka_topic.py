"""A Kafka topic that receives the changes of a table or view, as events in Debezium's format.

Delivery is at least once: the warehouse records an epoch after Kafka has confirmed its messages. If a process is killed
in between, the epoch is sent again, since Kafka cannot tell which of its messages it has. Each event has its epoch and
its number within it (`source.epoch`, `source.at`), by which consumers can skip repeated ones. Within one process
nothing is sent twice: the producer is idempotent.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

import pyarrow as pa

from viewlet.errors import StoreError
from viewlet.extras import needed
from viewlet.source.events.kafka import client_settings

WAIT = 60.0
"""Seconds to wait for Kafka to confirm an epoch."""


@dataclass
class KafkaTopic:
    """Sends changes to a topic: a receiver for `db.deliver`."""

    kind: ClassVar[str] = "kafka"
    servers: str
    topic: str
    key: tuple[str, ...] = ()
    """The columns by which messages are partitioned and compacted; an update under one key is one event."""
    config: str = ""

    def __post_init__(self) -> None:
        self._producer: Any = None

    def __call__(self, epoch: int, changes: pa.Table) -> None:
        """Send the changes of an epoch and wait for Kafka to confirm them."""
        client, failed = needed("confluent_kafka", "kafka"), []
        if self._producer is None:
            own = {"enable.idempotence": True, "log_level": 0}
            self._producer = client.Producer({**client_settings(self.servers, self.config), **own})
        for key, value in events(changes, epoch, self.key):
            self._send(key, value, lambda error, _: failed.append(error) if error is not None else None)
        left = self._producer.flush(WAIT)
        if left or failed:
            reason = failed[0] if failed else f"{left} messages are not confirmed"
            raise StoreError(f"Kafka ({self.servers}), topic {self.topic}: {reason}")

    def _send(self, key: str | None, value: str | None, done: Any) -> None:
        try:
            self._producer.produce(self.topic, value, key, on_delivery=done)
        except BufferError:  # the client's queue is full
            self._producer.flush(WAIT)
            self._producer.produce(self.topic, value, key, on_delivery=done)


def events(changes: pa.Table, epoch: int, key: tuple[str, ...]) -> Iterator[tuple[str | None, str | None]]:
    """The messages of an epoch's changes, as keys and values; with a key, a tombstone follows each deletion."""
    *names, kind, _, moment = changes.column_names
    kinds = changes[kind].to_pylist()
    when = changes[moment][0].as_py() if len(changes) else None
    rows = changes.select(names).to_pylist()
    for at, (op, before, after) in enumerate(_pairs(kinds, rows, key)):
        known = after if after is not None else before
        assert known is not None
        shown = _shown({name: known[name] for name in key}) if key else None
        yield (
            shown,
            _shown(
                {
                    "op": op,
                    "before": before,
                    "after": after,
                    "source": {"connector": "viewlet", "epoch": epoch, "at": at},
                    "ts_ms": when and int(when.timestamp() * 1e3),
                }
            ),
        )
        if shown is not None and op == "d":
            yield shown, None


Row = dict[str, Any]


def _pairs(kinds: list[str], rows: list[Row], key: tuple[str, ...]) -> Iterator[tuple[str, Row | None, Row | None]]:
    """The operation, old row and new row of each change; with a key, a deletion and an insertion become an update."""
    gone = [row for kind, row in zip(kinds, rows, strict=True) if kind in ("delete", "update_preimage")]
    come = [row for kind, row in zip(kinds, rows, strict=True) if kind in ("insert", "update_postimage")]
    replaced = {tuple(row[name] for name in key): row for row in gone} if key else {}
    for row in come:
        before = replaced.pop(tuple(row[name] for name in key), None)
        yield ("c" if before is None else "u"), before, row
    for row in replaced.values() if key else gone:
        yield "d", row, None


def _shown(value: Any) -> str:
    return json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any) -> Any:
    """A value for JSON: decimals and times as strings, bytes in base 64."""
    match value:
        case dict():
            return {name: _plain(part) for name, part in value.items()}
        case list() | tuple():
            return [_plain(part) for part in value]
        case Decimal():
            return format(value, "f")
        case dt.datetime() | dt.date() | dt.time():
            return value.isoformat()
        case bytes():
            return base64.b64encode(value).decode()
        case float() if not math.isfinite(value):
            return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    return value


def kafka_topic(servers: str, topic: str, *, key: str | tuple[str, ...] = (), config: str = "") -> KafkaTopic:
    """A Kafka topic, for `db.deliver(view, receiver, …)`; `key`: the columns that identify a row."""
    return KafkaTopic(servers, topic, (key,) if isinstance(key, str) else tuple(key), config)
