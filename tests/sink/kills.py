"""Killing what sends to sinks."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path


def run_and_kill(warehouse: Path, rng: random.Random, sink: str, *arguments: str) -> None:
    """Let another process change a table and send it on, and kill it."""
    command = [sys.executable, "-m", "tests.sink.sender", str(warehouse), sink, *arguments]
    sender = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert sender.stdout is not None
    assert sender.stdout.readline() == "ready\n"
    time.sleep(rng.uniform(0, 0.2))
    os.kill(sender.pid, signal.SIGKILL)
    sender.stdout.close()
    assert sender.wait() == -signal.SIGKILL, "the sender ended by itself"
