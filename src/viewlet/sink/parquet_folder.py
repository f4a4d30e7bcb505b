"""A folder of Parquet files that follows a table or view: one file for each epoch that changed it.

A file is named by its epoch and moved into place when complete, in the order of epochs. So the folder itself holds its
position: an interrupted file is written again under the same name, and nothing is written twice. After an outage the
change feed has the missing epochs. A hidden file names the table or view that the folder follows.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from viewlet.errors import StoreError
from viewlet.sink.sink import Opened, Sender, Sink
from viewlet.store.runs.runs import ordered_columns

FOLLOWED = ".viewlet"
_FILE = re.compile(r"epoch-(\d{12})\.parquet")


@dataclass(frozen=True)
class ParquetFolder(Sink):
    """A folder of Parquet files as a sink."""

    kind: ClassVar[str] = "folder"
    path: Path
    plain: bool = False
    """Whether files only have the rows, of a table or view that only grows, without the columns of the change feed."""

    def __str__(self) -> str:
        return str(self.path)

    @contextmanager
    def opened(self, sender: Sender) -> Iterator[Opened]:
        self.path.mkdir(parents=True, exist_ok=True)
        _claim(self.path, sender)
        yield _Folder(self.path, tuple(sender.relation.columns) if self.plain else ())


@dataclass(frozen=True, slots=True)
class _Folder:
    path: Path
    columns: tuple[str, ...]

    def last(self) -> int | None:
        return max(_epochs(self.path), default=None)

    def write(self, epoch: int, changes: pa.Table) -> None:
        """Write a file atomically and durably."""
        rows = changes.select(list(self.columns)) if self.columns else changes
        hidden, place = self.path / f".epoch-{epoch:012}", self.path / f"epoch-{epoch:012}.parquet"
        with hidden.open("wb") as file:
            pq.write_table(rows, file, write_statistics=ordered_columns(rows.schema))
            file.flush()
            os.fsync(file.fileno())
        os.replace(hidden, place)


def _epochs(path: Path) -> list[int]:
    return [int(name[1]) for file in path.iterdir() if (name := _FILE.fullmatch(file.name))]


def _claim(path: Path, sender: Sender) -> None:
    """Record what a folder follows, or refuse one that follows something else."""
    note = path / FOLLOWED
    if note.exists():
        found = json.loads(note.read_text(encoding="utf-8"))
        sender.refuse_other(path, found["warehouse"], found["name"])
    elif _epochs(path):
        raise StoreError(f"{path} has files of unknown origin", hint="export into another folder")
    else:
        hidden = path / f"{FOLLOWED}.new"
        hidden.write_text(json.dumps({"warehouse": sender.warehouse, "name": sender.relation.name}), encoding="utf-8")
        os.replace(hidden, note)
