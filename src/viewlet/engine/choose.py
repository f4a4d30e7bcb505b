"""Which engine runs an epoch.

The in-process engine costs a millisecond to start and a few microseconds a row; a Spark job costs a good
part of a second to start, and then divides the rows among all cores of the cluster. Below the point where the
two meet, and wherever the delta fits the driver with ease, an epoch runs in process.
"""

from __future__ import annotations

from typing import Literal

EngineName = Literal["auto", "inproc", "spark"]

ROWS_FOR_SPARK = 20_000_000
"""Changed rows from which on an epoch goes to Spark by itself: about the driver's memory, not its speed."""


def choose_engine(wanted: EngineName, rows: int) -> Literal["inproc", "spark"]:
    """The engine for an epoch that changes so many rows."""
    if wanted != "auto":
        return wanted
    return "spark" if rows >= ROWS_FOR_SPARK else "inproc"
