"""A folder in a mounted file system: files are memory-mapped in place."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from viewlet.store.files import DATA, Look, look_at, map_file, read_checked, remove, sync_files, write_file
from viewlet.store.storage.storage import Entry
from viewlet.store.storage.verified import VerifiedFiles, traits_of


class Folder:
    """The storage of a warehouse in a local folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._verified = VerifiedFiles(root)

    @property
    def address(self) -> str:
        return str(self.root)

    def full_name(self, file: str) -> str:
        return str(self.root / file)

    def path(self, file: str) -> Path:
        return self.root / file

    def look(self, file: str) -> Look:
        return look_at(self.root / file)

    def read(self, file: str, offset: int, size: int, crc: int) -> pa.Buffer:
        path = self.root / file
        traits = traits_of(path) if file.startswith(f"{DATA}/") else None
        if traits is not None and self._verified.has(file, traits):
            return map_file(path, size)
        data = read_checked(path, offset, size, crc)
        if traits is not None:
            self._verified.add(file, traits)
        return data

    def forget(self, file: str) -> None:
        self._verified.remove(file)

    def close(self) -> None:
        self._verified.save()

    def write(self, file: str, pieces: Iterable[Any]) -> None:
        write_file(self.root / file, pieces)
        if file.startswith(f"{DATA}/"):
            self._verified.add_written(file)

    def sync(self, files: Iterable[str]) -> None:
        sync_files(self.root / file for file in files)

    def remove(self, files: Iterable[str]) -> list[str]:
        assert not isinstance(files, str), "a name is no list of names"
        return [file for file in files if remove(self.root / file)]

    def prepare(self, *folders: str) -> None:
        for folder in folders:
            (self.root / folder).mkdir(parents=True, exist_ok=True)

    def names(self) -> set[str]:
        return set(os.listdir(self.root)) if self.root.is_dir() else set()

    def list(self, folder: str) -> dict[str, Entry]:
        if not (self.root / folder).is_dir():
            return {}
        with os.scandir(self.root / folder) as found:
            stats = [(file.name, file.stat()) for file in found]
        return {f"{folder}/{name}": Entry(stat.st_size, stat.st_mtime) for name, stat in stats}
