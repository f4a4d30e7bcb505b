"""Parameters: the values of a statement's markers, `:name` and `?`.

Spark binds the markers of queries and expressions that it gets. As these can be in another order than in the statement,
positional markers are first replaced by named ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from viewlet.errors import SqlError, kind_of
from viewlet.plan.words import read_words

Parameters = Mapping[str, Any]
_POSITION = "viewlet_{}"


def name_markers(
    text: str, given: Mapping[str, Any] | Sequence[Any] | None, named: Mapping[str, Any]
) -> tuple[str, Parameters]:
    """A statement with named markers only, and their values."""
    if given is None or isinstance(given, Mapping):
        return text, {**(given or {}), **named}
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        raise SqlError(f"parameters are a list, for ?, or a dict, for :name, not {kind_of(given)}")
    if named:
        raise SqlError("parameters go by position or by name, not both", hint="use :name for all of them")
    return _numbered(text, len(given)), {_POSITION.format(i): value for i, value in enumerate(given)}


def _numbered(text: str, count: int) -> str:
    """The text with every `?` replaced by a name with its number."""
    markers = [word for word in read_words(text) if word.key == "?"]
    if len(markers) != count:
        raise SqlError(f"the statement has {len(markers)} markers `?`, and {count} parameters are given")
    ends = [0, *(word.end for word in markers)]
    starts = [*(word.start for word in markers), len(text)]
    pieces = [text[start:end] for start, end in zip(ends, starts, strict=True)]
    return pieces[0] + "".join(f":{_POSITION.format(i)}{piece}" for i, piece in enumerate(pieces[1:]))


def value_of(parameters: Parameters, name: str) -> Any:
    """The value of a marker."""
    if name not in parameters:
        given = ", ".join(parameters) or "none"
        raise SqlError(f"there is no value for the parameter :{name}", hint=f"given: {given}")
    return parameters[name]
