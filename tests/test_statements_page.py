"""Every example of docs/statements.md runs, in its order, through `db.sql` and from a file."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import viewlet
from viewlet.sql import parse, split

PAGE = (Path(__file__).parent.parent / "docs" / "statements.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(sql|python)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_page_shows_every_statement() -> None:
    shown = {type(parse(text)) for kind, block in BLOCKS if kind == "sql" for _, text in split(block)}
    known = set(viewlet.sql.Statement.__args__)
    assert shown == known


@pytest.mark.spark
def test_the_page_runs(tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "landing").mkdir()
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        for kind, block in BLOCKS:
            if kind == "python":
                exec(block, {"db": db, "Decimal": Decimal})
            for _, text in split(block) if kind == "sql" else ():
                db.sql(text)
        rows = {1: (7, "90.00"), 4: (9, "75.25"), 5: (8, "12.50"), 6: (9, "30.00"), 3: (9, "0.00")}
        assert {r[0]: (r[1], str(r[2])) for r in db.table("orders").rows()} == rows
        assert dict(db.table("spend").rows()) == {7: Decimal("90.00"), 8: Decimal("12.50"), 9: Decimal("105.25")}
