"""Progress of long-running work, reported to a function, a progress bar, or else the log.

Fills, loads, checks and the rounds of loops report. A bar is drawn only on a terminal or in a notebook, and disappears
when the work is done.
"""

from __future__ import annotations

import logging
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import Any, Protocol, TextIO, TypeVar

from viewlet.formatting import duration

T = TypeVar("T")
log = logging.getLogger("viewlet")
_PATIENCE, _REDRAW = 0.4, 0.1
"""Seconds before a bar appears, so that quick work shows none; seconds between redraws."""
_LINE = 1.0
"""Seconds between log lines."""
_WIDTH = 30


@dataclass(frozen=True, slots=True)
class Progress:
    """A report: its subject, a text, and the fraction that is done, if known."""

    subject: str
    text: str
    fraction: float | None = None

    def __str__(self) -> str:
        return f"{self.subject}: {self.text}"


Listener = Callable[[Progress], None]
Wanted = Listener | bool | None
"""A function that receives every report, True for a bar, False for the log, None for the default."""
_listener: ContextVar[Listener | None] = ContextVar("viewlet_progress", default=None)


def report(subject: str, text: str, fraction: float | None = None) -> None:
    """Report progress to the current listener, if any."""
    if (listener := _listener.get()) is not None:
        listener(Progress(subject, text, fraction))


@contextmanager
def reporting(asked: Wanted, otherwise: Wanted = None) -> Iterator[None]:
    """Send the reports of a block to `asked`; if that is None, to the current listener, or else to `otherwise`."""
    before = _listener.get()
    if asked is None and before is not None:
        yield
        return
    listener = _listener_for(otherwise if asked is None else asked)
    _listener.set(listener)
    try:
        yield
    finally:
        _listener.set(before)
        if isinstance(listener, Bar):
            listener.close()


def _listener_for(wanted: Wanted) -> Listener:
    if callable(wanted):
        return wanted
    canvas = _canvas() if wanted else None
    return Log() if canvas is None else Bar(canvas)


class Log:
    """Writes reports to the log, at most one a second."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if now >= self._next and log.isEnabledFor(logging.INFO):
            self._next = now + _LINE
            log.info("%s", progress)


class Canvas(Protocol):
    """A surface to draw a bar on."""

    def draw(self, progress: Progress, seconds: float) -> None: ...

    def clear(self) -> None: ...


class Bar:
    """Draws the last report and the elapsed time from its own thread, so that reporting costs nothing."""

    def __init__(self, canvas: Canvas) -> None:
        self._canvas = canvas
        self._latest: Progress | None = None
        self._began = time.monotonic()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def __call__(self, progress: Progress) -> None:
        self._latest = progress
        if self._thread is None:
            self._thread = threading.Thread(target=self._redraw, name="viewlet-progress", daemon=True)
            self._thread.start()

    def _redraw(self) -> None:
        if self._ended.wait(_PATIENCE):
            return
        while self._latest is not None:
            self._canvas.draw(self._latest, time.monotonic() - self._began)
            if self._ended.wait(_REDRAW):
                break
        self._canvas.clear()

    def close(self) -> None:
        """Stop drawing and remove the bar."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()


def _canvas() -> Canvas | None:
    """The notebook or terminal that the user looks at; None if there is neither."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is not None:
        return Notebook()
    return Terminal(sys.stderr) if sys.stderr.isatty() else None


class Terminal:
    """One line of a terminal, overwritten at each redraw."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def draw(self, progress: Progress, seconds: float) -> None:
        width = shutil.get_terminal_size().columns - 1
        self._stream.write(f"\r{line(progress, seconds)[:width]}\x1b[K")
        self._stream.flush()

    def clear(self) -> None:
        self._stream.write("\r\x1b[K")
        self._stream.flush()


class Notebook:
    """A display in the output of a notebook's cell."""

    def __init__(self) -> None:
        self._handle: Any = None

    def draw(self, progress: Progress, seconds: float) -> None:
        self._show(html(progress, seconds))

    def clear(self) -> None:
        self._show("")

    def _show(self, text: str) -> None:
        ipython: Any = import_module("IPython.display")
        if self._handle is None:
            self._handle = ipython.display(ipython.HTML(text), display_id=True)
        else:
            self._handle.update(ipython.HTML(text))


def line(progress: Progress, seconds: float) -> str:
    """A report as one line, with a bar if the fraction done is known."""
    parts = [progress.subject, progress.text, duration(seconds * 1_000)]
    if progress.fraction is not None:
        filled = int(_WIDTH * min(progress.fraction, 1.0))
        parts.insert(1, "█" * filled + "░" * (_WIDTH - filled))
    return "  ".join(parts)


def html(progress: Progress, seconds: float) -> str:
    """A report as HTML; browsers animate a bar without a value."""
    value = "" if progress.fraction is None else f' value="{min(progress.fraction, 1.0):.3f}"'
    return f"<progress{value}></progress> {escape(str(progress))} <small>{duration(seconds * 1_000)}</small>"


def track(items: Sequence[T], label: str, *, stream: TextIO | None = None) -> Iterator[T]:
    """Yield items while drawing a bar on a terminal; at the end, write one line on any stream."""
    out, began = sys.stdout if stream is None else stream, time.monotonic()
    terminal = Terminal(out) if out.isatty() else None
    count = len(items)
    for done, item in enumerate(items):
        if terminal is not None:
            terminal.draw(Progress(label, f"{done} of {count}", done / count), time.monotonic() - began)
        yield item
    ended = Progress(label, f"{count} of {count}", None if terminal is None else 1.0)
    out.write(("" if terminal is None else "\r") + line(ended, time.monotonic() - began) + "\n")
    out.flush()
