"""One writer at a time: a file lock, which the system releases however the process ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from viewlet.errors import StoreError, WarehouseBusy


class WriterLock:
    """Held from construction until `release`."""

    def __init__(self, root: Path) -> None:
        try:
            root.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(root / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as reason:
            raise StoreError(
                f"the warehouse at {root} cannot be written: {reason.strerror}", hint="open it with read_only=True"
            ) from reason
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
            os.close(self._descriptor)
            raise WarehouseBusy(
                f"process {holder} is writing to the warehouse at {root}",
                hint="close it there, or open the warehouse with read_only=True",
            ) from None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        os.close(self._descriptor)
