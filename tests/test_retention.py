"""The change feed: how long changes are kept, and from where one can read on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import viewlet
from viewlet import StoreError


@pytest.fixture
def db(tmp_path: Path) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", "a INT")
        yield db


def insert(db: viewlet.Database, count: int) -> int:
    """So many epochs of a row; the number of the last."""
    return [db.insert("t", [(i,)]) for i in range(count)][-1]


def kept(db: viewlet.Database) -> list[int]:
    """The epochs whose changes are kept."""
    changes: list[int] = db.table("t").changes()["_commit_version"].to_pylist()
    return changes


def test_changes_are_kept_for_so_many_epochs_and_then_say_from_where(db: viewlet.Database) -> None:
    assert db.retention.epochs == 1_000
    first = db.set_retention(epochs=5)
    last = insert(db, 20)
    assert kept(db) == [last - 4, last - 3, last - 2, last - 1, last]
    oldest = db.table("t").oldest
    assert oldest == last - 5
    assert db.table("t").changes(since=oldest).num_rows == 5
    with pytest.raises(StoreError, match=rf"from epoch {oldest} on, not from {first}.*changes\(since={oldest}\)"):
        db.table("t").changes(since=first)


def test_an_epoch_to_come_is_an_error(db: viewlet.Database) -> None:
    last = insert(db, 2)
    assert db.table("t").changes(since=last).num_rows == 0
    with pytest.raises(StoreError, match=f"epoch {last + 1} is yet to come: the last one is {last}"):
        db.table("t").changes(since=last + 1)


def test_changes_are_kept_for_so_long(db: viewlet.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    db.set_retention(age=timedelta(days=7))
    before = insert(db, 3)
    now = db._warehouse.store.state.time
    monkeypatch.setattr("viewlet.store.log.writer.time.time", lambda: now + 6 * 86_400)
    after = insert(db, 2)
    assert len(kept(db)) == 5
    monkeypatch.setattr("viewlet.store.log.writer.time.time", lambda: now + 8 * 86_400)
    assert kept(db)[0] < before
    insert(db, 1)
    assert kept(db) == [after - 1, after, after + 1]


def test_changes_are_kept_up_to_so_many_bytes_and_the_last_one_always(db: viewlet.Database) -> None:
    db.set_retention(bytes=2_000)
    last = insert(db, 30)
    assert 2 < len(kept(db)) < 20
    db.set_retention(bytes=1)
    last = insert(db, 2)
    assert kept(db) == [last]


@pytest.mark.parametrize("limits", [{}, {"epochs": 0}, {"age": timedelta(0)}, {"bytes": -1}])
def test_a_retention_that_keeps_nothing_is_refused(db: viewlet.Database, limits: dict[str, Any]) -> None:
    with pytest.raises(StoreError, match="how long"):
        db.set_retention(**limits)


def test_the_setting_and_the_feed_outlive_the_process(db: viewlet.Database) -> None:
    db.set_retention(epochs=3)
    last = insert(db, 300)  # enough that closing writes the whole state anew
    db.close()
    with viewlet.connect(db.path) as again:
        assert again.retention.epochs == 3
        assert kept(again) == [last - 2, last - 1, last]
        assert [record["epoch"] for record in again.history("t")][-1] == last
