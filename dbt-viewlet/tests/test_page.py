"""The walk through examples/dbt in docs/dbt.md: its commands run, and do what the page says."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dbt.cli.main import dbtRunner

import viewlet

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "dbt.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```\nprints\n```\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(ROOT / "examples" / "dbt", tmp_path / "shop", ignore=shutil.ignore_patterns("warehouse", "target"))
    monkeypatch.chdir(tmp_path / "shop")
    return tmp_path / "shop"


def outcomes(command: str) -> Iterator[str]:
    """What a command says of each seed and model, or the rows that it shows."""
    _, *arguments = shlex.split(command)
    done = dbtRunner().invoke([*arguments, "--quiet"])
    assert done.success, command
    results: Any = done.result
    for result in results:
        if arguments[0] == "show":
            yield from (" ".join(map(str, row)) for row in result.agate_table.rows)
        elif arguments[0] != "test":
            yield f"{result.node.name} [{result.adapter_response['_message']}]"


def test_the_page_tells_what_happens(project: Path) -> None:
    assert len(BLOCKS) == 3
    for number, (commands, printed) in enumerate(BLOCKS):
        if number == 2:
            seed = project / "seeds" / "orders.csv"
            seed.write_text(seed.read_text().replace("15.50", "25.50") + "6,2,2026-04-09,100.00\n")
        assert [line for command in commands.splitlines() for line in outcomes(command)] == printed.splitlines()
    assert dbtRunner().invoke(["build", "--quiet"]).success
    with viewlet.connect(project / "warehouse") as db:
        assert db.last_epoch == 6
        assert db.check().num_rows == 0


def test_the_profile_on_the_page_is_the_example_s() -> None:
    assert (ROOT / "examples" / "dbt" / "profiles.yml").read_text() in PAGE
