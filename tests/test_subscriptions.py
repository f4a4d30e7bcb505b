"""Callbacks are told each epoch's changes once, in order, on a thread of their own; what raises ends."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import viewlet
from viewlet import StoreError, UnknownName


def told(changes: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values())[:-1] for row in changes.to_pylist()]


def test_every_epoch_is_told_once_in_order(tmp_path: Path) -> None:
    seen: list[list[tuple[Any, ...]]] = []
    threads: set[threading.Thread] = set()

    def note(changes: pa.Table) -> None:
        threads.add(threading.current_thread())
        seen.append(told(changes))

    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", "id INT, x INT", primary_key="id")
        db.create_table("other", "id INT")
        first = db.insert("t", [(0, 0)])
        subscription = db.subscribe("T", note, since=first - 1)
        numbers = [db.insert("t", [(i, i)]) for i in range(1, 30)]
        db.insert("other", [(1,)])
        last = db.upsert("t", [(1, 100)])
        subscription.wait(60)
        assert seen[:-1] == [[(i, i, "insert", number)] for i, number in enumerate([first, *numbers])]
        assert sorted(seen[-1]) == [(1, 1, "update_preimage", last), (1, 100, "update_postimage", last)]
        assert threads.isdisjoint({threading.main_thread()})
        assert len(threads) == 1
        assert repr(subscription) == f"<subscription to t, active, at epoch {last}>"
        subscription.cancel()
        db.insert("t", [(99, 99)])
        subscription.wait(60)
        assert len(seen) == 31
        with pytest.raises(UnknownName):
            db.subscribe("nothing", note)
        db.subscribe("t", note)
        db.insert("t", [(100, 100)])  # closing waits for what is due
    assert seen[-1][0][:2] == (100, 100)


def test_a_callback_may_change_the_warehouse(tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", "id INT")
        db.create_table("copy", "id INT")
        copied = db.subscribe("t", lambda changes: db.insert("copy", changes.select(["id"])))
        counted: list[int] = []
        db.subscribe("copy", lambda changes: counted.append(changes.num_rows))
        for i in range(5):
            with db.epoch() as e:
                e.insert("t", [(i,), (i,)])
        copied.wait(60)
        copied.wait(60)
        assert sorted(db.table("copy")) == sorted(db.table("t"))
        assert counted == [2] * 5


def test_a_callback_that_raises_ends_and_can_go_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[int] = []
    committed = threading.Event()

    def fail_at_two(changes: pa.Table) -> None:
        if changes["id"][0].as_py() == 2:
            committed.wait(60)  # so that more is to be told when it fails
            raise ValueError("two")
        seen.append(changes["id"][0].as_py())

    with viewlet.connect(tmp_path / "w") as db, caplog.at_level(logging.ERROR, "viewlet"):
        db.create_table("t", "id INT")
        subscription = db.subscribe("t", fail_at_two)
        numbers = [db.insert("t", [(i,)]) for i in range(4)]
        committed.set()
        subscription.wait(60)
        assert seen == [0, 1]
        assert (repr(subscription.error), subscription.is_active, subscription.epoch) == (
            "ValueError('two')",
            False,
            numbers[1],
        )
        assert "the subscription to t ends at epoch" in caplog.text
        again = db.subscribe("t", lambda changes: seen.append(-changes["id"][0].as_py()), since=subscription.epoch)
        again.wait(60)
        assert seen == [0, 1, -2, -3]
        db.add_columns("t", "x INT")  # the feed begins anew
        again.wait(60)
        assert isinstance(again.error, StoreError)
    with viewlet.connect(tmp_path / "w", read_only=True) as reader:
        waiting = reader.subscribe("t", lambda changes: seen.extend(changes["id"].to_pylist()))
        with viewlet.connect(tmp_path / "w") as db:
            db.insert("t", [(7, 7)])
        reader.refresh()
        waiting.wait(60)
    assert seen[-1] == 7
