"""Any file of a warehouse, cut, altered or removed: what is read is right, or an error names the file.

What must be read is kept by the test itself.
"""

from __future__ import annotations

import gc
import random
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import viewlet
from tests.crash_writer import Rows, changes
from tests.marks import rounds
from tests.test_crash import VIEWS, expected
from viewlet import CorruptFile
from viewlet.store import Limits, TableContents
from viewlet.views.view import sql_view

pytestmark = pytest.mark.spark

REST = 30_000_000
"""Nanoseconds that are more than a tick here."""
SMALL = partial(
    Limits, inline_bytes=2_000, inline_most=2_000, recent_rows=200, segment_records=12, fan=2, first_level_rows=16
)
"""Limits with which a few epochs make files of every kind, and several segments of the log."""


@dataclass(frozen=True)
class Warehouse:
    """A warehouse that is closed, and the rows of its table."""

    root: Path
    rows: Rows


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> Iterator[Warehouse]:
    root = tmp_path_factory.mktemp("damage") / "w"
    rows: Rows = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("viewlet.store.store.Limits", SMALL)
        with viewlet.connect(root, spark=spark) as db:
            db.sql("CREATE TABLE items (id BIGINT, grp INT, price DECIMAL(12,2), x DOUBLE, PRIMARY KEY (id))")
            for name, text in VIEWS.items():
                db.create_view(name, text)
            for number in range(40):
                rows = epoch(db, number, rows)
                db._warehouse.store.settle()
            db._warehouse.store.clean()  # so that every file matters
        yield Warehouse(root, rows)


def epoch(db: viewlet.Database, number: int, rows: Rows) -> Rows:
    """Run an epoch; the rows after it."""
    inserted, gone, changed = changes(number, rows)
    with db.epoch() as e:
        e.insert("items", inserted)
        e.delete("items", [{"id": i} for i in gone])
        e.upsert("items", changed)
    return {i: r for i, r in rows.items() if i not in gone} | {r[0]: r for r in (*changed, *inserted)}


def compare(db: viewlet.Database, rows: Rows) -> None:
    assert sorted(db.table("items").rows()) == sorted(rows.values())
    for name, found in expected(rows).items():
        assert sorted(db.table(name).rows()) == sorted(found), name


def files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file())


def do_damage(file: Path, chance: random.Random) -> str:
    """Damage a file in some way; what was done."""
    data = bytearray(file.read_bytes())
    match chance.choice(["remove", "empty", "cut", "flip", "zeros"]):
        case "remove":
            file.unlink()
            return "removed"
        case "empty":
            data.clear()
        case "cut":
            del data[chance.randrange(len(data)) :]
        case "flip":
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        case _:
            at = chance.randrange(len(data))
            data[at : at + 512] = bytes(len(data[at : at + 512]))
    file.write_bytes(data)
    return f"{len(data)} bytes left"


def use(root: Path, rows: Rows, number: int) -> None:
    """Read everything, and every second time write, too."""
    with viewlet.connect(root, read_only=number % 2 == 0) as db:
        compare(db, rows)
        db.table("items").changes()
        if not db.read_only:
            compare(db, epoch(db, 1_000, rows))


def use_before(root: Path, rows: Rows) -> None:
    """Let a warehouse remember which of its files are whole, and let go of them: no file that is open is damaged."""
    time.sleep(2 * REST / 1e9)
    with patch("viewlet.store.storage.verified._REST", REST), viewlet.connect(root) as db:
        compare(db, rows)
    del db
    gc.collect()


def run_cases(warehouse: Warehouse, folder: Path, numbers: range) -> int:
    """Damage a file of a copy of a warehouse at random, case by case; how many were noticed."""
    noticed = 0
    for number in numbers:
        chance = random.Random(number)
        root = folder / str(number)
        shutil.copytree(warehouse.root, root)
        if number % 3 == 0:
            use_before(root, warehouse.rows)
        file = chance.choice(files(root))
        done = do_damage(file, chance)
        try:
            use(root, warehouse.rows, number)
        except viewlet.StoreError as error:
            noticed += 1
            if str(file) not in str(error):
                pytest.fail(f"case {number}, {file} {done}, is not named: {error}")
        except AssertionError as wrong:
            raise AssertionError(f"case {number}: {file}, {done}, gave another answer") from wrong
        shutil.rmtree(root)
    return noticed


