"""What a function of the user's own gives: found by calling it once on a few numbers, when the pipeline is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from viewlet.errors import EvaluationError, UnsupportedQuery, WrongArgument
from viewlet.signal.functions import Function
from viewlet.signal.kinds import Kind
from viewlet.signal.ragged import Values

ROWS = 2


def probe_samples(own: Function, kind: Kind, channels: Sequence[str] | None) -> tuple[tuple[str, ...], bool]:
    """The channels that a function of samples gives, and whether they are complex."""
    parts = _call(own, kind)
    wanted = (ROWS,) if kind.width is None else (ROWS, kind.width)
    for part in parts:
        if part.shape != wanted:
            raise UnsupportedQuery(
                f"{own.name} gives an array of {part.shape} for samples of {wanted}", hint="a number for each sample"
            )
    return names_of(kind, len(parts), channels), any(np.iscomplexobj(part) for part in parts)


def probe_windows(own: Function, kind: Kind) -> tuple[tuple[str, ...], int | None, bool]:
    """The channels that a function of windows gives, the width of each, and whether they are complex."""
    parts = _call(own, kind)
    shapes = {part.shape[1:] for part in parts}
    if len(shapes) != 1 or any(len(part) != ROWS or part.ndim > 2 for part in parts):
        raise UnsupportedQuery(f"{own.name} gives no row for each window", hint="return an array with a row for each")
    width = next(iter(shapes))
    return names_of(kind, len(parts), None), width[0] if width else None, any(np.iscomplexobj(p) for p in parts)


def _call(own: Function, kind: Kind) -> list[Values]:
    shape = (ROWS,) if kind.width is None else (ROWS, kind.width)
    numbers = np.linspace(1.0, 2.0, int(np.prod(shape))).reshape(shape)
    given = numbers.astype(np.complex128) if kind.is_complex else numbers
    try:
        with np.errstate(all="ignore"):
            found: Any = own(*(given for _ in kind.channels))
    except EvaluationError as error:
        raise UnsupportedQuery(error.message, hint=f"it is called with arrays of {shape}") from error
    return [np.asarray(part) for part in (found if isinstance(found, tuple) else (found,))]


def names_of(kind: Kind, count: int, given: Sequence[str] | None) -> tuple[str, ...]:
    """Names for so many channels: those that are given, or those that were there, as far as they go."""
    if given is not None:
        if isinstance(given, str) or len(given) != count or len(set(given)) != count:
            raise WrongArgument(f"{count} channels, and the names {given!r}", hint="a name for each")
        return tuple(given)
    if count <= len(kind.channels):
        return kind.channels[:count]
    return tuple(f"{kind.channels[0]}_{i + 1}" for i in range(count))
