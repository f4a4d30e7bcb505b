"""A process that kills itself at its n-th write to disk: before it, or where it is the log's or the mark's, in its middle."""

from __future__ import annotations

import builtins
import os
import signal
from collections.abc import Callable
from typing import Any

CALLS = ("fsync", "fdatasync", "ftruncate", "rename", "replace", "unlink", "mkdir")


def kill_at_write(number: int) -> None:
    """From now on, count what is written, and die at one of these."""
    count = 0

    def is_due() -> bool:
        nonlocal count
        count += 1
        return count == number

    def before(call: Callable[..., Any]) -> Callable[..., Any]:
        def made(*arguments: Any, **options: Any) -> Any:
            if is_due():
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **options)

        return made

    def halfway(call: Callable[..., Any]) -> Callable[..., Any]:
        def made(descriptor: int, pieces: Any, *at: int) -> Any:
            if is_due():
                data = pieces if isinstance(pieces, bytes) else b"".join(pieces)
                call(descriptor, data[: len(data) // 2] if isinstance(pieces, bytes) else [data[: len(data) // 2]], *at)
                os.kill(os.getpid(), signal.SIGKILL)
            return call(descriptor, pieces, *at)

        return made

    def created(path: Any, mode: str = "r", *more: Any, **options: Any) -> Any:
        """A file is made, and empty, before anything is written to it."""
        file = opened(path, mode, *more, **options)
        if mode != "r" and mode != "rb" and is_due():
            os.kill(os.getpid(), signal.SIGKILL)
        return file

    opened = builtins.open
    for name in CALLS:
        setattr(os, name, before(getattr(os, name)))
    for name in ("writev", "pwrite"):
        setattr(os, name, halfway(getattr(os, name)))
    setattr(builtins, "open", created)  # noqa: B010 - an assignment would have to say each of its overloads
