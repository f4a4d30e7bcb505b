"""A table that a Delta or Iceberg table feeds holds what that table holds, after every version."""

from __future__ import annotations

import datetime as dt
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

import viewlet
from tests.marks import STRING_VIEWS, quickly
from viewlet.errors import RejectedEpoch, SqlError, StoreError

pytestmark = STRING_VIEWS
SCHEMA = "id BIGINT, name STRING, total DECIMAL(12,2), day DATE, at TIMESTAMP, ok BOOLEAN, x DOUBLE"
ARROW = pa.schema(
    [
        ("id", pa.int64()), ("name", pa.string()), ("total", pa.decimal128(12, 2)), ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")), ("ok", pa.bool_()), ("x", pa.float64()), ("more", pa.string()),
    ]
)  # fmt: skip


def rows_of(rng: random.Random, keys: list[int]) -> pa.Table:
    rows = [
        {
            "id": key,
            "name": rng.choice([None, "", "ünï", "plain"]),
            "total": rng.choice([None, Decimal("-12.34"), Decimal("9999999999.99")]),
            "day": rng.choice([None, dt.date(2026, 2, 28)]),
            "at": rng.choice([None, dt.datetime(2026, 2, 28, 12, 0, 0, 1, dt.UTC)]),
            "ok": rng.choice([None, True, False]),
            "x": rng.choice([None, 0.1, -0.0]),
            "more": "left alone",
        }
        for key in keys
    ]
    return pa.Table.from_pylist(rows, ARROW)


class DeltaLake:
    """A Delta table that changes."""

    def __init__(self, root: Path) -> None:
        self.path = str(root / "delta")
        settings = {"delta.enableChangeDataFeed": "true"}
        deltalake.DeltaTable.create(self.path, ARROW, configuration=settings)

    @property
    def source(self) -> Any:
        return viewlet.delta(self.path)

    def append(self, rows: pa.Table) -> None:
        deltalake.write_deltalake(self.path, rows, mode="append")

    def delete(self, condition: str) -> None:
        deltalake.DeltaTable(self.path).delete(condition)

    def update(self, key: int) -> None:
        deltalake.DeltaTable(self.path).update({"name": "'updated'"}, predicate=f"id = {key}")

    def rows(self) -> pa.Table:
        return pa.table(deltalake.DeltaTable(self.path).to_pyarrow_table())


class IcebergLake:
    """An Iceberg table that changes."""

    def __init__(self, root: Path) -> None:
        (root / "lake").mkdir()
        self.properties = {"type": "sql", "uri": f"sqlite:///{root}/catalog.db", "warehouse": f"file://{root}/lake"}
        self.catalog = load_catalog("test", **self.properties)
        self.catalog.create_namespace("db")
        self.catalog.create_table("db.source", ARROW)

    @property
    def source(self) -> Any:
        return viewlet.iceberg("test", "db.source", properties=self.properties)

    @property
    def table(self) -> Any:
        return self.catalog.load_table("db.source")

    def append(self, rows: pa.Table) -> None:
        self.table.append(rows)

    def delete(self, condition: str) -> None:
        self.table.delete(condition)

    def update(self, key: int) -> None:
        rows = self.table.scan(row_filter=f"id = {key}").to_arrow()
        if len(rows):
            names = pa.array(["updated"] * len(rows), pa.string())
            self.table.overwrite(rows.set_column(1, "name", names).cast(ARROW), overwrite_filter=f"id = {key}")

    def rows(self) -> pa.Table:
        return self.table.scan().to_arrow()


LAKES = [DeltaLake, IcebergLake]


def change(lake: Any, rng: random.Random) -> None:
    there = sorted(set(lake.rows()["id"].to_pylist()))
    match rng.choice(["append", "append", "delete", "update"]):
        case "append":
            lake.append(rows_of(rng, [key for key in rng.sample(range(40), 8) if key not in there]))
        case "delete" if there:
            lake.delete(f"id <= {rng.choice(there)}")
        case "update":
            lake.update(rng.randrange(40))


def held(rows: pa.Table) -> Counter[str]:
    return Counter(repr(list(row.values())) for row in rows.select(ARROW.names[:-1]).to_pylist())


@pytest.mark.parametrize("lake_of", LAKES)
@pytest.mark.parametrize("key", ["id", None])
@pytest.mark.parametrize("seed", quickly(1, range(10)))
def test_all_rows_then_every_version(seed: int, key: str | None, lake_of: Any, tmp_path: Path) -> None:
    rng, lake = random.Random(seed), lake_of(tmp_path)
    lake.append(rows_of(rng, [1, 2, 3]))
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", SCHEMA, primary_key=key, source=lake.source)
        assert held(db.table("t").arrow()) == held(lake.rows())
        for _ in range(6):
            for _ in range(rng.choice([1, 2])):
                change(lake, rng)
            db.read_sources()
            assert held(db.table("t").arrow()) == held(lake.rows())
            assert db.read_sources() == []


