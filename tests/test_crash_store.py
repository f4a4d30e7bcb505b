"""Kill the writing process at random moments: what it was told is committed is there, and nothing half."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.marks import rounds
from viewlet.columns.rows import Rows
from viewlet.store import Limits, Store

LIMITS = Limits(
    inline_bytes=3_000, segment_bytes=20_000, fan=2, first_level_rows=4, commit_merge_rows=40, recent_rows=30
)

# Epoch n adds n to both bags, in rows of weight one, and says so when the commit has returned.
WRITER = """
import sys
import numpy as np, pyarrow as pa
from viewlet.columns.rows import Rows
from viewlet.store import Layout, Limits, Store

limits = Limits(inline_bytes=3_000, segment_bytes=20_000, fan=2, first_level_rows=4, commit_merge_rows=40, recent_rows=30)
MAP = Layout(("k", "v"), ("k",), indexes=(("v",),), feed=True)
TABLE = Layout(("k", "v"), (), form="table")
with Store.open(sys.argv[1], limits=limits, durability=sys.argv[2] if sys.argv[2] == "epoch" else int(sys.argv[2])) as store:
    while True:
        n = store.epoch + 1
        size = 200 if n % 10 == 0 else 2
        keys = np.concatenate([np.full(size, n), np.full(size - 1, n - 1)])
        weights = np.concatenate([np.ones(size, "i8"), -np.ones(size - 1, "i8")]) if n % 2 else np.ones(2 * size - 1, "i8")
        rows = Rows({"k": pa.array(keys), "v": pa.array([str(k % 7) for k in keys])}, weights)
        with store.begin() as transaction:
            transaction.append("m", rows, MAP)
            transaction.append("t", rows, TABLE)
            transaction.put("n", n)
            transaction.commit({"n": n, "total": int(weights.sum())})
        print(n, flush=True)
"""


def total(rows: Rows) -> int:
    return int(rows.weights.sum())


@pytest.mark.parametrize(("durability", "count"), [("epoch", rounds(4, 10)), ("5", rounds(2, 5))])
def test_killed_writer_loses_nothing(tmp_path: Path, durability: str, count: int) -> None:
    chance = random.Random(7)
    expected: dict[int, int] = {}
    for _ in range(count):
        command = [sys.executable, "-c", WRITER, str(tmp_path / "w"), durability]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.25))
        process.kill()
        told = [int(line) for line in (first + process.communicate()[0]).split("\n")[:-1]]
        with Store.open(tmp_path / "w", limits=LIMITS) as store:
            # a record may be whole before its writer could say so; none that it told of is missing
            assert store.epoch in (told[-1], told[-1] + 1)
            assert store.catalog["n"] == store.epoch
            expected.update({record["epoch"]: record["total"] for record in store.history()})
            for name in ("m", "t"):
                assert total(store.snapshot().contents(name).scan()) == sum(expected.values())
            assert [total(rows) for _, _, rows in store.feed("m", max(expected) - len(store.history()))] == [
                record["total"] for record in store.history()
            ]
            assert store.verify() == []
            store.clean()
            assert store.orphans() == []
    assert len(expected) == max(expected)
