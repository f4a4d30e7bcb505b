"""Every code block of every page runs, and prints what the page says. A new page is run as it is."""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import viewlet
from tests.docs.blocks import ROOT, RUNNERS, all_blocks, blocks, run
from tests.docs.settings import SETTINGS, Setting
from tests.kafka_cluster import Cluster
from tests.storage.server import Bucket
from viewlet.ui.server import Page as Served

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ELSEWHERE = {
    "statements.md": "tests/test_statements_page.py",
    "loops.md": "tests/loops/test_loop_views.py",
    "tutorial.md": "tests/docs/test_notebook.py",
    "dbt.md": "dbt-viewlet/tests/test_page.py",
}
"""Pages whose blocks other tests run, and compare what comes of them."""
ALL = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES = [page for page in ALL if blocks(page)]
SHOWN = {"", "py"}
"""What is not run: outputs and grammars; the cells of the notebook's page, which is made by running them."""
_CODE = re.compile(r"^(viewlet|pip|make|%|import|from|db|CREATE|SELECT|INSERT)\b", re.MULTILINE)


def test_pages_that_run_elsewhere_are_there() -> None:
    for page, test in ELSEWHERE.items():
        assert (ROOT / "docs" / page).exists(), page
        assert (ROOT / test).exists(), test


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.name)
def test_no_block_is_left_out(page: Path) -> None:
    for block in all_blocks(page):
        assert block.language in {*RUNNERS, *SHOWN}, block
        assert block.language or not _CODE.search(block.text), block


@pytest.mark.spark
@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in ELSEWHERE], ids=lambda page: page.name)
def test_the_code_of_a_page_runs(
    page: Path, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    setting = SETTINGS.get(page.name, Setting())
    addresses = {f"{{{name}}}": _address(request.getfixturevalue(name)) for name in setting.needs}
    addresses["{folder}"] = str(tmp_path)
    for name, value in setting.environment.items():
        monkeypatch.setenv(name, value)
    before = {number: _with(addresses, code) for number, code in setting.before.items()}
    replaced = {example: _with(addresses, real) for example, real in setting.replaced.items()}
    _end_what_has_no_end(monkeypatch)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    try:
        for block, printed in run(page, names, before, replaced):
            assert block.prints in (None, printed)
        exec(before.get(len(blocks(page)), ""), names)
    finally:
        if "db" in names:
            names["db"].close()


def _address(server: Any) -> str:
    match server:
        case Cluster():
            return server.servers
        case Bucket():
            return f"s3://{server.name}"
    return str(server)


def _with(addresses: dict[str, str], text: str) -> str:
    for name, address in addresses.items():
        text = text.replace(name, address)
    return text


def _end_what_has_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = viewlet.Database.watch
    monkeypatch.setattr(
        viewlet.Database, "watch", lambda db, *tables, **how: watch(db, *tables, **{**how, "seconds": 0})
    )
    monkeypatch.setattr(Served, "run", _run_in_threads_only(Served.run))
    monkeypatch.setattr("sys.stdin", io.StringIO())  # the shell's


def _run_in_threads_only(run: Callable[[Served], None]) -> Callable[[Served], None]:
    """The command line's page, which is served by the main thread, ends at once."""

    def ended(page: Served) -> None:
        if threading.current_thread() is threading.main_thread():
            page._bound.close()
        else:
            run(page)

    return ended


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = [t for t in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in t]
    assert [t for t in targets if not (page.parent / t).exists()] == []
