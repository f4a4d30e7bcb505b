"""A process killed at any moment leaves exactly the epochs that it committed, every view right, and no litter."""

from __future__ import annotations

import gc
import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import viewlet
from tests.crash_writer import Rows, replay
from tests.marks import quickly, rounds
from viewlet.views.view import sql_view

ROUNDS = rounds(4, 50)
VIEWS = {
    "totals": "SELECT grp, count(*) AS n, sum(price) AS total, sum(x) AS xs FROM items GROUP BY grp",
    "largest": "SELECT grp, max(price) AS top FROM items GROUP BY grp",
    "pairs": "SELECT t.grp, t.n, l.top FROM totals t LEFT JOIN largest l ON t.grp = l.grp",
    "cheap": "SELECT id, price FROM items WHERE price < 0",
}


def expected(rows: Rows) -> dict[str, list[tuple[Any, ...]]]:
    """The views, computed in the plainest way."""
    groups: dict[int, list[tuple[int, int, Decimal, float]]] = defaultdict(list)
    for row in rows.values():
        groups[row[1]].append(row)
    totals = [(g, len(r), sum((x[2] for x in r), Decimal(0)), sum(x[3] for x in r)) for g, r in groups.items()]
    largest = [(g, max(x[2] for x in r)) for g, r in groups.items()]
    pairs = [(g, n, dict(largest)[g]) for g, n, _, _ in totals]
    return {
        "totals": totals,
        "largest": largest,
        "pairs": pairs,
        "cheap": [(r[0], r[2]) for r in rows.values() if r[2] < 0],
    }


@pytest.fixture
def warehouse(tmp_path: Path, spark: Any) -> tuple[Path, int]:
    """A warehouse with an empty table and views, and the number of its first epoch of rows."""
    path = tmp_path / "w"
    with viewlet.connect(path, spark=spark) as db:
        db.sql("CREATE TABLE items (id BIGINT, grp INT, price DECIMAL(12,2), x DOUBLE, PRIMARY KEY (id))")
        for name, text in VIEWS.items():
            db.create_view(name, text)
        first = db.status()["epoch"] + 1
    return path, first


def run_and_kill(path: Path, first: int, seconds: float, module: str = "tests.crash_writer") -> int:
    """Let a writer run for some time and kill it; the last epoch that it said was committed, or 0."""
    command = [sys.executable, "-m", module, str(path), str(first)]
    root = Path(__file__).parent.parent
    writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root)
    assert writer.stdout is not None
    heard = writer.stdout.readline()
    time.sleep(seconds)
    os.kill(writer.pid, signal.SIGKILL)
    rest = writer.stdout.read()
    writer.stdout.close()
    assert writer.wait() == -signal.SIGKILL, "the writer ended by itself"
    numbers = [line for line in (heard + rest).split("\n")[:-1] if line]
    return int(numbers[-1]) if numbers else 0


@pytest.mark.spark
def test_kill_at_random_moments(warehouse: tuple[Path, int], spark: Any) -> None:
    path, first = warehouse
    rng = random.Random(7)
    last = first - 1
    for number in range(ROUNDS):
        said = run_and_kill(path, first, rng.uniform(0, 0.12)) or last
        with viewlet.connect(path, spark=spark) as db:
            last = db.status()["epoch"]
            assert last in (said, said + 1), f"round {number}: {said} was committed, {last} was found"
            _compare(db, replay(first, last))
            db._warehouse.store.clean()
            assert db._warehouse.store.orphans() == []
            if number % 10 == 9 or number == ROUNDS - 1:
                assert db.check().num_rows == 0
    assert last > first


def _compare(db: viewlet.Database, rows: Rows) -> None:
    assert sorted(db.table("items").rows()) == sorted(rows.values())
    for name, found in expected(rows).items():
        assert sorted(db.table(name).rows()) == sorted(found), name


@pytest.mark.spark
@pytest.mark.parametrize("damage", quickly(1, ["flip", "cut"]))
def test_damage_is_reported_by_name(warehouse: tuple[Path, int], damage: str) -> None:
    path, _ = warehouse
    for file in _files(path):
        whole = file.read_bytes()
        broken = whole[: len(whole) // 2] if damage == "cut" else whole[:1000] + bytes([whole[1000] ^ 1]) + whole[1001:]
        _put(file, broken)
        assert _problems(path) == [str(file)]
        with pytest.raises(viewlet.CorruptFile, match=file.name):
            _read_everything(path)
        _put(file, whole)
    assert _problems(path) == []


def _files(path: Path) -> list[Path]:
    """The data files of a warehouse with many rows."""
    with viewlet.connect(path) as db:
        db.insert("items", [(i, i % 5, Decimal(i % 9000), 0.5) for i in range(200_000)])
    with viewlet.connect(path, read_only=True) as db:
        refs = [ref for bag in _bags(db) for ref in db._warehouse.store.snapshot().contents(bag).refs()]
    files = sorted({path / ref.file for ref in refs if ref.file.startswith("data/")})
    assert {file.suffix for file in files} >= {".parquet", ".arrows"}
    return files


def _problems(path: Path) -> list[str]:
    with viewlet.connect(path, read_only=True) as db:
        return db.verify()


def _put(file: Path, contents: bytes) -> None:
    """Another file under the same name: one that is mapped must not shrink."""
    other = file.with_suffix(".other")
    other.write_bytes(contents)
    other.replace(file)


def _read_everything(path: Path) -> None:
    gc.collect()  # what this process has read and checked before is good, and stays good
    with viewlet.connect(path, read_only=True) as db:
        for bag in _bags(db):
            db._warehouse.store.snapshot().contents(bag).scan()


def _bags(db: viewlet.Database) -> list[str]:
    return [
        "items",
        "items.index",
        *(m.name for v in db.views for m in sql_view(db._warehouse.catalog, v).program.maps),
    ]
