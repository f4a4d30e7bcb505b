"""Functions of the user's own: kept with their name, called so that what they raise is told as the pipeline's error."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from viewlet.errors import EvaluationError, StoreError, UntrustedCode


@dataclass(frozen=True, slots=True)
class Function:
    """Something that can be called, or an object whose methods can, and the name by which it is shown."""

    name: str
    code: Any

    def __call__(self, *arguments: Any, method: str = "__call__") -> Any:
        """Whatever it raises is an error of the pipeline."""
        try:
            return getattr(self.code, method)(*arguments)
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            raise EvaluationError(f"{type(error).__name__}: {error}, in the function {self.name}") from error


def function(code: Callable[..., Any]) -> Function:
    """A function under its own name."""
    name = getattr(code, "__name__", type(code).__name__)
    return Function("a function" if name == "<lambda>" else name, code)


def to_text(one: Function) -> str:
    """The code by value, or by the name of its module where it has one."""
    from pyspark.cloudpickle import dumps

    code: bytes = dumps(one.code)  # type: ignore[no-untyped-call]
    return base64.b64encode(code).decode()


def from_text(name: str, text: str, *, trusted: bool) -> Function:
    """What `to_text` wrote; code that is not trusted is kept out, and missed only when it is called."""
    return Function(name, _load(name, text) if trusted else _Untrusted(name))


def _load(name: str, text: str) -> Any:
    try:
        return pickle.loads(base64.b64decode(text))
    except (ImportError, AttributeError, TypeError, ValueError, pickle.UnpicklingError) as error:
        raise StoreError(
            f"the function {name} cannot be loaded here: {error}", hint="make its module importable (PYTHONPATH)"
        ) from None


class _Untrusted:
    """Stands for code that is not to run."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *_: Any) -> Any:
        raise UntrustedCode(
            f"the function {self.name} is stored code, and the warehouse was opened with trust=False",
            hint="open it with trust=True if you trust who wrote it",
        )

    recompute = update = result = __call__
