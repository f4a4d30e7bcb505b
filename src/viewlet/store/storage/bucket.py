"""The interface of an object store, and retries of requests that fail temporarily.

Errors are those of files: FileNotFoundError, FileExistsError, PermissionError. A ConnectionError or TimeoutError may be
temporary, and leaves open whether the request was carried out; any other OSError is permanent.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from viewlet.store.storage.storage import Entry

T = TypeVar("T")
_ATTEMPTS = 7
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 3.0
"""In seconds; pauses double from one attempt to the next, with jitter."""


class Bucket(Protocol):
    """Objects by key. Each request is atomic."""

    def get(self, key: str) -> bytes: ...

    def fetch(self, key: str, path: Path) -> None:
        """Write an object to a new local file."""

    def put(self, key: str, data: bytes | Path) -> None:
        """Create or replace an object, given its bytes or a file."""

    def create(self, key: str, data: bytes) -> None:
        """Create an object if it does not exist, else raise FileExistsError: of concurrent calls, one succeeds."""

    def list(self, prefix: str, after: str = "") -> dict[str, Entry]:
        """The objects whose keys begin with `prefix` and sort after `after`; times are by this machine's clock."""

    def remove(self, keys: Sequence[str]) -> None:
        """Remove objects, which need not exist."""


class PatientBucket:
    """A bucket that retries requests, a bounded number of times, while the server fails or cannot be reached."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def get(self, key: str) -> bytes:
        return _patiently(lambda: self._bucket.get(key))

    def fetch(self, key: str, path: Path) -> None:
        _patiently(lambda: self._bucket.fetch(key, path))

    def put(self, key: str, data: bytes | Path) -> None:
        _patiently(lambda: self._bucket.put(key, data))

    def create(self, key: str, data: bytes) -> None:
        """As above; an object created by an earlier attempt, whose answer was lost, is recognized by its bytes."""
        try:
            _patiently(lambda: self._bucket.create(key, data))
        except FileExistsError:
            if self.get(key) != data:
                raise

    def list(self, prefix: str, after: str = "") -> dict[str, Entry]:
        return _patiently(lambda: self._bucket.list(prefix, after))

    def remove(self, keys: Sequence[str]) -> None:
        _patiently(lambda: self._bucket.remove(keys))


def _patiently(request: Callable[[], T]) -> T:
    for attempt in range(_ATTEMPTS - 1):
        try:
            return request()
        except (ConnectionError, TimeoutError):
            pause = min(_FIRST_PAUSE * 2**attempt, _LONGEST_PAUSE)
            time.sleep(pause * random.uniform(0.5, 1.0))
    return request()
