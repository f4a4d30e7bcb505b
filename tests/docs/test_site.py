"""The site is built without a warning, has every page, and fetches nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(place)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (0, "")
    return place


def test_every_page_is_there_and_in_the_navigation(site: Path) -> None:
    home = (site / "index.html").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert (site / f"{page.stem}.html").exists(), page
        assert f'href="{page.stem}.html"' in home, page


def test_the_reference_has_what_is_public(site: Path) -> None:
    text = (site / "reference.html").read_text(encoding="utf-8")
    for name in ("viewlet.connect", "viewlet.Database.explain", "viewlet.Database.ui", "viewlet.Relation.changes"):
        assert f'id="{name}"' in text, name


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    fetched = re.compile(
        r"""<(?:script|img)[^>]+src=["']?(https?:)?//|<link[^>]+rel=["']?stylesheet[^>]+href=["']?(https?:)?//"""
    )
    assert not [page.name for page in site.rglob("*.html") if fetched.search(page.read_text(encoding="utf-8"))]
