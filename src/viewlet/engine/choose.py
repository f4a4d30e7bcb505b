"""Which engine runs an epoch, or fills a view: the one with the lower estimate.

In process, each step handles its rows one after the other in an epoch, and on all cores of this machine in a fill. On
Spark, all steps are one job. What a job and a row take is measured when it first matters (`cluster/calibrate.py`), and
kept with the warehouse; until then it is what two cores took. They decide between engines that give the same result.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any, Literal

EngineName = Literal["auto", "inproc", "spark"]
Chosen = Literal["inproc", "spark"]
Work = Literal["epoch", "fill"]


@dataclass(frozen=True, slots=True)
class EngineCosts:
    """Milliseconds: to begin a step in process, for a row of it; for a job, for a row of a step of it on one core."""

    inproc_step: float = 0.6
    inproc_row: float = 0.0002
    job: float = 1000.0
    spark_row: float = 0.0008

    def document(self) -> dict[str, float]:
        return {name: round(value, 7) for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class Choice:
    """An engine, and what was weighed: the estimated milliseconds of each."""

    engine: Chosen
    inproc_ms: float
    spark_ms: float
    reason: str

    def record(self) -> dict[str, Any]:
        return {"inproc_ms": round(self.inproc_ms, 1), "spark_ms": round(self.spark_ms, 1), "reason": self.reason}


def choose_engine(
    wanted: EngineName, rows: int, steps: int, cores: int, costs: EngineCosts, work: Work = "epoch"
) -> Choice:
    """The engine for so many changed rows and statements, or for a fill from so many, with so many cores for Spark."""
    here = (os.cpu_count() or 1) if work == "fill" else 1
    inproc = steps * (costs.inproc_step + rows * costs.inproc_row / here)
    spark = costs.job + steps * rows * costs.spark_row / max(cores, 1)
    if wanted != "auto":
        return Choice(wanted, inproc, spark, "forced")
    return Choice("inproc" if inproc <= spark else "spark", inproc, spark, "the lower estimate")


def crossing_point(steps: int, cores: int, costs: EngineCosts) -> int | None:
    """From how many changed rows on an epoch of so many statements is for Spark; None if it never is."""
    gained = steps * (costs.inproc_row - costs.spark_row / max(cores, 1))
    if gained <= 0:
        return None
    return max(0, int((costs.job - steps * costs.inproc_step) / gained) + 1)
