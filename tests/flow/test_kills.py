"""A flow that is killed in the middle goes on where it was: nothing is lost, nothing is done twice."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import viewlet
from tests.flow.kill_writer import make
from tests.flow.test_programs import persons_of


def run_and_kill(path: Path, increments: int, seconds: float) -> None:
    """Let a process run flows for some increments and a little longer, and kill it."""
    command = [sys.executable, "-m", "tests.flow.kill_writer", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(increments):
            assert process.stdout.readline() == "done\n"
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL


def check(path: Path) -> int:
    """Finish what was under way, and compare with what must come of the tables; how many epochs there were."""
    with viewlet.connect(path) as db:
        db.run_flow("who")
        db.run_flow("hopping")
        assert dict(db.table("persons").rows()) == persons_of(db.table("people").rows())
        hops, logged = Counter(db.table("hops").rows()), Counter(db.table("hop_log").rows())
        assert logged <= hops
        assert (hops - logged).total() == hops.total() % 2, "an increment has two rows"
        rounds = sum(n for _, n in db.table("hopping_hop").rows())
        assert rounds == sum((1 + rounds) * n for (_, _, rounds), n in hops.items())
        return int(db.status()["epoch"])


def kill_often(path: Path, times: int, seed: int) -> None:
    make(str(path))
    rng = random.Random(seed)
    for _ in range(times):
        run_and_kill(path, rng.randint(1, 4), rng.uniform(0, 0.1))
    assert check(path) > 5 * times, "each increment runs several stages"


def test_flows_survive_kills(tmp_path: Path) -> None:
    kill_often(tmp_path / "w", 2, seed=1)


@pytest.mark.slow
def test_flows_survive_many_kills(tmp_path: Path) -> None:
    kill_often(tmp_path / "w", 50, seed=2)
