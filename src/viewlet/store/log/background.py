"""The store's background work: large merges, sweeping, and syncing where commits are synced in groups."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Condition, Event, Thread

import pyarrow as pa

from viewlet.errors import StoreError

logger = logging.getLogger(__name__)


class Worker:
    """A thread, started when first needed, that works through the names of changed bags."""

    def __init__(self, work: Callable[[str | None], bool]) -> None:
        """`work(bag)` does one piece of work on a bag and returns whether there was any; `work(None)` sweeps."""
        self._work = work
        self._due: dict[str | None, None] = {}
        self._changed = Condition()
        self._busy = self._stopped = False
        self._thread: Thread | None = None
        self._failure: BaseException | None = None

    def wake(self, names: list[str | None]) -> None:
        """Queue bags for the thread."""
        with self._changed:
            self._due.update(dict.fromkeys(names))
            if self._thread is None and not self._stopped:
                self._thread = Thread(target=self._loop, name="viewlet-store", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def settle(self) -> None:
        """Wait until no work is left; raises the failure that occurred meanwhile, if any."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or not (self._due or self._busy))
            failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def stop(self) -> None:
        """Finish the current piece of work and end the thread."""
        with self._changed:
            self._stopped = True
            self._due.clear()
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
        # Otherwise the owner and its worker keep each other, and files, alive until a garbage collection.
        self._work = _nothing

    def _loop(self) -> None:
        while (name := self._next()) != "":
            try:
                again = self._work(name)
            except (StoreError, OSError, pa.ArrowException) as failure:
                logger.warning("merging of %s put off: %s", name, failure)
                self._failure, again = failure, False
            except BaseException as bug:
                self._end(bug)
                raise
            with self._changed:
                self._busy = False
                if again and not self._stopped:
                    self._due[name] = None
                self._changed.notify_all()

    def _end(self, bug: BaseException) -> None:
        """A bug of our own ends the thread; `settle` raises it."""
        with self._changed:
            self._failure, self._stopped, self._busy = bug, True, False
            self._changed.notify_all()

    def _next(self) -> str | None:
        """The next bag, or "" once stopped."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or bool(self._due))
            if self._stopped:
                return ""
            name = next(iter(self._due))
            del self._due[name]
            self._busy = True
            return name


def _nothing(_: str | None) -> bool:
    return False


class Flusher:
    """Syncs the log some milliseconds after a write."""

    def __init__(self, sync: Callable[[], None], milliseconds: int) -> None:
        self._sync, self._seconds = sync, milliseconds / 1000
        self._dirty, self._stopped = Event(), Event()
        self._thread = Thread(target=self._loop, name="viewlet-flusher", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        self._dirty.set()

    def stop(self) -> None:
        self._stopped.set()
        self._dirty.set()
        self._thread.join()

    def _loop(self) -> None:
        # Checking `_stopped` first catches a stop just before `clear`, which would undo its wake-up.
        while not self._stopped.is_set() and self._dirty.wait() and not self._stopped.wait(self._seconds):
            self._dirty.clear()
            try:
                self._sync()
            except StoreError as failure:
                logger.error("the log could not be made durable: %s", failure)
                return
