"""Which engine runs an epoch: the one that is estimated to take less.

Measured on two cores, in milliseconds: the in-process engine takes half of one to start a step and 4 µs a changed
row and step; a Spark job takes some 300 to start and 12 µs a row and step (its pieces are packed, moved and
unpacked), divided by the cores. So small epochs run in process, and Spark takes over where a large change meets
many cores, or more rows than the driver should hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

EngineName = Literal["auto", "inproc", "spark"]
Chosen = Literal["inproc", "spark"]

INPROC_STEP, INPROC_ROW = 0.5, 0.004
SPARK_STEP, SPARK_ROW = 300.0, 0.012
DRIVER_ROWS = 50_000_000
"""More changed rows than the driver should hold at once."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An engine, and what was weighed: the estimated milliseconds of each."""

    engine: Chosen
    inproc_ms: float
    spark_ms: float
    reason: str

    def record(self) -> dict[str, Any]:
        return {"inproc_ms": round(self.inproc_ms, 1), "spark_ms": round(self.spark_ms, 1), "reason": self.reason}


def choose_engine(wanted: EngineName, rows: int, steps: int, cores: int) -> Choice:
    """The engine for an epoch of so many changed rows and statements, with so many cores for Spark."""
    inproc = steps * (INPROC_STEP + rows * INPROC_ROW)
    spark = steps * (SPARK_STEP + rows * SPARK_ROW / max(cores, 1))
    if wanted != "auto":
        return Choice(wanted, inproc, spark, "forced")
    if rows > DRIVER_ROWS:
        return Choice("spark", inproc, spark, "more rows than the driver should hold")
    return Choice("inproc" if inproc <= spark else "spark", inproc, spark, "the lower estimate")
