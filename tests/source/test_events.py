"""What change events amount to is what a dictionary says that is changed by them one by one; from Kafka and from files."""

from __future__ import annotations

import base64
import datetime as dt
import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_INVALID, Consumer, TopicPartition

import viewlet
from tests.kafka_cluster import Cluster
from tests.marks import quickly
from viewlet.errors import RejectedEpoch, SqlError, StoreError

SCHEMA = "id BIGINT, name STRING, total DECIMAL(12,2), day DATE, at TIMESTAMP, raw BINARY, long STRING"
Row = tuple[Any, ...]


class World:
    """A table that changes, and the events that Debezium writes of it."""

    def __init__(self, seed: str, *, schema: bool, keys: bool = True) -> None:
        self.rng, self.rows, self.with_schema, self.keys = random.Random(seed), dict[int, Row](), schema, keys
        self.lsn = 0

    def step(self) -> list[tuple[str | None, str | None]]:
        """Change a row; the messages that say so."""
        key = self.rng.randrange(12)
        old = self.rows.get(key)
        if self.rng.random() < 0.02:
            self.rows.clear()
            return [(None, self._event("t", None, None))]
        if old is not None and self.rng.random() < 0.4:
            del self.rows[key]
            before = None if self.keys and self.rng.random() < 0.3 else old  # the message's key says it as well
            return [(json.dumps({"id": key}), self._event("d", before, None)), (json.dumps({"id": key}), None)]
        new = self._row(key, old)
        self.rows[key] = new
        left = old is not None and new[6] == old[6] and self.rng.random() < 0.5
        op = self.rng.choice("cr") if old is None else "u"
        return [(json.dumps({"id": key}), self._event(op, None, new, leave_long=left))]

    def _row(self, key: int, old: Row | None) -> Row:
        rng = self.rng
        return (
            key,
            rng.choice([None, "", "plain", 'quote " ü']),
            rng.choice([None, Decimal("-12.34"), Decimal("9999999999.99")]),
            rng.choice([None, dt.date(2026, 2, 28), dt.date(1969, 12, 31)]),
            rng.choice([None, dt.datetime(2026, 2, 28, 12, 30, 0, 1, dt.UTC)]),
            rng.choice([None, b"\x00\xff"]),
            old[6] if old is not None and rng.random() < 0.6 else "x" * rng.randrange(5),
        )

    def _event(self, op: str, before: Row | None, after: Row | None, *, leave_long: bool = False) -> str:
        self.lsn += 1
        payload: dict[str, Any] = {
            "op": op,
            "before": before and self._shown(before),
            "after": after and self._shown(after),
            "source": {"connector": "postgresql", "lsn": self.lsn},
            "ts_ms": int(time.time() * 1000),
        }
        if leave_long:
            payload["after"]["long"] = "__debezium_unavailable_value"
        return json.dumps({"schema": CONNECT, "payload": payload} if self.with_schema else payload)

    def _shown(self, row: Row) -> dict[str, Any]:
        """The values as Debezium writes them: with a schema, decimals are bytes and times milliseconds."""
        key, name, total, day, at, raw, long = row
        if total is not None:
            cents = int(total * 100)
            as_bytes = cents.to_bytes(8, "big", signed=True)
            total = base64.b64encode(as_bytes).decode() if self.with_schema else str(total)
        micros = None if at is None else int(at.timestamp()) * 1_000_000 + at.microsecond
        days = None if day is None else (day - dt.date(1970, 1, 1)).days
        shown = None if raw is None else base64.b64encode(raw).decode()
        return {
            "id": key,
            "name": name,
            "total": total,
            "day": days,
            "at": micros,
            "raw": shown,
            "long": long,
            "more": 1,
        }


