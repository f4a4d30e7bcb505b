"""What the fuzzer has found, replayed: every file in tests/oracle/found, on the engine that it was found on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.oracle import found
from tests.oracle.cases import Case, cases
from tests.oracle.play import play

FILES = sorted(found.FOUND.glob("*.json"))
LONG = ("63fa60087b", "95556ea47c", "bc1eb15444", "bcc7022c8c", "d415e55409", "f9ec97f4fd", "fba1ae136c")
"""Those that take several seconds: `make test-all` plays them."""
PLAYED = [pytest.param(path, marks=[pytest.mark.slow] * (path.stem in LONG), id=path.stem) for path in FILES]


@pytest.mark.spark
@pytest.mark.parametrize("path", PLAYED)
def test_found_case(path: Path, tmp_path: Path, spark: Any) -> None:
    case, engine = found.read(path)
    play(case, tmp_path / "w", spark, engine)


def test_a_case_comes_back_from_its_file(tmp_path: Path) -> None:
    @settings(
        max_examples=30, database=None, derandomize=True, phases=[Phase.generate], suppress_health_check=[*HealthCheck]
    )
    @given(case=cases(depth=3))
    def check(case: Case) -> None:
        back, engine = found.read(found.write(case, "inproc", "a test", tmp_path))
        assert engine == "inproc"
        assert repr(back) == repr(case)

    check()