@pytest.mark.parametrize("lake_of", LAKES)
def test_rewritten_files_change_nothing(lake_of: Any, tmp_path: Path) -> None:
    """A deletion rewrites the file; only the row that goes is a change."""
    lake = lake_of(tmp_path)
    lake.append(rows_of(random.Random(1), list(range(50))))
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", SCHEMA, primary_key="id", source=lake.source)
        lake.delete("id = 7")
        db.read_sources()
        assert db.history()[-1]["tables"]["t"] == {"inserted": 0, "deleted": 1}
        assert 0 <= db.status()["tables"]["t"]["source"]["lag"] < 60


@pytest.mark.parametrize("lake_of", LAKES)
def test_bad_values(lake_of: Any, tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    lake.append(rows_of(random.Random(2), [1, 2]))
    kind = type(lake.source)
    source = kind(**{**lake.source.__dict__, "on_bad": "KEEP ASIDE"})
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", "id TINYINT, name STRING", primary_key="id", source=source)
        lake.append(rows_of(random.Random(3), [127, 128]))
        db.read_sources()
        assert sorted(row[0] for row in db.table("t").rows()) == [1, 2, 127]
        ((_, _, reason, record),) = db.table("t_bad").rows()
        assert reason == "id: 128 is out of the range of tinyint"
        assert record.startswith("(128, ")


def test_what_is_refused(tmp_path: Path) -> None:
    plain = str(tmp_path / "plain")
    deltalake.write_deltalake(plain, rows_of(random.Random(1), [1]))
    with viewlet.connect(tmp_path / "w") as db:
        with pytest.raises(StoreError, match="has no change data feed"):
            db.sql(f"CREATE TABLE t (id BIGINT) FROM DELTA '{plain}'")
        with pytest.raises(StoreError, match="nowhere"):
            db.sql(f"CREATE TABLE t (id BIGINT) FROM DELTA '{tmp_path}/nowhere'")
        lake = IcebergLake(tmp_path)
        with pytest.raises(RejectedEpoch, match=r"db\.source has no column y"):
            db.create_table("t", "id BIGINT, y INT", source=lake.source)
        with pytest.raises(SqlError, match="token would be stored"):
            viewlet.iceberg("test", "db.source", properties={"token": "x"})
        options = ", ".join(f"'{name}' = '{value}'" for name, value in lake.properties.items())
        db.sql(f"CREATE TABLE t (id BIGINT) FROM ICEBERG 'test' TABLE 'db.source' OPTIONS ({options})")
        lake.append(rows_of(random.Random(1), [5]))
        db.sql("REFRESH TABLE t")
        assert db.table("t").rows() == [(5,)]


def test_versions_that_are_gone_before_they_were_read_are_named(tmp_path: Path) -> None:
    lake = DeltaLake(tmp_path)
    lake.append(rows_of(random.Random(1), [1, 2]))
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", SCHEMA, primary_key="id", source=lake.source)
        lake.append(rows_of(random.Random(1), [3]))
        lake.delete("id = 3")
        table = deltalake.DeltaTable(lake.path)
        assert table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
        with pytest.raises(StoreError, match=r"no longer has what version \d changed: .*create it again"):
            db.read_sources()
        assert len(db.table("t")) == 2


def test_snapshots_that_expired_before_they_were_read_are_named(tmp_path: Path) -> None:
    lake = IcebergLake(tmp_path)
    lake.append(rows_of(random.Random(1), [1, 2]))
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", SCHEMA, primary_key="id", source=lake.source)
        read = lake.table.current_snapshot().snapshot_id
        lake.append(rows_of(random.Random(1), [3]))
        lake.table.maintenance.expire_snapshots().by_id(read).commit()
        with pytest.raises(StoreError, match=rf"no longer has snapshot {read}.*create it again"):
            db.read_sources()
        assert len(db.table("t")) == 2


def _run_and_kill(warehouse: Path, lake: Any, rng: random.Random) -> None:
    command = [sys.executable, "-m", "tests.source.folder_reader", str(warehouse)]
    reader = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert reader.stdout is not None
    reader.stdout.readline()
    end = time.monotonic() + rng.uniform(0, 0.5)
    while time.monotonic() < end:
        change(lake, rng)
    os.kill(reader.pid, signal.SIGKILL)
    reader.stdout.close()
    assert reader.wait() == -signal.SIGKILL, "the reader ended by itself"


@pytest.mark.parametrize("lake_of", LAKES)
@pytest.mark.parametrize("rounds", quickly(1, [1, 20]))
def test_killed_while_it_reads(rounds: int, lake_of: Any, tmp_path: Path) -> None:
    rng, lake = random.Random(rounds), lake_of(tmp_path)
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", SCHEMA, source=lake.source)
    for _ in range(rounds):
        _run_and_kill(tmp_path / "w", lake, rng)
        with viewlet.connect(tmp_path / "w") as db:
            db.read_sources()
            assert held(db.table("t").arrow()) == held(lake.rows())
