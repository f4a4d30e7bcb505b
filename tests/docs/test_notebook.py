"""The notebook is the tutorial, runs, and prints what its page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.notebook import NOTEBOOK, PAGE, execute, make_notebook, nbformat, render


def test_the_notebook_is_the_tutorial() -> None:
    assert nbformat.reads(NOTEBOOK.read_text(encoding="utf-8"), as_version=4) == make_notebook()


@pytest.mark.slow
@pytest.mark.spark
def test_the_notebook_runs_and_prints_what_its_page_shows(tmp_path: Path) -> None:
    found = render(execute(make_notebook(), tmp_path))
    assert without_times(found) == without_times(PAGE.read_text(encoding="utf-8"))


def without_times(text: str) -> str:
    return re.sub(r"[\d.,]+ (ms|s|B|kB)\b", "…", re.sub(r"  +", "  ", text))
