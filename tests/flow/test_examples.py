"""The example programs run by themselves, and print what their comments promise."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "flows"
PRINTED = {
    "crawl": "crawl 2: ",
    "median": "with [60, 61, 62, 63]: median 60, runs {'histogram': 2, 'locate': 1}\n",
    "cube": "query 0: 0 rows on days 1 and 2, 0 in all\nquery 1: 4 rows on days 1 and 2, 64 in all\nquery 2: 8 rows",
    "people": "two people: [(1, 1), (2, 2), (3, 2)]\n",
    "windows": "joined: [(1, 'ann', 7, 30), (2, 'bob', 9, 20)]\nthe last days of ann: [1, 11, 111, 1110]\n",
}


def test_every_program_is_here() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} - {"__init__"} == set(PRINTED)


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_runs(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    assert PRINTED[name] in capsys.readouterr().out
