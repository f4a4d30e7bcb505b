"""A Kafka topic as the source of a table.

Offsets are part of the epoch that ingested the messages; none are committed to Kafka. So each message is ingested
exactly once. Change events that a connector wrote again are recognized by their versions, if they have any.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from viewlet import arguments
from viewlet.errors import SqlError
from viewlet.plan.words import options_text, quoted_text
from viewlet.source.bad_records import OnBad, read_on_bad
from viewlet.source.events.formats import EventFormat, read_format
from viewlet.source.events.json_values import Times
from viewlet.source.feed import Batch, Feed, Target, fields_of


@dataclass(frozen=True)
class Kafka(Feed):
    """A Kafka topic as a source."""

    kind: ClassVar[str] = "kafka"
    servers: str
    topic: str
    format: EventFormat = "json"
    times: Times = ""
    config: str = ""
    """A file with further client settings, `name=value` lines; secrets stay in it."""
    on_bad: OnBad = "FAIL EPOCH"

    def batches(self, target: Target) -> Generator[Batch, None, None]:
        from viewlet.source.events.read_kafka import read_kafka

        return read_kafka(self, target)

    @property
    def tells_versions(self) -> bool:
        return self.format == "debezium"

    @property
    def statement(self) -> str:
        place = f"FROM KAFKA {quoted_text(self.servers)} TOPIC {quoted_text(self.topic)} FORMAT {self.format.upper()}"
        options = options_text({"times": self.times, "config": self.config})
        return f"{place}{options} ON BAD RECORD {self.on_bad}"


def kafka(
    servers: str,
    topic: str,
    *,
    format: str = "json",
    times: str = "",
    config: str | Path = "",
    on_bad_record: str = "FAIL EPOCH",
) -> Kafka:
    """A topic of a Kafka cluster, for `db.create_table(…, source=…)`.

    `format`: "json", each value a row, or "debezium", change events. `times`: the unit of integers in time columns:
    "seconds", "millis" or "micros". `config`: a file with more settings of librdkafka, `name=value` lines.
    """
    kind, unit = read_format(arguments.text("the format", format), arguments.text("times", times))
    file = os.path.abspath(config) if config else ""
    on_bad = read_on_bad(on_bad_record, "READ NULLS")
    return Kafka(arguments.text("the servers", servers), arguments.text("the topic", topic), kind, unit, file, on_bad)


def client_settings(servers: str, config: str) -> dict[str, str]:
    """The settings of a client: the cluster's address and those of a file."""
    found = {"bootstrap.servers": servers}
    if config:
        for line in Path(config).read_text(encoding="utf-8").splitlines():
            name, is_set, value = line.partition("=")
            if line.strip() and not line.startswith("#"):
                if not is_set:
                    raise SqlError(f"{config}: {name.strip()} has no value", hint="name=value")
                found[name.strip()] = value.strip()
    return found


def read(document: Mapping[str, Any]) -> Kafka:
    """Decode a Kafka source."""
    return Kafka(**fields_of(document))
