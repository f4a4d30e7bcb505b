"""The object store of the tests, for the pages that speak of one."""

from __future__ import annotations

from tests.storage.conftest import bucket, server

__all__ = ["bucket", "server"]
