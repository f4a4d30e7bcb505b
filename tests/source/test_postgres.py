"""A table that PostgreSQL feeds holds what PostgreSQL's table holds, after every transaction."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import viewlet
from tests.marks import quickly
from tests.source.postgres_tables import SCHEMA, change, connect, contents, in_order, make
from viewlet.errors import RejectedEpoch, SqlError, StoreError


@pytest.fixture
def session(postgres: str) -> Iterator[Any]:
    with connect(postgres) as opened:
        yield opened


def held(db: viewlet.Database, name: str = "t") -> list[str]:
    return in_order(db.table(name).rows())


@pytest.mark.parametrize("seed", quickly(1, range(30)))
@pytest.mark.parametrize("identity", ["DEFAULT", "FULL"])
def test_all_rows_then_every_change(identity: str, seed: int, postgres: str, session: Any, tmp_path: Path) -> None:
    rng = random.Random(f"{identity} {seed}")
    make(session, "source", identity=identity)
    for _ in range(20):
        change(session, "source", rng)
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", SCHEMA, primary_key="id", source=viewlet.postgres(postgres, "source"))
        assert held(db) == contents(session, "source")
        for _ in range(8):
            for _ in range(rng.choice([0, 1, 3, 8])):
                change(session, "source", rng)
            db.read_sources()
            assert held(db) == contents(session, "source")
            assert db.read_sources() == []
        db.drop("t")
        assert session.execute("SELECT 1 FROM pg_replication_slots").fetchone() is None
        assert session.execute("SELECT 1 FROM pg_publication").fetchone() is None


def test_without_a_key_whole_rows_come_and_go(postgres: str, session: Any, tmp_path: Path) -> None:
    rng = random.Random(3)
    make(session, "source", key="", identity="FULL")
    with viewlet.connect(tmp_path / "w") as db:
        db.sql(f"CREATE TABLE t ({SCHEMA}) FROM POSTGRES '{postgres}' TABLE 'public.source'")
        for _ in range(8):
            for _ in range(5):
                change(session, "source", rng, keyed=False)
            db.sql("REFRESH TABLE t")
            assert held(db) == contents(session, "source")


def test_the_snapshot_begins_where_the_slot_does(postgres: str, session: Any, tmp_path: Path) -> None:
    """Transactions go on while the table is made; each is in the snapshot or in the slot."""
    session.execute("CREATE TABLE source (id bigint PRIMARY KEY, n bigint)")
    session.execute("INSERT INTO source SELECT i, 0 FROM generate_series(1, 3000) i")
    done = threading.Event()

    def write() -> None:
        with connect(postgres) as writer:
            rng = random.Random(5)
            while not done.is_set():
                writer.execute("UPDATE source SET n = n + 1 WHERE id = %s", (rng.randrange(1, 3000),))
                writer.execute("DELETE FROM source WHERE id = %s", (rng.randrange(1, 3000),))

    thread = threading.Thread(target=write)
    thread.start()
    try:
        with viewlet.connect(tmp_path / "w") as db:
            db.create_table("t", "id BIGINT, n BIGINT", primary_key="id", source=viewlet.postgres(postgres, "source"))
            time.sleep(0.2)
            done.set()
            thread.join()
            assert db.read_sources(), "nothing changed meanwhile"
            assert sorted(db.table("t").rows()) == sorted(session.execute("SELECT id, n FROM source").fetchall())
    finally:
        done.set()
        thread.join()


def test_a_transaction_is_one_epoch_with_its_lag(postgres: str, session: Any, tmp_path: Path) -> None:
    session.execute("CREATE TABLE source (id bigint PRIMARY KEY, n bigint)")
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", "id BIGINT, n BIGINT", primary_key="id", source=viewlet.postgres(postgres, "source"))
        with session.transaction():
            session.execute("INSERT INTO source VALUES (1, 1)")
            session.execute("INSERT INTO source VALUES (2, 2)")
        time.sleep(0.2)
        (epoch,) = db.read_sources("t")
        record = db.history()[-1]
        assert record["epoch"] == epoch
        assert record["tables"]["t"] == {"inserted": 2, "deleted": 0}
        assert 0.2 <= record["source"]["lag"] < 60
        status = db.status()["tables"]["t"]["source"]
        assert (status["kind"], status["changes"], status["lag"]) == ("postgres", 2, record["source"]["lag"])


@pytest.mark.parametrize("portion", [3, pytest.param(20_000, marks=pytest.mark.slow)])
def test_a_transaction_of_several_tables_is_one_epoch(
    portion: int, postgres: str, session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Accounts of two tables exchange money: after every epoch, their sum is the same."""
    monkeypatch.setattr("viewlet.source.postgres.replication.CHANGES", portion)
    rng = random.Random(portion)
    with viewlet.connect(tmp_path / "w") as db:
        for name in ("a", "b"):
            session.execute(f"CREATE TABLE {name} (id bigint PRIMARY KEY, n bigint)")
            session.execute(f"INSERT INTO {name} SELECT i, 100 FROM generate_series(0, 4) i")
            source = viewlet.postgres(postgres, f"public.{name}")
            db.create_table(name, "id BIGINT, n BIGINT", primary_key="id", source=source)
        for _ in range(30):
            some = rng.choice(["ab", "ab", "a", "b"])
            with session.transaction():
                for _ in range(rng.randrange(1, 4)):
                    amount = rng.randrange(1, 50)
                    for name, sign in zip((some[0], some[-1]), (1, -1), strict=True):
                        change = f"UPDATE {name} SET n = n + %s WHERE id = %s"
                        session.execute(change, (sign * amount, rng.randrange(5)))
        epochs = db.read_sources()
        assert len(epochs) > 5 if portion == 3 else len(epochs) == 1
        for epoch in epochs:
            assert sum(n for name in "ab" for _, n in db.table(name).as_of(epoch)) == 1000, epoch
        for name in "ab":
            assert sorted(db.table(name)) == sorted(session.execute(f"SELECT id, n FROM {name}").fetchall())
        assert db.read_sources() == []
        assert {record["source"]["table"] for record in db.history() if record["epoch"] in epochs} >= {"a, b"}
        session.execute("DELETE FROM b WHERE id = 1")
        assert len(db.read_sources("a")) == 0, "only what is named is read"
        assert len(db.read_sources("a", "b")) == 1


