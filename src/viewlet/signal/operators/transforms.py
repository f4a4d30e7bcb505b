"""Operators within windows, on all rows at once: a row for each window, or for each of its channels."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

import numpy as np
from scipy import fft as scipy_fft

from viewlet.errors import EvaluationError
from viewlet.signal.plan.functions import Function
from viewlet.signal.plan.nodes import Apply, Autocorrelate, Correlate, Form, Reduce, Spectrum, Step, Taper, Transform
from viewlet.signal.samples.ragged import Values

TRANSFORMS: dict[str, Callable[..., Values]] = {
    "fft": scipy_fft.fft,
    "ifft": scipy_fft.ifft,
    "rfft": scipy_fft.rfft,
    "irfft": scipy_fft.irfft,
}
SPECTRA: dict[str, Callable[[Values], Values]] = {
    "magnitude": np.abs,
    "power": lambda x: np.abs(x) ** 2,
    "phase": np.angle,
}
STATISTICS: dict[str, Callable[[Values], Values]] = {
    "mean": lambda x: x.mean(axis=-1),
    "sum": lambda x: x.sum(axis=-1),
    "min": lambda x: x.min(axis=-1),
    "max": lambda x: x.max(axis=-1),
    "std": lambda x: x.std(axis=-1),
    "median": lambda x: np.median(x, axis=-1),
    "energy": lambda x: (np.abs(x) ** 2).sum(axis=-1),
    "power": lambda x: (np.abs(x) ** 2).mean(axis=-1),
    "rms": lambda x: np.sqrt((np.abs(x) ** 2).mean(axis=-1)),
}


def take_step(step: Step, windows: Values) -> Values:
    """Apply a step to windows; their axes are window, channel, sample. Reducing removes the last."""
    match step:
        case Taper(weights):
            return windows * np.array(weights)
        case Transform(name):
            return TRANSFORMS[name](windows, axis=-1)
        case Spectrum(name):
            return SPECTRA[name](windows)
        case Autocorrelate():
            return correlate(windows, windows)
        case Correlate():
            return correlate(windows[:, :1], windows[:, 1:])
        case Apply():
            return _apply(step, windows)
        case Reduce(statistic):
            return STATISTICS[statistic](windows)
        case _:
            assert_never(step)


def correlate(left: Values, right: Values) -> Values:
    """Σ left[n + lag] · conj(right[n]) for every lag from 1 − size to size − 1."""
    size = left.shape[-1]
    length: int = scipy_fft.next_fast_len(2 * size - 1)
    spectrum = scipy_fft.fft(left, length, axis=-1) * np.conj(scipy_fft.fft(right, length, axis=-1))
    lags = scipy_fft.ifft(spectrum, axis=-1)
    ordered = np.concatenate([lags[..., length - size + 1 :], lags[..., :size]], axis=-1)
    return ordered if np.iscomplexobj(left) or np.iscomplexobj(right) else ordered.real


def _apply(step: Apply, windows: Values) -> Values:
    return as_channels(step.function, step.form, *(windows[:, i] for i in range(windows.shape[1])))


def as_channels(function: Function, form: Form, *given: Values) -> Values:
    """The results of a user function for rows, validated, as channels."""
    found = function(*given)
    shape = (len(given[0]),) if form.width is None else (len(given[0]), form.width)
    channels = [np.asarray(part) for part in (found if isinstance(found, tuple) else (found,))]
    for channel in channels:
        if channel.shape != shape:
            raise EvaluationError(f"{function.name} gave an array of {channel.shape}, not of {shape}")
        if np.iscomplexobj(channel) and not form.is_complex:
            raise EvaluationError(f"{function.name} gave complex numbers, and real ones when it was tried")
    return np.stack(channels, axis=1).astype(np.complex128 if form.is_complex else np.float64, copy=False)