def test_the_warehouse_has_files_of_every_kind(warehouse: Warehouse) -> None:
    kinds = [path.suffix for path in files(warehouse.root)]
    assert kinds.count(".log") > 1
    assert kinds.count(".arrows") > 2
    assert kinds.count(".parquet") > 1
    use(warehouse.root, warehouse.rows, 0)


def test_damage_is_harmless_or_named(warehouse: Warehouse, tmp_path: Path) -> None:
    assert run_cases(warehouse, tmp_path, range(rounds(12, 30))) > rounds(4, 12)


@pytest.mark.slow
def test_damage_is_harmless_or_named_in_300_cases(warehouse: Warehouse, tmp_path: Path) -> None:
    assert run_cases(warehouse, tmp_path, range(300)) > 120


@pytest.mark.parametrize("damage", ["empty", "cut", "flip", "remove"])
def test_spark_is_not_given_a_damaged_file(warehouse: Warehouse, tmp_path: Path, spark: Any, damage: str) -> None:
    """In a process that has read the file before, and goes on when it is whole again."""
    root = tmp_path / "w"
    shutil.copytree(warehouse.root, root)
    with viewlet.connect(root, spark=spark) as db:
        assert db.sql("SELECT count(*) AS n FROM items")["n"].to_pylist() == [len(warehouse.rows)]
        items = db._warehouse.store.snapshot().contents("items")
        assert isinstance(items, TableContents)
        (first, *_) = items.positive_files()
        file, whole = Path(first), Path(first).read_bytes()
        file.unlink()
        if damage != "remove":
            kept = {"empty": b"", "cut": whole[:-100], "flip": whole[:200] + bytes([whole[200] ^ 1]) + whole[201:]}
            file.write_bytes(kept[damage])
        for reading in (
            lambda: db.sql("SELECT count(*) AS n FROM items"),
            lambda: db.table("items").spark().count(),
            lambda: db.sql("DELETE FROM items WHERE price < 0"),
            lambda: db.check("totals"),
        ):
            with pytest.raises(CorruptFile, match=file.name):
                reading()
        file.write_bytes(whole)
        assert db.table("items").spark().count() == len(warehouse.rows)
        assert db.check("totals").num_rows == 0


def test_a_task_of_spark_names_a_damaged_file(warehouse: Warehouse, tmp_path: Path, spark: Any) -> None:
    root = tmp_path / "w"
    shutil.copytree(warehouse.root, root)
    with viewlet.connect(root, read_only=True) as db:
        maps = [m.name for m in sql_view(db._warehouse.catalog, "largest").program.maps]
        refs = [ref for name in maps for ref in db._warehouse.store.snapshot().contents(name).refs()]
    damaged = {ref.file for ref in refs if ref.file.startswith("data/")}
    assert damaged
    for file in damaged:
        (root / file).write_bytes((root / file).read_bytes()[:-1])
    with viewlet.connect(root, spark=spark, engine="spark") as db:
        with pytest.raises(CorruptFile, match=r"\.arrows has [\d,]+ bytes where"):
            db.insert("items", [(-1 - g, g, Decimal(1), 0.5) for g in range(7)])
        assert sorted(db.table("items").rows()) == sorted(warehouse.rows.values())


def test_the_name_of_a_view_is_no_proof_of_an_epoch(tmp_path: Path, spark: Any) -> None:
    """The files that tasks write are not named after views, which may be called anything."""
    with viewlet.connect(tmp_path / "w", spark=spark, engine="spark") as db:
        db.create_table("t", "a INT")
        db.create_view("2026", "SELECT count(*) AS n FROM t")
        db.create_view("a/b", "SELECT a FROM t WHERE a > 1")
        db.insert("t", [(1,), (2,)])
    with viewlet.connect(tmp_path / "w", read_only=True) as db:
        assert db.table("2026").rows() == [(2,)]
        assert db.table("a/b").rows() == [(2,)]
