"""FIR filters over all groups at once: y[n] = Σ taps[i] · x[n + ahead − i].

Runs are convolved by length classes. Where taps or runs are short, all runs of a class are one convolution, with zeros
between them; where both are long, each run is a row of a block that SciPy convolves by overlap-add. A run's rounding
thus never depends on what another group measures.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import signal as scipy_signal

from viewlet.signal.dense import Runs, dense, runs_of
from viewlet.signal.kinds import grid_of
from viewlet.signal.nodes import Fir
from viewlet.signal.ragged import Ints, Ragged, Values, spread

DIRECT = 128
"""Up to so many products for a sample, adding them up is faster than transforms."""


def filter_fir(node: Fir, signal: Ragged) -> Ragged:
    """The filtered signal, at the times of the samples that are there."""
    taps = np.asarray(node.taps)
    runs = runs_of(signal, grid_of(node.of), 1 if node.missing == "restart" else len(taps))
    kind = np.result_type(signal.values.dtype, taps.dtype)
    result = np.empty(signal.values.shape, dtype=kind)
    for which in _length_classes(runs.spans):
        at = spread(runs.begin[which], runs.counts[which])
        result[at] = _filter_class(signal, runs, which, at, taps, node.ahead)
    return signal.with_values(result)


def _length_classes(spans: Ints) -> Iterator[Ints]:
    """Runs of about the same length: between two powers of two."""
    classes = np.frexp(spans)[1] if len(spans) else spans
    for one in np.unique(classes):
        yield np.flatnonzero(classes == one)


def _filter_class(signal: Ragged, runs: Runs, which: Ints, at: Ints, taps: Values, ahead: int) -> Values:
    counts = runs.counts[which]
    begin = np.concatenate([[0], np.cumsum(counts)])
    part = Ragged(begin, signal.times[at], signal.values[at])
    own = Runs(np.arange(len(which)), begin, runs.first[which], runs.spans[which], runs.index[at])
    longest = int(own.spans.max())
    felt = taps[: longest + ahead]  # y[n] of a run of `longest` samples has no use for more
    if len(felt) <= DIRECT:
        return _direct(part, own, felt, ahead)
    return _by_rows(part, own, felt, ahead)


def _direct(part: Ragged, runs: Runs, taps: Values, ahead: int) -> Values:
    laid = dense(part, runs, len(taps) - 1)
    columns = [np.convolve(column, taps)[laid.places + ahead] for column in laid.values.T]
    return np.stack(columns, axis=1)


def _by_rows(part: Ragged, runs: Runs, taps: Values, ahead: int) -> Values:
    longest, rows = int(runs.spans.max()), np.repeat(np.arange(len(runs)), runs.counts)
    columns = runs.index - np.repeat(runs.first, runs.counts)
    block = np.zeros((len(runs), longest, part.values.shape[1]), dtype=part.values.dtype)
    block[rows, columns] = part.values
    filtered = scipy_signal.oaconvolve(block, taps[None, :, None], axes=1)
    return filtered[rows, columns + ahead]
