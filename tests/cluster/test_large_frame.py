"""What the driver must not hold: a DataFrame of hundreds of megabytes, where it may be sent two."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[2]


def test_a_dataframe_larger_than_the_driver_may_hold(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.cluster.large_frame", str(tmp_path / "w"), "4000000"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=3000, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    shown = json.loads(done.stdout.splitlines()[-1])
    assert shown["rows"] == 4_000_000