def test_bad_values(postgres: str, session: Any, tmp_path: Path) -> None:
    session.execute("CREATE TABLE source (id bigint PRIMARY KEY, n numeric, day date)")
    session.execute("INSERT INTO source VALUES (1, 1, '2026-01-01'), (2, 'NaN', '2026-01-01')")
    schema = "id BIGINT, n DECIMAL(10,2), day DATE"
    with viewlet.connect(tmp_path / "w") as db:
        with pytest.raises(RejectedEpoch, match=r"table t: source: n: .*NaN"):
            db.create_table("t", schema, primary_key="id", source=viewlet.postgres(postgres, "source"))
        aside = viewlet.postgres(postgres, "source", on_bad_record="KEEP ASIDE")
        db.create_table("u", schema, primary_key="id", source=aside)
        assert [row[0] for row in db.table("u").rows()] == [1]
        session.execute("UPDATE source SET day = 'infinity' WHERE id = 1")
        session.execute("UPDATE source SET n = 3 WHERE id = 2")
        db.read_sources("u")
        assert [row[0] for row in db.table("u").rows()] == [2], "a bad version of a row takes the old one away"
        reasons = sorted(reason for _, _, reason, _ in db.table("u_bad").rows())
        assert [reason.split(":")[0] for reason in reasons] == ["day", "n"]
        assert db.status()["tables"]["u"]["source"]["bad"] == 2


