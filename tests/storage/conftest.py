"""A bucket for each test, on one server for the run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.storage.server import Bucket, S3Server, credentials


@pytest.fixture(scope="session")
def server() -> Iterator[S3Server]:
    running = S3Server()
    yield running
    running.stop()


@pytest.fixture
def bucket(server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """An empty bucket that the environment leads to, and a cache of its own."""
    for name, value in credentials(server).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("VIEWLET_CACHE", str(tmp_path / "cache"))
    yield Bucket(server, f"b{uuid4().hex}")
    server.fault = lambda environ: None
