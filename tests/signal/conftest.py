"""What the tests of signals in a warehouse share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from viewlet.signal.operators import scans


@pytest.fixture(scope="module")
def close_checkpoints() -> Iterator[None]:
    """Checkpoints every few samples, so that short signals have many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scans, "CLOSEST", 4)
        patch.setattr(scans, "SHARE", 0)
        yield
