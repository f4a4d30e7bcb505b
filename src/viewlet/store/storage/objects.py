"""A warehouse in an object store: files are objects, written whole and read through a local cache."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from viewlet.errors import CorruptFile, StoreError
from viewlet.store.files import RESTORE, GoneFile, Look, look_at, read_checked, write_file
from viewlet.store.storage.bucket import Bucket
from viewlet.store.storage.cache import FULL, Cache
from viewlet.store.storage.storage import Entry

_CREDENTIALS = "credentials are taken from the environment, by tasks from that of their executor: see docs/warehouse.md"
_ROOM = "make room on the disk of the cache, or name another folder: VIEWLET_CACHE"
_LATER = "look whether the object store can be reached, and try again"


@dataclass(slots=True)
class Traffic:
    """What this process has read and written so far."""

    hits: int = 0
    """Files found in the cache."""
    fetched: int = 0
    """Files not found in the cache."""
    bytes_read: int = 0
    bytes_written: int = 0


class Objects:
    """The storage of a warehouse in an object store."""

    def __init__(self, address: str, bucket: Bucket) -> None:
        self._address, self._bucket, self._cache = address, bucket, Cache(address)
        self.traffic = Traffic()

    @property
    def address(self) -> str:
        return self._address

    @property
    def root(self) -> Path:
        return self._cache.root

    def full_name(self, file: str) -> str:
        return f"{self._address}/{file}"

    def path(self, file: str) -> Path:
        if self._cache.has(file):
            self.traffic.hits += 1
            return self._cache.path(file)
        return self._fetch(file)

    def _fetch(self, file: str) -> Path:
        with self._errors(file, "read"):
            path = self._cache.add(file, lambda new: self._bucket.fetch(file, new))
        self.traffic.fetched += 1
        self.traffic.bytes_read += look_at(path)[0]
        return path

    def look(self, file: str) -> Look:
        return look_at(self._cache.path(file))

    def read(self, file: str, offset: int, size: int, crc: int) -> pa.Buffer:
        """See `Storage`. A damaged copy is fetched again once, since the object itself may be intact."""
        try:
            return read_checked(self.path(file), offset, size, crc)
        except CorruptFile:
            self._cache.drop(file)
        return read_checked(self._fetch(file), offset, size, crc, self.full_name(file))

    def forget(self, file: str) -> None:
        self._cache.drop(file)

    def close(self) -> None:
        """Nothing to do: every process verifies the copies that it reads."""

    def write(self, file: str, pieces: Iterable[Any]) -> None:
        """See `Storage`. If no copy can be kept, the object is written from memory."""
        held = list(pieces)
        try:
            with self._errors(file, "written"):
                self._put_copy(file, held)
        except StoreError:
            self._cache.drop(file)
            raise
        self.traffic.bytes_written += sum(memoryview(piece).nbytes for piece in held)

    def _put_copy(self, file: str, pieces: Sequence[Any]) -> None:
        try:
            self._bucket.put(file, self._cache.add(file, lambda new: write_file(new, pieces)))
        except (FileNotFoundError, StoreError):
            self._bucket.put(file, b"".join(pieces))

    def sync(self, files: Iterable[str]) -> None:
        """Nothing to do: an object is durable once written."""

    def remove(self, files: Iterable[str]) -> Sequence[str]:
        assert not isinstance(files, str), "a name is no list of names"
        gone = list(files)
        if gone:
            with self._errors(gone[0], "removed"):
                self._bucket.remove(gone)
        for file in gone:
            self._cache.drop(file)
        return gone

    def prepare(self, *folders: str) -> None:
        """Nothing to do: objects need no folders."""

    def names(self) -> set[str]:
        return {file.partition("/")[0] for file in self.list("")}

    def list(self, folder: str, after: str = "") -> dict[str, Entry]:
        with self._errors(folder, "listed"):
            found = self._bucket.list(f"{folder}/" if folder else "", after)
        if folder and not after:
            self._cache.forget_others(folder, found)
        return found

    def get(self, file: str) -> bytes:
        """The current bytes of an object."""
        with self._errors(file, "read"):
            data = self._bucket.get(file)
        self.traffic.bytes_read += len(data)
        return data

    def put(self, file: str, data: bytes) -> None:
        with self._errors(file, "written"):
            self._bucket.put(file, data)
        self.traffic.bytes_written += len(data)

    def create(self, file: str, data: bytes) -> bool:
        """Create an object unless it exists; returns whether this call created it."""
        try:
            with self._errors(file, "written"):
                self._bucket.create(file, data)
        except FileExistsError:
            return False
        self.traffic.bytes_written += len(data)
        return True

    def keep(self, file: str, data: bytes) -> None:
        """Cache an object whose bytes are known, if there is room."""
        with suppress(StoreError):
            self._cache.add(file, lambda new: write_file(new, [data]))

    @contextmanager
    def _errors(self, file: str, done: str) -> Iterator[None]:
        """Raises the bucket's errors as those that users see."""
        name = self.full_name(file)
        try:
            yield
        except FileNotFoundError:
            raise GoneFile(f"{name} is missing", hint=RESTORE) from None
        except FileExistsError:
            raise
        except PermissionError as reason:
            raise StoreError(f"{name} cannot be {done}, access is denied: {reason}", hint=_CREDENTIALS) from reason
        except OSError as reason:
            hint = _ROOM if reason.errno in FULL else _LATER
            raise StoreError(f"{name} could not be {done}: {reason}", hint=hint) from reason
