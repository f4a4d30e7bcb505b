"""The notebook is the tutorial, runs, and prints what the tutorial and the notebook's page show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.docs.blocks import blocks
from tests.docs.notebook import (
    NOTEBOOK,
    PAGE,
    TUTORIAL,
    execute,
    execute_here,
    make_notebook,
    nbformat,
    printed,
    render,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_notebook_is_the_tutorial() -> None:
    assert nbformat.reads(NOTEBOOK.read_text(encoding="utf-8"), as_version=4) == make_notebook()


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """The tests' session, which gets temporary views of the notebook's, and is rid of them afterwards."""
    yield spark
    for view in ("orders", "customers"):
        spark.catalog.dropTempView(view)


@pytest.mark.spark
def test_it_prints_what_the_pages_show(session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = execute_here(make_notebook())
    assert without_times(render(notebook)) == without_times(PAGE.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for block, cell in zip(blocks(TUTORIAL), cells, strict=True):
        assert block.prints in (None, printed(cell))


@pytest.mark.slow
@pytest.mark.spark
def test_it_runs_in_a_kernel_of_its_own(tmp_path: Path) -> None:
    found = render(execute(make_notebook(), tmp_path))
    assert without_times(found) == without_times(PAGE.read_text(encoding="utf-8"))


def without_times(text: str) -> str:
    return re.sub(r"[\d.,]+ (ms|s|B|kB)\b", "…", re.sub(r"  +", "  ", text))
