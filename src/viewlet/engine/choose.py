"""Which engine runs an epoch: the one that is estimated to take less.

The constants are read off docs/refresh.md (two cores): the in-process engine takes 0.6 ms to start a step and up to
0.2 µs a changed row and step; Spark takes 340 to 700 ms to start a step's job and about 0.4 µs a row on both cores
together. They are rough: they decide between engines that give the same result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

EngineName = Literal["auto", "inproc", "spark"]
Chosen = Literal["inproc", "spark"]

INPROC_STEP, INPROC_ROW = 0.6, 0.0002
SPARK_STEP, SPARK_ROW = 450.0, 0.0008


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
    return Choice("inproc" if inproc <= spark else "spark", inproc, spark, "the lower estimate")
