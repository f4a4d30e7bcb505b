"""The log of a warehouse in a folder: records are appended to segments, and a file lock admits one writer."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from viewlet.errors import CorruptFile
from viewlet.store.files import DATA, LOG, MARK, RESTORE
from viewlet.store.limits import Limits
from viewlet.store.location import check_free, check_there, is_warehouse
from viewlet.store.log.commit_log import Lock
from viewlet.store.log.folder.lock import WriterLock
from viewlet.store.log.folder.log_writer import LogWriter, create_segment
from viewlet.store.log.folder.mark import Mark, make_mark, read_mark
from viewlet.store.log.folder.segments import Reading, Tail, is_whole, read_log, segment_name, segment_numbers
from viewlet.store.log.record_json import encode_state
from viewlet.store.log.recovery import Known, Recovery, recover, what_is_known
from viewlet.store.log.state import State
from viewlet.store.runs.runs import Handles


class FolderLog:
    """The log of a local warehouse."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def exists(self) -> bool:
        return is_warehouse(self._root)

    def check_there(self) -> None:
        check_there(self._root)

    def check_free(self) -> None:
        check_free(self._root)

    def lock(self) -> Lock:
        """Lock the folder and create its subfolders if they are missing."""
        lock = WriterLock(self._root)
        for folder in (LOG, DATA):
            (self._root / folder).mkdir(exist_ok=True)
        return lock

    def make(self) -> None:
        root = self._root
        if segment_numbers(root):
            return
        lost = read_mark(root).segment if (root / MARK).exists() else 0
        if lost or any((root / DATA).iterdir()):
            raise CorruptFile(f"{root / segment_name(lost or 1)} is missing, though there are data", hint=RESTORE)
        self.begin(encode_state(State()), [])

    def begin(self, header: dict[str, Any], blobs: list[Any]) -> None:
        make_mark(self._root, Mark())  # first: a segment without a mark means that the mark was lost
        create_segment(self._root, 1, header, blobs)

    def read(self, tail: Tail | None) -> tuple[Reading, Known]:
        mark = read_mark(self._root)
        known = what_is_known(self._root, mark) if tail is None else Known(mark)
        return read_log(self._root, mark, tail), known

    def recover(self, handles: Handles, limits: Limits) -> Recovery | None:
        return recover(self._root, handles, limits)

    def appender(self, tail: Tail, epoch: int) -> LogWriter:
        return LogWriter(self._root, tail, epoch)

    def damaged(self, files: Iterable[str]) -> list[str]:
        root, mark = self._root, read_mark(self._root)
        looked_at = sorted({segment_name(segment_numbers(root)[-1]), *files})
        return [f for f in looked_at if not (root / f).exists() or not is_whole(root, int(Path(f).stem), mark)]
