"""Signal pipelines: filters, spectra and resampling of grouped readings, kept fresh while the readings change.

readings = db.signal("readings", by="sensor", time="at", value="v")
smooth = readings.sample("10 ms", max_gap="1 s").iir(scipy.signal.butter(4, 5, fs=100, output="sos"))
db.create_signal("smooth", smooth)

A pipeline is a view: offline and online are one program, late, corrected and deleted readings included.
"""

from viewlet.signal.continuous import continuous, wave
from viewlet.signal.pipeline import Signal
from viewlet.signal.policies import Interpolation
from viewlet.signal.windowed import Windowed, WindowOperator

__all__ = ["Interpolation", "Signal", "WindowOperator", "Windowed", "continuous", "wave"]
