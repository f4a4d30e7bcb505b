"""The group of an error: its position is recorded where the error is raised, its key is added by a caller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask
from viewlet.errors import EvaluationError


@dataclass(frozen=True, slots=True)
class GroupAt:
    """The position of a group among those evaluated together."""

    place: int


def failure_of(failing: Mask, reason: str, hint: str | None = None) -> EvaluationError:
    """The error for the first failing group."""
    error = EvaluationError(reason, hint=hint)
    error.site = GroupAt(int(np.flatnonzero(failing)[0]))
    return error


@contextmanager
def naming_group(keys: Mapping[str, pa.Array]) -> Iterator[None]:
    """Add the keys of the failing group to errors in the block; `keys` are those of all groups."""
    try:
        yield
    except EvaluationError as error:
        if isinstance(error.site, GroupAt):
            error.group = {name: values[error.site.place].as_py() for name, values in keys.items()}
            error.site = None
        raise
