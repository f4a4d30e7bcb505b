"""One writer at a time on S3: leases, taking over, fencing off, and writers that are killed at any request."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.marks import some
from tests.storage.bags import MAP, TABLE, bag, commit, make
from tests.storage.server import Answer, Bucket, Environ
from tests.storage.test_s3 import LONG, TINY
from viewlet.errors import StoreError, WarehouseBusy
from viewlet.store import Store
from viewlet.store.log.objects.object_log import ObjectLog
from viewlet.store.storage.open_storage import open_storage

SHORT = replace(LONG, lease_seconds=2.0)


@pytest.fixture
def url(bucket: Bucket) -> str:
    return f"s3://{bucket.name}/w"


def stop_renewing(store: Store) -> None:
    """As if the process had been stopped, to go on later."""
    lease: Any = store._writing()._lock
    lease._ended.set()
    lease._thread.join()


def rows_of(url: str) -> dict[Any, int]:
    with Store.open(url, write=False) as store:
        return dict(bag(store.snapshot().contents("m").scan()))


def test_a_second_writer_is_told_who_writes(url: str) -> None:
    with Store.open(url) as store:
        commit(store, "m", make(k=[1], v=["a"]), MAP)
        with pytest.raises(WarehouseBusy, match=rf"process {os.getpid()} on \S+ is writing .*wait up to \d+ s"):
            Store.open(url)
        assert commit(store, "m", make(k=[2], v=["b"]), MAP) == 2
    with Store.open(url) as store:
        assert store.epoch == 2


def test_of_writers_that_come_at_once_one_gets_in(url: str) -> None:
    results: list[Store | StoreError] = []
    ready = threading.Barrier(4)

    def come() -> None:
        ready.wait()
        try:
            results.append(Store.open(url))
        except WarehouseBusy as refused:
            results.append(refused)

    comers = [threading.Thread(target=come) for _ in range(4)]
    for comer in comers:
        comer.start()
    for comer in comers:
        comer.join()
    (winner,) = [one for one in results if isinstance(one, Store)]
    assert len(results) == 4
    commit(winner, "m", make(k=[1], v=["a"]), MAP)
    winner.close()
    assert rows_of(url) == {(1, "a"): 1}


def test_an_expired_lease_is_taken_over_and_the_slow_writer_is_fenced_off(url: str) -> None:
    slow = Store.open(url, limits=SHORT)
    commit(slow, "m", make(k=[1], v=["a"]), MAP)
    stop_renewing(slow)
    with pytest.raises(WarehouseBusy):
        Store.open(url, limits=SHORT)
    time.sleep(SHORT.lease_seconds + 1.2)
    with Store.open(url, limits=SHORT) as quick:
        with pytest.raises(WarehouseBusy, match=r"has taken over .*nothing of this epoch was committed"):
            commit(slow, "m", make(k=list(range(500)), v=["lost"] * 500), MAP)
        commit(quick, "m", make(k=[2], v=["b"]), MAP)
        commit(quick, "t", make(k=list(range(500)), v=["x"] * 500), TABLE)
        with pytest.raises(StoreError):
            slow.begin()
        slow._writing()._sweep(0.0)
        slow.close()
        assert quick.verify() == []
        commit(quick, "m", make(k=[3], v=["c"]), MAP)
    assert rows_of(url) == {(1, "a"): 1, (2, "b"): 1, (3, "c"): 1}


@pytest.mark.slow
def test_a_slow_writer_removes_nothing_of_its_successor(url: str, bucket: Bucket) -> None:
    slow = Store.open(url, limits=SHORT)
    commit(slow, "m", make(k=[1], v=["a"]), MAP)
    stop_renewing(slow)
    time.sleep(SHORT.lease_seconds + 1.2)
    with Store.open(url, limits=SHORT) as quick:
        commit(quick, "t", make(k=list(range(500)), v=["x"] * 500), TABLE)
        before = bucket.names()
        assert slow.clean() == []
        assert bucket.names() == before
        assert quick.verify() == []
    slow.close()


@pytest.mark.slow
def test_a_commit_that_slips_in_while_another_takes_over_is_kept(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Store.open(url, limits=SHORT)
    commit(slow, "m", make(k=[1], v=["a"]), MAP)
    stop_renewing(slow)
    time.sleep(SHORT.lease_seconds + 1.2)
    fence: Callable[[ObjectLog], None] = ObjectLog._fence

    def late(log: ObjectLog) -> None:
        commit(slow, "m", make(k=[2], v=["b"]), MAP)
        fence(log)

    monkeypatch.setattr(ObjectLog, "_fence", late)
    with Store.open(url, limits=SHORT) as quick:
        assert quick.epoch == 2
        with pytest.raises(WarehouseBusy):
            commit(slow, "m", make(k=[3], v=["c"]), MAP)
    assert rows_of(url) == {(1, "a"): 1, (2, "b"): 1}
    slow.close()


def test_a_server_without_put_if_absent_is_refused(url: str, bucket: Bucket) -> None:
    def careless(environ: Environ) -> Answer | None:
        environ.pop("HTTP_IF_NONE_MATCH", None)
        return None

    bucket.server.fault = careless
    with pytest.raises(StoreError, match="replaces objects that are to be made only once"):
        Store.open(url)


def test_of_all_who_create_an_object_one_succeeds(url: str) -> None:
    storage: Any = open_storage(url)
    made: list[bool] = []
    threads = [
        threading.Thread(target=lambda i=i: made.append(storage.create("log/1", str(i).encode()))) for i in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == [False] * 7 + [True]


# Epoch n adds n rows to both bags; the process is killed before, during or after its request of some number.
WRITER = """
import itertools, os, signal, sys
import numpy as np, pyarrow as pa
from viewlet.columns.rows import Rows
from viewlet.store import Layout, Limits, Store
from viewlet.store.storage.s3 import S3Bucket

