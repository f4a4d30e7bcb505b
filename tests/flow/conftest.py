"""What the tests of flows share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import viewlet


@pytest.fixture
def db(tmp_path: Path) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "w", durability=1000) as opened:
        yield opened
