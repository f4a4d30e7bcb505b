"""User functions in pipelines: named, storable, and with exceptions turned into the pipeline's errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from viewlet.errors import EvaluationError
from viewlet.warehouse.declare.users_code import from_text, refuse_untrusted, to_text


@dataclass(frozen=True, slots=True)
class Function:
    """A callable, or an object with methods to call, and its name for display."""

    name: str
    code: Any

    def __call__(self, *arguments: Any, method: str = "__call__") -> Any:
        """Call it, turning any exception into an error of the pipeline."""
        try:
            return getattr(self.code, method)(*arguments)
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            raise EvaluationError(f"{type(error).__name__}: {error}, in the function {self.name}") from error


def function(code: Callable[..., Any]) -> Function:
    """Wrap a function under its own name."""
    name = getattr(code, "__name__", type(code).__name__)
    return Function("a function" if name == "<lambda>" else name, code)


def function_text(one: Function) -> str:
    """The code of a function as text."""
    return to_text(f"the function {one.name}", one.code)


def read_function(name: str, text: str, *, trusted: bool) -> Function:
    """Load what `function_text` returned; untrusted code is not loaded, and raises when called."""
    return Function(name, from_text(f"the function {name}", text) if trusted else _Untrusted(name))


class _Untrusted:
    """A placeholder for untrusted code."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *_: Any) -> Any:
        refuse_untrusted(f"the function {self.name}")

    recompute = update = result = __call__
