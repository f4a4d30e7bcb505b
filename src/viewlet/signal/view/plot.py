"""Plots of signals: samples over time, spectra and spectrograms, with Matplotlib (`pip install viewlet[plot]`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from viewlet.columns.rows import Rows
from viewlet.errors import UnknownName, UnsupportedQuery, WrongArgument, shortened
from viewlet.extras import needed
from viewlet.signal.samples.ragged import Ints, Values
from viewlet.signal.samples.series import Series
from viewlet.signal.stored.readings import Keyed
from viewlet.signal.view.maintained import SignalView
from viewlet.warehouse.read.relation import Relation

MOST = 20
"""The most groups in one plot."""
SECOND = 1_000_000


def plot(relation: Relation, *, group: Any = None, ax: Any = None) -> Any:
    """Plot the samples of `db.table(name)` over time, a line for each group and channel; return the axes."""
    view, drawn = _view(relation), _axes(ax)
    for label, times, values in _groups(view, relation, group):
        drawn.plot(_shown(view, times), values, label=label)
    return _named(drawn, view, view.schema.time.name, "")


def spectrum(relation: Relation, *, group: Any = None, ax: Any = None) -> Any:
    """Plot the power spectrum of a uniform signal, by Welch's method."""
    from scipy.signal import welch

    view, drawn = _view(relation), _axes(ax)
    for label, times, values in _groups(view, relation, group):
        frequencies, power = welch(_regular(view, times, values), _rate(view), nperseg=min(256, len(times)))
        drawn.semilogy(frequencies, power, label=label)
    return _named(drawn, view, _frequency(view), "power")


def spectrogram(relation: Relation, *, group: Any, ax: Any = None) -> Any:
    """Plot the spectrogram of one group's uniform signal."""
    from scipy.signal import spectrogram as computed

    view, drawn = _view(relation), _axes(ax)
    label, times, values = next(_groups(view, relation, group))
    size = min(256, len(times))
    frequencies, at, power = computed(_regular(view, times, values), _rate(view), nperseg=size, noverlap=size // 2)
    floor = max(float(power.max(initial=0.0)) * 1e-12, np.finfo(float).tiny)
    drawn.pcolormesh(at, frequencies, 10 * np.log10(np.maximum(power, floor)), shading="auto")
    drawn.set(title=f"{relation.name}: {label}", xlabel="time since the first sample", ylabel=_frequency(view))
    return drawn


def _view(relation: Relation) -> SignalView:
    found = getattr(relation, "definition", None)
    if not isinstance(found, SignalView):
        raise WrongArgument(f"{shortened(relation)} is not a signal", hint='give db.table("…") of one')
    if found.schema.result.kind.is_complex or found.schema.result.kind.width is not None:
        raise UnsupportedQuery(f"{found.name} has no real numbers for samples", hint="select or reduce them")
    return found


def _axes(ax: Any) -> Any:
    return needed("matplotlib.pyplot", "plot").subplots()[1] if ax is None else ax


def _groups(view: SignalView, relation: Relation, group: Any) -> Iterator[tuple[str, Ints, Values]]:
    """The name, times and values of each group and channel."""
    columns, rows = view.schema.result, Rows.of(relation.arrow())
    keyed = Keyed.of(columns, [rows])
    series = Series.sorted(keyed.groups, columns.times(rows), columns.values(rows))
    keys = list(zip(*(keyed.keys[name].to_pylist() for name in columns.keys), strict=True)) or [()]
    wanted = None if group is None else group if isinstance(group, tuple) else (group,)
    found = [at for at, key in enumerate(keys) if wanted is None or key == wanted][:MOST]
    if not found or not len(rows):
        raise UnknownName(f"{view.name} has no samples of {group!r}" if wanted else f"{view.name} has no samples")
    for at in sorted(found, key=lambda i: repr(keys[i])):
        own = series.filter(series.groups == at)
        for i, channel in enumerate(columns.kind.channels):
            several = [channel] if len(columns.kind.channels) > 1 else []
            yield ", ".join([*map(str, keys[at]), *several]), own.times, own.values[:, i]


def _regular(view: SignalView, times: Ints, values: Values) -> Values:
    """Samples at every grid time, with missing ones interpolated linearly."""
    grid = view.schema.result.kind.grid
    if grid is None:
        raise UnsupportedQuery(f"{view.name} is not uniform", hint="a spectrum needs a uniform signal: sample it first")
    return np.interp(np.arange(times[0], times[-1] + 1, grid.period), times, values)


def _rate(view: SignalView) -> float:
    grid = view.schema.result.kind.grid
    return 1.0 if grid is None else (SECOND if _is_timestamp(view) else 1) / grid.period


def _shown(view: SignalView, times: Ints) -> Any:
    return times.astype("datetime64[us]") if _is_timestamp(view) else times


def _frequency(view: SignalView) -> str:
    return "Hz" if _is_timestamp(view) else f"cycles per unit of {view.schema.time.name}"


def _is_timestamp(view: SignalView) -> bool:
    return view.schema.time.type.name.startswith("timestamp")


def _named(drawn: Any, view: SignalView, x: str, y: str) -> Any:
    drawn.set(title=view.name, xlabel=x, ylabel=y)
    drawn.legend()
    return drawn
