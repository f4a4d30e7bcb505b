"""Parameters of which `make test` plays some, and `make test-all` all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, TypeVar

import pyarrow as pa
import pytest

T = TypeVar("T")
STRING_VIEWS = pytest.mark.skipif(
    int(pa.__version__.partition(".")[0]) < 18, reason="Delta Lake, Iceberg, Polars and the generator need PyArrow 18"
)
"""For tests of packages that hand over string views, which earlier versions of PyArrow do not convert."""
THOROUGH = os.environ.get("VIEWLET_TEST_PROFILE") == "thorough"


def rounds(quick: int, thorough: int) -> int:
    """How often a test goes round, in `make test` and in `make test-all`."""
    return thorough if THOROUGH else quick


def some(step: int, values: Iterable[T]) -> list[T]:
    """Every so many of the values, the first among them, in `make test`; all of them in `make test-all`."""
    return list(values)[:: rounds(step, 1)]


def quickly(count: int, values: Iterable[Any]) -> list[Any]:
    """The values, those after the first few marked as slow."""
    return [value if at < count else _slow(value) for at, value in enumerate(values)]


def _slow(value: Any) -> Any:
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow)
