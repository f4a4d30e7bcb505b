"""FIR filters over all groups at once: y[n] = Σ taps[i] · x[n + ahead − i].

Runs are convolved by length classes. If taps or runs are short, all runs of a class are one convolution, with zeros
between them. If both are long, each run is a row of a block: SciPy convolves the rows by overlap-add, and very long
rows use overlap-save, whose blocks stay in the caches. So the rounding of a run never depends on the values of other
groups.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import fft as scipy_fft
from scipy import signal as scipy_signal

from viewlet.signal.plan.kinds import grid_of
from viewlet.signal.plan.nodes import Fir
from viewlet.signal.samples.ragged import Ints, Ragged, Values, spread
from viewlet.signal.samples.uniform_runs import Runs, dense, runs_of

DIRECT = 128
"""Up to this many products per sample, direct convolution is faster than transforms."""
LONG = 1 << 14
"""The length from which on each row gets a call of its own."""
BATCH = 1 << 17
"""How many numbers are transformed at once."""


def filter_fir(node: Fir, signal: Ragged) -> Ragged:
    """The filtered signal, at the times of its samples."""
    taps = np.asarray(node.taps)
    runs = runs_of(signal, grid_of(node.of), 1 if node.missing == "restart" else len(taps))
    result = np.empty(signal.values.shape, dtype=np.result_type(signal.values.dtype, taps.dtype))
    for which in _length_classes(runs.spans):
        if len(which) == len(runs):
            return signal.with_values(_filter_class(signal, runs, taps, node.ahead))
        at = spread(runs.begin[which], runs.counts[which])
        result[at] = _filter_class(*_some(signal, runs, which, at), taps, node.ahead)
    return signal.with_values(result)


def _length_classes(spans: Ints) -> Iterator[Ints]:
    """The runs of each length class: between two powers of two."""
    classes = np.frexp(spans)[1] if len(spans) else spans
    for one in np.flatnonzero(np.bincount(classes)):
        yield np.flatnonzero(classes == one)


def _some(signal: Ragged, runs: Runs, which: Ints, at: Ints) -> tuple[Ragged, Runs]:
    """Some of the runs, each as a segment."""
    begin = np.append(0, np.cumsum(runs.counts[which]))
    index = None if runs.index is None else runs.index[at]
    own = Runs(np.arange(len(which)), begin, runs.first[which], runs.spans[which], index)
    return Ragged(begin, signal.times[at], signal.values[at]), own


def _filter_class(signal: Ragged, runs: Runs, taps: Values, ahead: int) -> Values:
    felt = taps[: int(runs.spans.max()) + ahead]  # shorter runs never use the other taps
    return (_direct if len(felt) <= DIRECT else _by_rows)(signal, runs, felt, ahead)


def _direct(signal: Ragged, runs: Runs, taps: Values, ahead: int) -> Values:
    laid = dense(signal, runs, len(taps) - 1 if len(runs) > 1 else 0)
    columns = [laid.of_samples(np.convolve(column, taps), ahead) for column in laid.values.T]
    return columns[0][:, None] if len(columns) == 1 else np.stack(columns, axis=1)


def _by_rows(signal: Ragged, runs: Runs, taps: Values, ahead: int) -> Values:
    longest = int(runs.spans.max())
    if len(signal.times) == len(runs) * longest:
        block = signal.values.reshape(len(runs), longest, -1)
        return _convolved(block, taps, ahead).reshape(len(signal.times), -1)
    rows, columns = np.divmod(runs.places(np.arange(len(runs)) * longest), longest)
    block = np.zeros((len(runs), longest, signal.values.shape[1]), dtype=signal.values.dtype)
    block[rows, columns] = signal.values
    return _convolved(block, taps, ahead)[rows, columns]


def _convolved(block: Values, taps: Values, ahead: int) -> Values:
    """Convolve each row and channel, shifted by `ahead` samples, keeping the length."""
    rows, longest, channels = block.shape
    if longest < LONG:
        return scipy_signal.oaconvolve(block, taps[None, :, None], axes=1)[:, ahead : ahead + longest]
    result = np.empty(block.shape, dtype=np.result_type(block.dtype, taps.dtype))
    for row, channel in np.ndindex(rows, channels):
        _overlap_save(block[row, :, channel], taps, ahead, result[row, :, channel])
    return result


def _overlap_save(x: Values, taps: Values, ahead: int, result: Values) -> None:
    """Circular convolutions of overlapping blocks, each without its first samples, which wrap around."""
    spoilt, size = len(taps) - 1, 1 << (8 * len(taps) - 1).bit_length()
    step, at_once = size - spoilt, max(1, BATCH // size)
    for begin in range(0, len(x), at_once * step):
        wanted = result[begin : begin + at_once * step]
        blocks = -(-len(wanted) // step)
        piece = _zero_padded(x, begin + ahead - spoilt, (blocks - 1) * step + size)
        filtered = _circular(np.lib.stride_tricks.sliding_window_view(piece, size)[::step], taps)[:, spoilt:]
        if len(wanted) == blocks * step:
            wanted.reshape(blocks, step)[:] = filtered
        else:
            wanted[:] = filtered.ravel()[: len(wanted)]


def _zero_padded(x: Values, start: int, length: int) -> Values:
    """x[start : start + length], padded with zeros."""
    before, after = max(-start, 0), max(start + length - len(x), 0)
    piece = x[max(start, 0) : start + length]
    return np.pad(piece, (before, after)) if before or after else piece


def _circular(blocks: Values, taps: Values) -> Values:
    """The circular convolution of each row."""
    size = blocks.shape[1]
    if np.iscomplexobj(blocks) or np.iscomplexobj(taps):
        return scipy_fft.ifft(scipy_fft.fft(blocks) * scipy_fft.fft(taps, size))
    return scipy_fft.irfft(scipy_fft.rfft(blocks) * scipy_fft.rfft(taps, size), size)