_FIELDS = [
    {"field": "id", "type": "int64"},
    {"field": "name", "type": "string"},
    {"field": "total", "type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}},
    {"field": "day", "type": "int32", "name": "io.debezium.time.Date"},
    {"field": "at", "type": "int64", "name": "io.debezium.time.MicroTimestamp"},
    {"field": "raw", "type": "bytes"},
    {"field": "long", "type": "string"},
]
CONNECT = {"type": "struct", "fields": [{"field": part, "fields": _FIELDS} for part in ("before", "after")]}


def in_order(rows: Any) -> list[Row]:
    return sorted(map(tuple, rows), key=repr)


@pytest.mark.parametrize("schema", [True, False])
@pytest.mark.parametrize("seed", quickly(1, range(20)))
def test_debezium_from_kafka(seed: int, schema: bool, kafka: Cluster, tmp_path: Path) -> None:
    world = World(f"{seed}", schema=schema)
    kafka.send("orders", *world.step(), partition=0)
    with viewlet.connect(tmp_path / "w") as db:
        db.sql(
            f"CREATE TABLE t ({SCHEMA}, PRIMARY KEY (id)) FROM KAFKA '{kafka.servers}' TOPIC 'orders' FORMAT DEBEZIUM"
        )
        for _ in range(6):
            for _ in range(world.rng.choice([1, 3, 25])):
                kafka.send("orders", *world.step(), partition=0)
            db.sql("REFRESH TABLE t")
            assert in_order(db.table("t").rows()) == in_order(world.rows.values())
            assert db.read_sources() == []
        assert "FROM KAFKA" in db.sql("SHOW CREATE TABLE t")[0][0].as_py()


@pytest.mark.parametrize("seed", quickly(1, range(20)))
def test_events_that_come_again_are_left_out(seed: int, kafka: Cluster, tmp_path: Path) -> None:
    """A connector that starts again writes events again, some of which are old by then."""
    world, sent = World(f"again {seed}", schema=False), list[tuple[str | None, str | None]]()
    with viewlet.connect(tmp_path / "w") as db:
        kafka.send("orders", (None, None), partition=0)
        source = viewlet.kafka(kafka.servers, "orders", format="debezium")
        db.create_table("t", SCHEMA, primary_key="id", source=source)
        for _ in range(8):
            new = [message for _ in range(10) for message in world.step()]
            again = sent[world.rng.randrange(len(sent)) :][: world.rng.randrange(30)] if sent else []
            sent += new
            kafka.send("orders", *new, *again, partition=0)
            db.read_sources()
            assert in_order(db.table("t").rows()) == in_order(world.rows.values())


@pytest.mark.parametrize("schema", [True, False])
def test_debezium_from_files(schema: bool, tmp_path: Path) -> None:
    world, landing = World("files", schema=schema, keys=False), tmp_path / "landing"
    landing.mkdir()
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", SCHEMA, primary_key="id", source=viewlet.folder(landing, "debezium"))
        for number in range(6):
            events = [value or "null" for _ in range(15) for _, value in world.step()]
            (landing / f"{number}.json.gz").write_bytes(gzip.compress("\n".join(events).encode()))
            db.read_sources()
            assert in_order(db.table("t").rows()) == in_order(world.rows.values())
            assert db.read_sources() == []
        status = db.status()["tables"]["t"]["source"]
        assert (status["files"], status["bad"]) == (6, 0)
        (landing / "0.json.gz").unlink()
        assert db.read_sources() == [], "a file of events counts once, whatever becomes of it"


def test_without_a_key_old_rows_are_told_whole(kafka: Cluster, tmp_path: Path) -> None:
    def event(op: str, before: Any, after: Any) -> tuple[None, str]:
        return None, json.dumps({"op": op, "before": before, "after": after})

    one, two = {"id": 1, "x": "a"}, {"id": 2, "x": None}
    kafka.send("bag", event("c", None, one), event("c", None, one), event("c", None, two))
    with viewlet.connect(tmp_path / "w") as db:
        source = viewlet.kafka(kafka.servers, "bag", format="debezium")
        db.create_table("t", "id BIGINT, x STRING", source=source)
        assert in_order(db.table("t").rows()) == [(1, "a"), (1, "a"), (2, None)]
        kafka.send("bag", event("d", one, None), event("u", two, {"id": 2, "x": "b"}))
        db.read_sources()
        assert in_order(db.table("t").rows()) == [(1, "a"), (2, "b")]
        kafka.send("bag", event("u", None, two))
        with pytest.raises(RejectedEpoch, match=r"t: bag/\d, line \d: an update has no `before`"):
            db.read_sources()


def test_plain_rows(kafka: Cluster, tmp_path: Path) -> None:
    """With a key a value replaces a row and no value deletes it; without one, every value is a row."""
    kafka.send(
        "rows", ("1", '{"id": 1, "at": "2026-01-01T00:00:00Z", "x": 0.1}'), ("2", '{"id": 2, "x": "NaN", "y": 1}')
    )
    with viewlet.connect(tmp_path / "w") as db:
        for name, more in (("keyed", {"primary_key": "id"}), ("log", {"append_only": True})):
            source = viewlet.kafka(kafka.servers, "rows", on_bad_record="KEEP ASIDE")
            db.create_table(name, "id BIGINT, at TIMESTAMP, x DOUBLE", source=source, **more)
        moment = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
        assert [(row[0], row[1]) for row in in_order(db.table("keyed").rows())] == [(1, moment), (2, None)]
        kafka.send("rows", ("1", '{"id": 1, "x": 7}'), ("2", None), ("3", "nonsense"), ("4", '{"id": 4, "at": 5}'))
        db.read_sources()
        assert db.table("keyed").rows() == [(1, None, 7.0)]
        assert len(db.table("log")) == 3
        bad = in_order((file, reason, text) for file, _, reason, text in db.table("keyed_bad").rows())
        assert [(reason[:25], text) for _, reason, text in bad if reason.startswith("at")] == [
            ("at: 5 is an int, not time", '{"id": 4, "at": 5}')
        ]
        assert [text for _, reason, text in bad if reason.startswith("not JSON")] == ["nonsense"]
        assert all(file.startswith("rows/") for file, _, _ in bad)
        assert len(db.table("log_bad")) == 3


def test_numbers_as_times(kafka: Cluster, tmp_path: Path) -> None:
    kafka.send("times", (None, '{"id": 1, "at": 1500, "day": 1}'))
    with viewlet.connect(tmp_path / "w") as db:
        options = "OPTIONS (times = 'millis')"
        db.sql(
            f"CREATE TABLE t (id INT, at TIMESTAMP_NTZ, day DATE) FROM KAFKA '{kafka.servers}' TOPIC 'times' {options}"
        )
        assert db.table("t").rows() == [(1, dt.datetime(1970, 1, 1, 0, 0, 1, 500_000), dt.date(1970, 1, 2))]


def test_what_is_refused(kafka: Cluster, tmp_path: Path) -> None:
    with pytest.raises(SqlError, match="avro is not a format of events"):
        viewlet.kafka(kafka.servers, "x", format="avro")
    with pytest.raises(SqlError, match="'years' is not a unit of time"):
        viewlet.kafka(kafka.servers, "x", times="years")
    with viewlet.connect(tmp_path / "w") as db:
        with pytest.raises(SqlError, match="FROM KAFKA has no option partitions"):
            db.sql(f"CREATE TABLE t (id INT) FROM KAFKA '{kafka.servers}' TOPIC 'x' OPTIONS (partitions = 3)")
        with pytest.raises(SqlError, match=r"TOPIC is missing"):
            db.sql(f"CREATE TABLE t (id INT) FROM KAFKA '{kafka.servers}'")
        settings = tmp_path / "client.properties"
        settings.write_text("socket.timeout.ms=1000\nnonsense\n", encoding="utf-8")
        with pytest.raises(SqlError, match="nonsense has no value"):
            db.create_table("t", "id INT", source=viewlet.kafka(kafka.servers, "x", config=settings))
        settings.write_text("no.such.setting=1\n", encoding="utf-8")
        with pytest.raises(StoreError, match=r"no\.such\.setting"):
            db.create_table("u", "id INT", source=viewlet.kafka(kafka.servers, "x", config=settings))


def test_nothing_is_committed_to_kafka(kafka: Cluster, tmp_path: Path) -> None:
    kafka.send("rows", (None, '{"id": 1}'), partition=0)
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", "id BIGINT", append_only=True, source=viewlet.kafka(kafka.servers, "rows"))
    consumer = Consumer({"bootstrap.servers": kafka.servers, "group.id": "viewlet"})
    (found,) = consumer.committed([TopicPartition("rows", 0)], timeout=10)
    consumer.close()
    assert found.offset == OFFSET_INVALID


def test_messages_that_were_deleted_unread_are_an_error(kafka: Cluster, tmp_path: Path) -> None:
    """The simulated cluster keeps the last five megabytes of a partition."""
    kafka.send("rows", (None, '{"id": 0}'), partition=0)
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", "id BIGINT", append_only=True, source=viewlet.kafka(kafka.servers, "rows"))
        for number in range(1, 9):
            kafka.send("rows", (None, json.dumps({"id": number, "more": "x" * 900_000})), partition=0)
        with pytest.raises(StoreError, match=r"rows, partition 0: offsets 1 to \d were deleted unread"):
            db.read_sources()
        assert db.table("t").rows() == [(0,)]


def _run_and_kill(warehouse: Path, kafka: Cluster, sent: int, rng: random.Random) -> int:
    """Let another process read while messages come, and kill it; how many messages there are."""
    command = [sys.executable, "-m", "tests.source.folder_reader", str(warehouse)]
    reader = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert reader.stdout is not None
    reader.stdout.readline()
    end = time.monotonic() + rng.uniform(0, 0.3)
    while time.monotonic() < end:
        kafka.send("rows", *((None, json.dumps({"id": sent + i})) for i in range(5)))
        sent += 5
    os.kill(reader.pid, signal.SIGKILL)
    reader.stdout.close()
    assert reader.wait() == -signal.SIGKILL, "the reader ended by itself"
    return sent


@pytest.mark.parametrize("rounds", quickly(1, [2, 20]))
def test_killed_while_it_reads(rounds: int, kafka: Cluster, tmp_path: Path) -> None:
    """A table without a key shows a message that is missed or read twice."""
    rng, sent = random.Random(rounds), 1
    kafka.send("rows", (None, '{"id": 0}'))
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", "id BIGINT", append_only=True, source=viewlet.kafka(kafka.servers, "rows"), read=False)
    for _ in range(rounds):
        sent = _run_and_kill(tmp_path / "w", kafka, sent, rng)
        with viewlet.connect(tmp_path / "w") as db:
            db.read_sources()
            assert sorted(id for (id,) in db.table("t").rows()) == list(range(sent))
