"""Options of a matrix program: number types, health checks, and the expected changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from viewlet.engine.choose import EngineName
from viewlet.errors import WrongArgument
from viewlet.matrix.blocks.evaluate import RESIDENT
from viewlet.matrix.compile.compiled import Expected
from viewlet.matrix.compile.machine import Machine
from viewlet.matrix.refresh.start import TOLERANCE

OPTIONS = ("model", "strategy", "expected", "machine")


@dataclass(frozen=True)
class Settings:
    """The arguments of `MatrixProgram.start` other than matrices."""

    dtype: str = "float64"
    tolerance: float = TOLERANCE[np.dtype(np.float64)]
    probes: int = 2
    options: Mapping[str, Any] = field(default_factory=dict)
    resident: int | None = None
    """The most entries of a matrix in memory; larger ones are in blocks. None: all are in memory."""

    def start(self) -> dict[str, Any]:
        return {"dtype": self.dtype, "tolerance": self.tolerance, "probes": self.probes, "options": self.options}

    def to_json(self) -> dict[str, Any]:
        plain = {k: v if isinstance(v, str) else asdict(v) for k, v in self.options.items()}
        return {**self.start(), "options": plain, "resident": self.resident}

    @staticmethod
    def from_json(document: Mapping[str, Any]) -> Settings:
        made: dict[str, type[Expected | Machine]] = {"expected": Expected, "machine": Machine}
        options = {k: made[k](**v) if k in made else v for k, v in document["options"].items()}
        resident = document.get("resident")
        return Settings(document["dtype"], document["tolerance"], document["probes"], options, resident)


def settings_of(
    dtype: Any,
    tolerance: float | None,
    probes: int,
    options: Mapping[str, Any] | None,
    resident: int | None,
    engine: EngineName,
) -> Settings:
    """Validate a user's options."""
    limit = RESIDENT if resident is None and engine == "spark" else resident
    if resident is not None and resident < 1:
        raise WrongArgument(f"resident is {resident}", hint="a number of entries, such as 1 << 24")
    kind = np.dtype(np.float64 if dtype is None else dtype)
    if kind not in TOLERANCE:
        raise WrongArgument(f"matrices of {kind} are not maintained", hint="float64 or float32")
    if unknown := sorted((options or {}).keys() - set(OPTIONS)):
        raise WrongArgument(f"there is no option {unknown[0]}", hint=f"there are {', '.join(OPTIONS)}")
    return Settings(kind.name, TOLERANCE[kind] if tolerance is None else tolerance, probes, dict(options or {}), limit)
