"""One long signal beside SciPy, whole and called window by window: figures 7.8 and 7.9 of the thesis."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import signal as ss

from benchmarks.measure import say, timed
from viewlet.signal import Signal
from viewlet.signal.change.online import evaluate_all
from viewlet.signal.plan.nodes import Source
from viewlet.signal.samples.series import Series

RANDOM = np.random.default_rng(1)
WINDOWS = (64, 512, 2048, 8192)
SOURCE = Source("long", (), "at", "number", ("v",), False, "error")
TENTH = 10
Work = Callable[[], Any]


def long_signal(samples: int, times: int) -> Iterator[list[str]]:
    """From columns in memory to columns in memory."""
    x = RANDOM.normal(size=samples)
    series = Series(np.zeros(samples, dtype=np.int64), np.arange(samples) * 5, x[:, None])
    uniform = Signal(SOURCE).sample(5, "none")
    for size in WINDOWS:
        rows = x[: samples // size * size].reshape(-1, size)
        ours = partial(evaluate_all, uniform.windows(size).fft().arrays().node, {SOURCE: series})
        offline, online = partial(np.fft.fft, rows, axis=1), partial(_each, np.fft.fft, rows[: len(rows) // TENTH])
        yield _line(f"FFT of {size:,}", ours, offline, online, times)
    for size in WINDOWS:
        taps = RANDOM.normal(size=size)
        ours = partial(evaluate_all, uniform.fir(taps).node, {SOURCE: series})
        offline = partial(ss.lfilter, taps, 1.0, x) if size <= 128 else partial(ss.oaconvolve, x, taps)
        yield _line(f"FIR of {size:,}", ours, offline, partial(_by_chunks, taps, x[: samples // TENTH]), times)


def _line(name: str, ours: Work, offline: Work, online: Work, times: int) -> list[str]:
    """The two take turns, so that both meet the same machine; online is a tenth of the signal, times ten."""
    say(name)
    turns = [(timed(ours), timed(offline)) for _ in range(times + 1)][1:]
    found = [*(statistics.median(column) for column in zip(*turns, strict=True)), TENTH * timed(online)]
    return [name, *(f"{ms:,.1f}" for ms in found), f"{found[0] / found[1]:.2f}", f"{found[2] / found[0]:.1f}×"]


def _each(transform: Callable[[Any], Any], rows: np.ndarray) -> None:
    for row in rows:
        transform(row)


def _by_chunks(taps: np.ndarray, x: np.ndarray) -> None:
    """As a stream would come: chunks of a window's length, with the state carried on."""
    state = np.zeros(len(taps) - 1)
    for start in range(0, len(x), len(taps)):
        _, state = ss.lfilter(taps, 1.0, x[start : start + len(taps)], zi=state)
