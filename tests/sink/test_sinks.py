"""What a sink was given, added up, is the view, whatever is interrupted between any two steps."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import viewlet
from tests.sink.kills import run_and_kill
from tests.sink.sender import make_table, send
from viewlet.errors import StoreError
from viewlet.sink.keyed_changes import COME
from viewlet.store.transaction import Transaction


@pytest.fixture
def db(tmp_path: Path) -> Any:
    with viewlet.connect(tmp_path / "w") as opened:
        opened.sql("CREATE TABLE t (id BIGINT, x STRING)")
        opened.insert("t", [(1, "a"), (2, "b"), (2, "b")])
        yield opened


def added_up(tables: list[pa.Table]) -> Counter[tuple[Any, ...]]:
    """The rows that come, less those that go."""
    total: Counter[tuple[Any, ...]] = Counter()
    for row in (row for table in tables for row in table.to_pylist()):
        total[row["id"], row["x"]] += 1 if row["_change_type"] in COME else -1
    return +total


def in_folder(folder: Path) -> list[pa.Table]:
    return [pq.ParquetFile(file).read() for file in sorted(folder.glob("*.parquet"))]


def change(db: viewlet.Database, number: int) -> None:
    with db.epoch() as epoch:
        epoch.delete("t", [db.table("t").rows()[0]])
        epoch.insert("t", [(number, "new"), (number + 1, "new")])


def test_a_folder_follows_and_catches_up(db: viewlet.Database, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert len(db.export("t", out)) == 1
    assert db.export("t", out) == []
    for number in (10, 20, 30):
        change(db, number)
    assert len(db.export("t", out)) == 3
    assert added_up(in_folder(out)) == Counter(db.table("t").rows())


def test_a_folder_follows_one_view_of_one_warehouse(db: viewlet.Database, tmp_path: Path) -> None:
    out = tmp_path / "out"
    db.export("t", out)
    db.sql("CREATE TABLE u (id BIGINT, x STRING)")
    with pytest.raises(StoreError, match=r"out follows t .hint"):
        db.export("u", out)
    with viewlet.connect(tmp_path / "other") as other:
        other.sql("CREATE TABLE t (id BIGINT, x STRING)")
        with pytest.raises(StoreError, match="out follows t of another warehouse"):
            other.export("t", out)
    (out / ".viewlet").unlink()
    with pytest.raises(StoreError, match="of unknown origin"):
        db.export("t", out)


class Cut:
    """A step that can be done so many times, together with others that share the count."""

    def __init__(self, step: Callable[..., Any], left: list[int]) -> None:
        self.step, self.left = step, left

    def __call__(self, *arguments: Any) -> Any:
        self.left[0] -= 1
        if self.left[0] < 0:
            raise InterruptedError
        return self.step(*arguments)


@pytest.mark.parametrize("steps", range(4))
def test_an_export_that_ends_anywhere_goes_on(
    steps: int, db: viewlet.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two files of two steps each, writing and putting it in its place, are cut after any of them."""
    out, left = tmp_path / "out", [steps]
    db.export("t", out)
    for number in (10, 20):
        change(db, number)
    with monkeypatch.context() as patched:
        patched.setattr("viewlet.sink.parquet_folder.os.replace", Cut(os.replace, left))
        patched.setattr("viewlet.sink.parquet_folder.os.fsync", Cut(os.fsync, left))
        with pytest.raises(InterruptedError):
            db.export("t", out)
    db.export("t", out)
    assert added_up(in_folder(out)) == Counter(db.table("t").rows())
    assert len(in_folder(out)) == 3


def test_receivers_are_called_once_for_each_epoch(db: viewlet.Database) -> None:
    had: dict[str, list[pa.Table]] = {"a": [], "b": []}
    for number in (10, 20):
        assert db.deliver("t", "a", lambda _, changes: had["a"].append(changes)) == 1
        assert db.deliver("t", "a", lambda *_: pytest.fail("there is nothing new")) == 0
        change(db, number)
    db.deliver("t", "a", lambda _, changes: had["a"].append(changes))
    db.deliver("t", "b", lambda _, changes: had["b"].append(changes))
    for tables in had.values():
        assert added_up(tables) == Counter(db.table("t").rows())


def test_a_call_whose_commit_is_lost_is_made_again_with_the_same_epoch(
    db: viewlet.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    had: dict[int, pa.Table] = {}  # by the epoch's number: so a receiver has each once
    db.deliver("t", "a", had.__setitem__)
    change(db, 10)

    def lost(*_: Any) -> int:
        raise InterruptedError

    with monkeypatch.context() as patched:
        patched.setattr(Transaction, "commit", lost)
        with pytest.raises(InterruptedError):
            db.deliver("t", "a", had.__setitem__)
    assert len(had) == 2
    assert db.deliver("t", "a", had.__setitem__) == 1
    assert len(had) == 2
    assert added_up(list(had.values())) == Counter(db.table("t").rows())


@dataclass(frozen=True)
class FileForEachEpoch:
    """A receiver that has each epoch once, whatever it is called how often."""

    folder: Path

    def __call__(self, epoch: int, changes: pa.Table) -> None:
        hidden = self.folder / f".{epoch}"
        pq.write_table(changes, hidden)
        os.replace(hidden, self.folder / f"{epoch:06d}.parquet")


def exported(folder: str) -> list[tuple[str, Any]]:
    return [("t", Path(folder))]


def received(folder: str) -> list[tuple[str, Any]]:
    Path(folder).mkdir(exist_ok=True)
    return [("t", FileForEachEpoch(Path(folder)))]


@pytest.mark.slow
@pytest.mark.parametrize("sinks", [exported, received])
def test_killed_while_it_sends(sinks: Any, tmp_path: Path) -> None:
    """What the files say, added up, is the table: no epoch is missing, none is there twice."""
    rng, out = random.Random(20), str(tmp_path / "out")
    with viewlet.connect(tmp_path / "w") as db:
        make_table(db)
    for _ in range(20):
        run_and_kill(tmp_path / "w", rng, f"tests.sink.test_sinks:{sinks.__name__}", out)
        with viewlet.connect(tmp_path / "w") as db:
            for name, place in sinks(out):
                send(db, name, place)
            total: Counter[tuple[Any, ...]] = Counter()
            for row in (row for table in in_folder(Path(out)) for row in table.to_pylist()):
                came = row["_change_type"] in COME
                total[tuple(row[name] for name in ("id", "g", "v", "note"))] += 1 if came else -1
            assert {row: n for row, n in total.items() if n} == Counter(db.table("t").rows())


def test_changes_that_are_no_longer_kept_are_an_error(db: viewlet.Database, tmp_path: Path) -> None:
    db.export("t", tmp_path / "out")
    db.deliver("t", "a", lambda *_: None)
    db.set_retention(epochs=1)
    for number in (10, 20, 30):
        change(db, number)
    with pytest.raises(StoreError, match="its changes are kept only from epoch"):
        db.export("t", tmp_path / "out")
    with pytest.raises(StoreError, match="a received t up to epoch"):
        db.deliver("t", "a", lambda *_: None)
