"""Parameters of which `make test` plays some, and `make test-all` all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def quickly(count: int, values: Iterable[Any]) -> list[Any]:
    """The values, those after the first few marked as slow."""
    return [value if at < count else _slow(value) for at, value in enumerate(values)]


def _slow(value: Any) -> Any:
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow)
