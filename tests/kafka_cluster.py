"""The cluster that librdkafka simulates within a process, as Kafka for the tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition


@dataclass
class Cluster:
    """A running cluster, and a producer for it."""

    servers: str
    producer: Any

    def send(self, topic: str, *messages: tuple[str | None, str | None], partition: int = -1) -> None:
        """Write messages, each a key and a value, and wait until they are there."""
        for key, value in messages:
            self.producer.produce(topic, value, key, **({} if partition < 0 else {"partition": partition}))
        assert self.producer.flush(10) == 0

    def messages(self, topic: str) -> list[tuple[str | None, str | None]]:
        """All messages of a topic."""
        consumer = Consumer({
            "bootstrap.servers": self.servers, "group.id": "tests", "enable.auto.commit": False,
            "enable.partition.eof": True,
        })  # fmt: skip
        partitions = consumer.list_topics(topic).topics[topic].partitions
        consumer.assign([TopicPartition(topic, p, 0) for p in partitions])
        found, ended = [], 0
        while ended < len(partitions):
            message = consumer.poll(10)
            assert message is not None
            if message.error() is not None:
                ended += 1
            else:
                found.append((_text(message.key()), _text(message.value())))
        consumer.close()
        return found


def _text(part: Any) -> str | None:
    return None if part is None else str(part, "utf-8")


@contextmanager
def cluster() -> Iterator[Cluster]:
    home = Producer({"test.mock.num.brokers": 1, "log_level": 0})
    broker = next(iter(home.list_topics(timeout=10).brokers.values()))
    servers = f"{broker.host}:{broker.port}"
    yield Cluster(servers, Producer({"bootstrap.servers": servers, "log_level": 0}))
    home.flush(1)
