"""What breaks on a cluster while an epoch runs loses nothing and applies nothing twice: a round of each kind of fault.

`python -m tests.cluster.faults` plays as many as one likes, and writes docs/cluster-faults.md.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.faults import rounds

pytestmark = [pytest.mark.cluster, pytest.mark.spark, pytest.mark.slow]


@pytest.mark.parametrize("place", ["folder", "s3"])
def test_faults_change_nothing(place: str, spark: Any, tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    sys.stdout.write(f"seed {seed}\n")
    with rounds(spark, tmp_path / "c", place, seed) as playing:
        kinds = playing.trouble.kinds(place)
        failed = {kind: playing.play(kind).failed for kind in kinds}
    assert failed["kill executor"] + failed["kill worker"] + failed["run twice"] > 0, "no task was tried again"