numbers, last, after = itertools.count(1), int(sys.argv[2]), sys.argv[3] == "after"

def deadly(request):
    def call(*arguments):
        is_last = next(numbers) == last
        if is_last and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            return request(*arguments)
        finally:  # a request that is refused was answered, too
            if is_last:
                os.kill(os.getpid(), signal.SIGKILL)
    return call

for name in ("get", "fetch", "put", "create", "list", "remove"):
    setattr(S3Bucket, name, deadly(getattr(S3Bucket, name)))
limits = Limits(inline_bytes=3_000, segment_records=6, fan=2, first_level_rows=4, commit_merge_rows=40, recent_rows=30)
MAP, TABLE = Layout(("k", "v"), ("k",)), Layout(("k", "v"), (), form="table")
with Store.open(sys.argv[1], limits=limits) as store:
    while True:
        n = store.epoch + 1
        count = 150 if n % 4 == 0 else 2
        rows = Rows({"k": pa.array(range(n * 1000, n * 1000 + count)), "v": pa.array(["x"] * count)}, np.ones(count, "i8"))
        with store.begin() as transaction:
            transaction.append("m", rows, MAP)
            transaction.append("t", rows, TABLE)
            transaction.commit({})
        print(n, flush=True)
        store.settle()
"""


def killed(url: str, request: int, when: str) -> int:
    """The last epoch that a writer told of before it was killed at its request of that number; 0 if none."""
    command = [sys.executable, "-c", WRITER, url, str(request), when]
    told = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=120, check=False)
    assert told.returncode == -9
    return int(told.stdout.split()[-1]) if told.stdout else 0


def expected(epoch: int) -> dict[Any, int]:
    counts = {n: 150 if n % 4 == 0 else 2 for n in range(1, epoch + 1)}
    return {(n * 1000 + i, "x"): 1 for n, count in counts.items() for i in range(count)}


def check_killed(url: str, requests: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each kill: what was told of is there, at most one epoch more, and nothing half."""
    before = 0
    for i, request in enumerate(requests):
        told = max(killed(url, request, "after" if i % 2 else "before"), before)
        monkeypatch.setenv("VIEWLET_CACHE", str(tmp_path / f"cache-{i}"))
        with Store.open(url, limits=TINY) as store:
            assert store.epoch in (told, told + 1)
            before = store.epoch
            for name in ("m", "t") if before else ():
                assert dict(bag(store.snapshot().contents(name).scan())) == expected(before)
            assert store.verify() == []
            store.clean()
            assert store.verify() == []


@pytest.mark.slow
def test_a_writer_that_is_killed_loses_nothing(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_killed(url, some(2, [17, 34]), tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_a_writer_may_be_killed_at_any_request(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    requests = [number for number in range(1, 61) if number % 4 == part]
    random.Random(part).shuffle(requests)
    check_killed(url, requests, tmp_path, monkeypatch)
