"""Reading a Kafka topic, partition by partition, from the offsets that the last epoch recorded."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from viewlet.errors import StoreError
from viewlet.extras import needed
from viewlet.source.events.formats import event_taker
from viewlet.source.events.kafka import Kafka, client_settings
from viewlet.source.feed import Batch, Target
from viewlet.source.net_changes import NetChanges, Place

MESSAGES = 20_000
"""The most messages of an epoch."""
WAIT = 10.0
"""Seconds to wait for an answer from the cluster."""
Offsets = dict[int, int]
"""The next offset to read, by partition."""


def read_kafka(source: Kafka, target: Target) -> Generator[Batch, None, None]:
    """New messages of the topic, up to the ends of its partitions."""
    position = target.position() or {"offsets": {}}
    take = event_taker(target.table, source.format, source.times)
    with _consuming(source) as consumer:
        offsets = _start(source, consumer, {int(p): at for p, at in position["offsets"].items()})
        log = _Log(source, consumer, offsets)
        while True:
            net = NetChanges(target.table, versions=target.versions() if source.tells_versions else {})
            for message in log.messages():
                _, moment = message.timestamp()
                net.oldest = moment / 1e3 if net.oldest is None and moment > 0 else net.oldest
                text = (message.value() or b"").decode("utf-8", "replace")
                place = Place(f"{source.topic}/{message.partition()}", message.offset(), text)
                take(net, message.value(), message.key(), place)
            if not log.moved:
                return
            yield net.batch(
                {"offsets": {str(p): at for p, at in sorted(log.offsets.items())}}, target.stored, target.versions
            )


@contextmanager
def _consuming(source: Kafka) -> Iterator[Any]:
    """A consumer without group assignment, which commits nothing to Kafka."""
    client = needed("confluent_kafka", "kafka")
    own = {
        "group.id": "viewlet",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "fetch.wait.max.ms": 20,  # bounds the delay until the end of a partition is reported
        "log_level": 0,
    }
    try:
        consumer = client.Consumer({**client_settings(source.servers, source.config), **own})
        try:
            yield consumer
        finally:
            consumer.close()
    except client.KafkaException as error:
        raise StoreError(f"Kafka ({source.servers}): {error.args[0]}") from error


def _start(source: Kafka, consumer: Any, known: Offsets) -> Offsets:
    """The next offset of each partition: after the last one read, or its start; raise if messages are gone unread."""
    client = needed("confluent_kafka", "kafka")
    found = consumer.list_topics(source.topic, timeout=WAIT).topics[source.topic]
    if found.error is not None or not found.partitions:
        raise StoreError(f"Kafka ({source.servers}) has no topic {source.topic}")
    offsets = {}
    for partition in found.partitions:
        low, _ = consumer.get_watermark_offsets(client.TopicPartition(source.topic, partition), timeout=WAIT)
        offsets[partition] = known.get(partition, low)
        if low > offsets[partition]:
            raise StoreError(
                f"topic {source.topic}, partition {partition}: offsets {offsets[partition]} to {low} were deleted unread",
                hint="keep messages longer in Kafka; drop the table and create it again, to begin with what is there",
            )
    consumer.assign([client.TopicPartition(source.topic, p, at) for p, at in offsets.items()])
    return offsets


@dataclass
class _Log:
    """The unread messages of a topic."""

    source: Kafka
    consumer: Any
    offsets: Offsets
    ended: set[int] = field(default_factory=set)
    """The partitions read to their ends."""
    moved: bool = False

    def messages(self) -> Iterator[Any]:
        """The next messages, as many as fit an epoch, or up to the ends of all partitions."""
        before, count = dict(self.offsets), 0
        while count < MESSAGES and len(self.ended) < len(self.offsets):
            message = self.consumer.poll(WAIT)
            if message is None:
                raise StoreError(f"Kafka ({self.source.servers}) does not answer")
            if message.error() is not None:
                self.ended.add(self._ended(message))
                continue
            self.offsets[message.partition()] = message.offset() + 1
            count += 1
            yield message
        self.moved = self.offsets != before

    def _ended(self, message: Any) -> int:
        """The partition whose end a message reports; raise other errors."""
        client = needed("confluent_kafka", "kafka")
        if message.error().code() != client.KafkaError._PARTITION_EOF:
            raise client.KafkaException(message.error())
        return int(message.partition())
