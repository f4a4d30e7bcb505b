"""The events of a topic, replayed, are the rows of the table or view; an epoch that is sent again can be told."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

import viewlet
from tests.kafka_cluster import Cluster
from tests.sink.kills import run_and_kill
from tests.sink.sender import change, make_table, send
from viewlet.store.transaction import Transaction

SCHEMA = "id BIGINT, g INT, v DECIMAL(10,2), note STRING"


@pytest.fixture
def db(tmp_path: Path) -> Any:
    with viewlet.connect(tmp_path / "w") as opened:
        opened.create_table("t", SCHEMA, primary_key="id")
        yield opened


def replayed(messages: Sequence[tuple[str | None, str | None]]) -> dict[str | None, Any]:
    """What a consumer has that keeps the last value of each key, and leaves out events that it had."""
    state: dict[str | None, Any] = {}
    for key, value in messages:
        if value is None:
            assert key not in state, "a tombstone follows a deletion"
        elif (event := json.loads(value))["op"] == "d":
            assert state.pop(key) == event["before"]
        else:
            assert event["op"] == ("u" if key in state else "c")
            assert event["before"] == state.get(key)
            state[key] = event["after"]
    return state


def shown(db: viewlet.Database) -> list[Any]:
    names = ("id", "g", "v", "note")
    return [{**dict(zip(names, row, strict=True)), "v": str(row[2])} for row in db.table("t").rows()]


def test_events_replayed_are_the_table(db: viewlet.Database, kafka: Cluster, tmp_path: Path) -> None:
    rng, topic = random.Random(1), viewlet.kafka_topic(kafka.servers, "t", key="id")
    for _ in range(8):
        change(db, rng)
        db.deliver("t", "kafka", topic)
        found = replayed(kafka.messages("t"))
        assert sorted(map(repr, found.values())) == sorted(map(repr, shown(db)))
    source = viewlet.kafka(kafka.servers, "t", format="debezium")
    with viewlet.connect(tmp_path / "copy") as copy:
        copy.create_table("t", SCHEMA, primary_key="id", source=source)
        assert Counter(copy.table("t").rows()) == Counter(db.table("t").rows())


def test_the_producer_is_idempotent(db: viewlet.Database, kafka: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[dict[str, Any]] = []

    def make(settings: dict[str, Any]) -> Producer:
        made.append(settings)
        return Producer(settings)

    monkeypatch.setattr("confluent_kafka.Producer", make)
    db.insert("t", [(1, 1, 1, "x")])
    db.deliver("t", "kafka", viewlet.kafka_topic(kafka.servers, "t", key="id"))
    assert [settings["enable.idempotence"] for settings in made] == [True]


def test_an_epoch_that_is_sent_again_bears_the_same_numbers(
    db: viewlet.Database, kafka: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = viewlet.kafka_topic(kafka.servers, "t", key="id")
    db.insert("t", [(1, 1, 1, "x"), (2, 1, 1, "y")])

    def lost(*_: Any) -> int:
        raise InterruptedError

    with monkeypatch.context() as patched:
        patched.setattr(Transaction, "commit", lost)
        with pytest.raises(InterruptedError):
            db.deliver("t", "kafka", topic)
    db.deliver("t", "kafka", topic)
    events = [json.loads(value) for _, value in kafka.messages("t") if value is not None]
    assert len(events) == 4
    assert len({(e["source"]["epoch"], e["source"]["at"]) for e in events}) == 2


def topics(servers: str) -> list[tuple[str, Any]]:
    return [("t", viewlet.kafka_topic(servers, "t", key="id"))]


@pytest.mark.slow
def test_killed_while_it_sends(kafka: Cluster, tmp_path: Path) -> None:
    """Nothing is lost; what is sent again bears the numbers by which a consumer leaves it out."""
    rng = random.Random(20)
    with viewlet.connect(tmp_path / "w") as db:
        make_table(db)
    for _ in range(20):
        run_and_kill(tmp_path / "w", rng, "tests.sink.test_kafka_topic:topics", kafka.servers)
        with viewlet.connect(tmp_path / "w") as db:
            for name, topic in topics(kafka.servers):
                send(db, name, topic)
            events = [(key, value) for key, value in kafka.messages("t") if value is not None]
            numbered = {(e["epoch"], e["at"]): at for at, e in enumerate(map(_source_of, events))}
            once = [events[at] for _, at in sorted(numbered.items())]
            assert sorted(map(repr, replayed(once).values())) == sorted(map(repr, shown(db)))


def _source_of(event: tuple[str | None, str]) -> dict[str, Any]:
    source: dict[str, Any] = json.loads(event[1])["source"]
    return source
