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
"""How many messages an epoch takes in at most."""
WAIT = 10.0
"""Seconds to wait for an answer of the cluster."""
Offsets = dict[int, int]
"""For each partition, the offset that is read next."""


def read_kafka(source: Kafka, target: Target) -> Generator[Batch, None, None]:
    """What is new in the topic, up to the ends of its partitions."""
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
    """A consumer that belongs to no group's assignment and commits nothing to Kafka."""
    client = needed("confluent_kafka", "kafka")
    own = {
        "group.id": "viewlet",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "fetch.wait.max.ms": 20,  # the end of a partition is told after that long
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
    """Where each partition is read next: after what was read, or at its start; what is gone by then is refused."""
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
    """The messages of a topic that were not read yet."""

    source: Kafka
    consumer: Any
    offsets: Offsets
    ended: set[int] = field(default_factory=set)
    """The partitions whose ends were reached."""
    moved: bool = False

    def messages(self) -> Iterator[Any]:
        """The next messages, as many as an epoch takes in, or up to the ends of all partitions."""
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
        """The partition whose end was reached; any other error is raised."""
        client = needed("confluent_kafka", "kafka")
        if message.error().code() != client.KafkaError._PARTITION_EOF:
            raise client.KafkaException(message.error())
        return int(message.partition())
