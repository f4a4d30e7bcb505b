"""The code of docs/flows.md runs, in its order, and prints what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent.parent / "docs" / "flows.md"


def test_the_page_says_what_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(block, names)
    printed = re.findall(r"prints\n```\n(.*?)```", text, re.DOTALL)
    assert capsys.readouterr().out == "".join(printed)
    names["db"].close()  # type: ignore[attr-defined]