def test_what_is_refused(postgres: str, session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session.execute("CREATE TABLE source (id bigint PRIMARY KEY, n numeric, g bigint GENERATED ALWAYS AS (id) STORED)")
    with viewlet.connect(tmp_path / "w") as db:

        def create(schema: str, **more: Any) -> None:
            db.create_table("t", schema, source=viewlet.postgres(postgres, "source"), **more)

        with pytest.raises(RejectedEpoch, match="source has no column m"):
            create("id BIGINT, m BIGINT", primary_key="id")
        with pytest.raises(RejectedEpoch, match="no column g"):  # which replication leaves out
            create("id BIGINT, g BIGINT", primary_key="id")
        with pytest.raises(RejectedEpoch, match="n is bigint, but in source it is numeric"):
            create("id BIGINT, n BIGINT", primary_key="id")
        with pytest.raises(RejectedEpoch, match="has no primary key, and source does not log old rows"):
            create("id BIGINT, n DECIMAL(10,2)")
        with pytest.raises(SqlError, match="is not that of source: id"):
            create("id BIGINT, n DECIMAL(10,2)", primary_key="n")
        with pytest.raises(SqlError, match="a password would be stored"):
            viewlet.postgres(f"{postgres} password=secret", "source")
        with pytest.raises(StoreError, match="nowhere"):
            db.create_table("t", "id BIGINT", source=viewlet.postgres(postgres, "nowhere"))
        assert db.tables == ()
        create("id BIGINT, n DECIMAL(10,2)", primary_key="id")
        session.execute("ALTER TABLE source ADD COLUMN more text")
        session.execute("INSERT INTO source VALUES (1, 1)")
        db.read_sources()
        session.execute("ALTER TABLE source DROP COLUMN n")
        session.execute("INSERT INTO source VALUES (2)")
        with pytest.raises(RejectedEpoch, match="has no column n"):
            db.read_sources()
        session.execute("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")
        with pytest.raises(StoreError, match="no longer has the changes"):
            db.read_sources()


def test_names_of_slots_and_publications(postgres: str, session: Any, tmp_path: Path) -> None:
    session.execute("CREATE TABLE source (id bigint PRIMARY KEY)")
    session.execute("CREATE PUBLICATION p FOR TABLE source")
    with viewlet.connect(tmp_path / "w") as db:
        options = "OPTIONS (publication = 'p', slot = 'shop')"
        db.sql(f"CREATE TABLE t (id BIGINT, PRIMARY KEY (id)) FROM POSTGRES '{postgres}' TABLE 'source' {options}")
        assert session.execute("SELECT slot_name FROM pg_replication_slots").fetchall() == [("shop_t",)]
        session.execute("INSERT INTO source VALUES (1)")
        db.read_sources()
        assert db.table("t").rows() == [(1,)]
        db.drop("t")
        assert session.execute("SELECT pubname FROM pg_publication").fetchall() == [("p",)], "it is not ours to drop"


def test_an_append_only_table_refuses_updates_and_deletions(postgres: str, session: Any, tmp_path: Path) -> None:
    session.execute("CREATE TABLE source (id bigint PRIMARY KEY)")
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", "id BIGINT", append_only=True, source=viewlet.postgres(postgres, "source"))
        session.execute("INSERT INTO source VALUES (1), (2)")
        db.read_sources()
        session.execute("DELETE FROM source WHERE id = 1")
        with pytest.raises(RejectedEpoch, match="append"):
            db.read_sources()
        assert sorted(db.table("t").rows()) == [(1,), (2,)]


def test_a_log_in_which_others_write_is_let_go(postgres: str, session: Any, tmp_path: Path) -> None:
    session.execute("CREATE TABLE source (id bigint PRIMARY KEY)")
    session.execute("CREATE TABLE other (long text)")
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", "id BIGINT", primary_key="id", source=viewlet.postgres(postgres, "source"))
        session.execute("INSERT INTO other SELECT md5(i::text) FROM generate_series(1, 20000) i")
        query = "SELECT pg_current_wal_flush_lsn() - confirmed_flush_lsn FROM pg_replication_slots"
        assert session.execute(query).fetchone()[0] > 1 << 20
        assert db.read_sources() == []
        assert session.execute(query).fetchone()[0] < 1 << 20
        session.execute("INSERT INTO source VALUES (7)")
        db.read_sources()
        assert db.table("t").rows() == [(7,)]


def _run_and_kill(warehouse: Path, session: Any, rng: random.Random) -> None:
    """Let another process read while the table changes, and kill it."""
    command = [sys.executable, "-m", "tests.source.folder_reader", str(warehouse)]
    reader = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert reader.stdout is not None
    reader.stdout.readline()
    end = time.monotonic() + rng.uniform(0, 0.15)
    while time.monotonic() < end:
        change(session, "source", rng)
    os.kill(reader.pid, signal.SIGKILL)
    reader.stdout.close()
    assert reader.wait() == -signal.SIGKILL, "the reader ended by itself"


@pytest.mark.parametrize("rounds", quickly(1, [2, 20]))
def test_killed_while_it_reads(rounds: int, postgres: str, session: Any, tmp_path: Path) -> None:
    rng = random.Random(rounds)
    make(session, "source")
    with viewlet.connect(tmp_path / "w") as db:
        source = viewlet.postgres(postgres, "source")
        db.create_table("t", SCHEMA, primary_key="id", source=source, read=False)
    for _ in range(rounds):
        _run_and_kill(tmp_path / "w", session, rng)
        with viewlet.connect(tmp_path / "w") as db:
            db.read_sources()
            assert held(db) == contents(session, "source")
