"""Choosing the engine for an epoch or a fill: the one with the lower estimated time.

In process, a step handles its rows one after the other in an epoch, and on all cores of this machine in a fill. On
Spark, all steps are one job. The costs of a job and of a row are measured when they first matter
(`cluster/calibrate.py`) and stored with the warehouse; until then, defaults measured on two cores apply. Either engine
gives the same result.
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
    """Costs in milliseconds: in process, of a step and of a row in it; on Spark, of a job and of a row on one core."""

    inproc_step: float = 0.6
    inproc_row: float = 0.0002
    job: float = 1000.0
    spark_row: float = 0.0008

    def document(self) -> dict[str, float]:
        return {name: round(value, 7) for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen engine, with the estimated milliseconds of both."""

    engine: Chosen
    inproc_ms: float
    spark_ms: float
    reason: str

    def record(self) -> dict[str, Any]:
        return {"inproc_ms": round(self.inproc_ms, 1), "spark_ms": round(self.spark_ms, 1), "reason": self.reason}


def choose_engine(
    wanted: EngineName, rows: int, steps: int, cores: int, costs: EngineCosts, work: Work = "epoch"
) -> Choice:
    """The engine for an epoch with this many changed rows and statements, or for a fill; `cores` are Spark's."""
    here = (os.cpu_count() or 1) if work == "fill" else 1
    inproc = steps * (costs.inproc_step + rows * costs.inproc_row / here)
    spark = costs.job + steps * rows * costs.spark_row / max(cores, 1)
    if wanted != "auto":
        return Choice(wanted, inproc, spark, "forced")
    return Choice("inproc" if inproc <= spark else "spark", inproc, spark, "the lower estimate")


def crossing_point(steps: int, cores: int, costs: EngineCosts) -> int | None:
    """The number of changed rows from which an epoch runs on Spark; None if it never does."""
    gained = steps * (costs.inproc_row - costs.spark_row / max(cores, 1))
    if gained <= 0:
        return None
    return max(0, int((costs.job - steps * costs.inproc_step) / gained) + 1)
