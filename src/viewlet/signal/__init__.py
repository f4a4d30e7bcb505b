"""Signal pipelines: filters, spectra and resampling of grouped readings, kept fresh as the readings change.

readings = db.signal("readings", by="sensor", time="at", value="v")
smooth = readings.sample("10 ms", max_gap="1 s").iir(scipy.signal.butter(4, 5, fs=100, output="sos"))
db.create_signal("smooth", smooth)

A pipeline is a view: the same program runs offline and online, also for late, corrected and deleted readings.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from viewlet.signal.build.pipeline import Signal
    from viewlet.signal.build.policies import Interpolation
    from viewlet.signal.build.waves import continuous, wave
    from viewlet.signal.build.windowed import Windowed, WindowOperator

__all__ = ["Interpolation", "Signal", "WindowOperator", "Windowed", "continuous", "wave"]

_WHERE = {
    "Interpolation": "build.policies",
    "Signal": "build.pipeline",
    "WindowOperator": "build.windowed",
    "Windowed": "build.windowed",
    "continuous": "build.waves",
    "wave": "build.waves",
}


def __getattr__(name: str) -> Any:
    """Load SciPy with the first signal rather than with Viewlet."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
