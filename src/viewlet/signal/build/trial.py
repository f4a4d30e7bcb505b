"""Infers what a user function returns by calling it on a few numbers when the pipeline is built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from viewlet.errors import EvaluationError, UnsupportedQuery, WrongArgument
from viewlet.signal.plan.functions import Function
from viewlet.signal.plan.kinds import Kind
from viewlet.signal.plan.nodes import Form
from viewlet.signal.samples.ragged import Values

ROWS = 2


def probe_samples(
    own: Function, kind: Kind, channels: Sequence[str] | None, is_timed: bool
) -> tuple[tuple[str, ...], Form]:
    """The channels that a function of samples returns, and their form; `is_timed`: it receives times, too."""
    parts = _call(own, kind, *([np.arange(ROWS)] if is_timed else []))
    shapes = {part.shape for part in parts}
    if kind.width is None and shapes != {(ROWS,)}:
        raise UnsupportedQuery(
            f"{own.name} returned {' and '.join(map(str, shapes))} for samples of {(ROWS,)}",
            hint="a number for each sample",
        )
    return names_of(kind, len(parts), channels), _form_of_all(own, parts)


def probe_windows(own: Function, kind: Kind) -> tuple[tuple[str, ...], Form]:
    """The channels that a function of windows returns, and their form."""
    parts = _call(own, kind)
    return names_of(kind, len(parts), None), _form_of_all(own, parts)


def _form_of_all(own: Function, parts: list[Values]) -> Form:
    forms = [_form(own, part) for part in parts]
    if len({form.width for form in forms}) > 1:
        raise UnsupportedQuery(f"{own.name} returned channels of different widths", hint="one width for all of them")
    return Form(forms[0].width, any(form.is_complex for form in forms))


def probe_operator(own: Function, kind: Kind, hop: int) -> tuple[Form, Form]:
    """The forms of a window operator's states and results."""
    assert kind.width is not None
    numbers = _numbers((ROWS, kind.width + hop), kind)
    window, later = numbers[:, : kind.width], numbers[:, hop:]
    try:
        with np.errstate(all="ignore"):
            state = np.asarray(own(window, method="recompute"))
            if hop < kind.width:
                gone, come = numbers[:, :hop], numbers[:, kind.width :]
                _refuse_other(own, state, np.asarray(own(state, later, gone, come, method="update")))
            result = np.asarray(own(state, method="result")) if hasattr(own.code, "result") else state
    except EvaluationError as error:
        raise UnsupportedQuery(error.message, hint=f"it is called with windows of {window.shape}") from error
    return _form(own, state), _form(own, result)


def _refuse_other(own: Function, state: Values, updated: Values) -> None:
    if updated.shape != state.shape or np.iscomplexobj(updated) > np.iscomplexobj(state):
        raise UnsupportedQuery(
            f"{own.name}.update gives {updated.dtype} of {updated.shape}, recompute {state.dtype} of {state.shape}",
            hint="both give the state: a row for each window",
        )


def _form(own: Function, found: Values) -> Form:
    if found.ndim not in (1, 2) or len(found) != ROWS:
        raise UnsupportedQuery(
            f"{own.name} did not return a row for each window or sample", hint="return an array with a row for each"
        )
    return Form(found.shape[1] if found.ndim == 2 else None, np.iscomplexobj(found))


def _call(own: Function, kind: Kind, *before: Values) -> list[Values]:
    shape = (ROWS,) if kind.width is None else (ROWS, kind.width)
    given = _numbers(shape, kind)
    try:
        with np.errstate(all="ignore"):
            found: Any = own(*before, *(given for _ in kind.channels))
    except EvaluationError as error:
        raise UnsupportedQuery(error.message, hint=f"it is called with arrays of {shape}") from error
    return [np.asarray(part) for part in (found if isinstance(found, tuple) else (found,))]


def _numbers(shape: tuple[int, ...], kind: Kind) -> Values:
    """Arguments for a trial call."""
    numbers = np.linspace(1.0, 2.0, int(np.prod(shape))).reshape(shape)
    return numbers.astype(np.complex128) if kind.is_complex else numbers


def names_of(kind: Kind, count: int, given: Sequence[str] | None) -> tuple[str, ...]:
    """Names for `count` channels: those given, else the present ones if there are enough, else numbered ones."""
    if given is not None:
        if isinstance(given, str) or len(given) != count or len(set(given)) != count:
            raise WrongArgument(f"{count} channels, and the names {given!r}", hint="a name for each")
        return tuple(given)
    if count <= len(kind.channels):
        return kind.channels[:count]
    return tuple(f"{kind.channels[0]}_{i + 1}" for i in range(count))
