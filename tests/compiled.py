"""Tests that run on the compiled inner loops, where they are built, and on NumPy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from viewlet.columns import native


@pytest.fixture(params=["compiled", "NumPy"], scope="module", autouse=True)
def either_way(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "NumPy":
            patch.setattr(native, "kernels", None)
        yield
