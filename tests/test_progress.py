"""How far long work has come: who is told, and that nobody else sees anything."""

from __future__ import annotations

import io
import logging
import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import viewlet
from viewlet import progress
from viewlet.intake import pieces
from viewlet.progress import Progress, report, reporting, track

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HALF = Progress("view v", "1 of 2 rows", 0.5)
REACH = """WITH RECURSIVE reach(src, dst) AS (
  SELECT src, dst FROM edges UNION SELECT reach.src, edges.dst FROM reach JOIN edges ON reach.dst = edges.src
) SELECT * FROM reach"""


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def stand_in(monkeypatch: pytest.MonkeyPatch) -> _Terminal:
    """A terminal in the place of the error stream."""
    stream = _Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("COLUMNS", "200")
    return stream


def wait_for(text: str, shown: Any) -> None:
    """Until a bar's thread has drawn something."""
    end = time.monotonic() + 20
    while text not in shown():
        assert time.monotonic() < end, shown()
        time.sleep(0.01)


def test_a_bar_is_drawn_and_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = stand_in(monkeypatch)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    with reporting(True):
        report("view v", "1 of 2 rows", 0.5)
        wait_for("view v  " + "█" * 15 + "░" * 15 + "  1 of 2 rows  ", terminal.getvalue)
        report("view v", "round 7")  # of which the end is not known
        wait_for("view v  round 7  ", terminal.getvalue)
    assert terminal.getvalue().endswith("\r\x1b[K")
    drawn = len(terminal.getvalue())
    report("view v", "2 of 2 rows", 1.0)
    assert len(terminal.getvalue()) == drawn


def test_what_is_quick_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 60.0)
    terminal = stand_in(monkeypatch)
    with reporting(True):
        report("view v", "1 of 2 rows", 0.5)
    assert terminal.getvalue() == ""


def test_a_line_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    stream = _Terminal()
    progress.Terminal(stream).draw(HALF, 1.0)
    assert len(stream.getvalue().removeprefix("\r").removesuffix("\x1b[K")) == 39


def test_without_a_terminal_the_log_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    for asked in (True, False, None):
        caplog.clear()
        with caplog.at_level(logging.INFO, "viewlet"), reporting(asked):
            report("view v", "1 of 2 rows", 0.5)
            report("view v", "2 of 2 rows", 1.0)  # within the same second
        assert caplog.messages == ["view v: 1 of 2 rows"]
    assert capsys.readouterr() == ("", "")


def test_who_asked_is_told_everything_and_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = stand_in(monkeypatch)
    outer: list[Progress] = []
    inner: list[Progress] = []
    with reporting(outer.append):
        with reporting(None, True):  # what a warehouse does unless a call asks
            report(HALF.subject, HALF.text, HALF.fraction)
        with reporting(inner.append):
            report("t", "there")
        report("t", "back")
    assert outer == [HALF, Progress("t", "back")]
    assert inner == [Progress("t", "there")]
    assert terminal.getvalue() == ""


def test_a_notebook_shows_a_bar_in_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    shell: Any = InteractiveShell.instance()
    monkeypatch.setattr(shell, "kernel", SimpleNamespace(), raising=False)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    with capture_output() as cell, reporting(True):
        report("view <v>", "1 of 2 rows", 0.5)
        wait_for("1 of 2", lambda: str(shell.display_pub.outputs))
    shown = [output.data["text/html"] for output in cell.outputs]
    assert re.fullmatch(
        r'<progress value="0.500"></progress> view &lt;v&gt;: 1 of 2 rows <small>.* m?s</small>', shown[0]
    )
    assert shown[-1] == ""


def test_items_move_a_bar_on_a_terminal_only() -> None:
    terminal, file = _Terminal(), io.StringIO()
    assert list(track([1, 2], "work", stream=terminal)) == [1, 2]
    assert list(track([1, 2], "work", stream=file)) == [1, 2]
    assert terminal.getvalue().count("\r") == 3
    assert terminal.getvalue().endswith("\n")
    assert file.getvalue().startswith("work  2 of 2")
    assert file.getvalue().count("\n") == 1


@pytest.mark.spark
def test_fills_loops_and_checks_report(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewlet.engine.stream.PIECE", 4)
    told: list[Progress] = []
    with viewlet.connect(tmp_path / "w", spark=spark, progress=told.append) as db:
        db.create_table("edges", "src BIGINT, dst BIGINT", rows=[(i, i + 1) for i in range(10)])
        db.create_view("degrees", "SELECT src, count(*) AS n FROM edges GROUP BY src")
        assert str(told[0]) == "view degrees: computing from 10 rows of edges"
        assert told[-1].text.endswith("10 of 10 rows of edges")
        fractions = [t.fraction for t in told[1:] if t.fraction is not None]
        assert fractions == sorted(fractions)
        assert 0 < fractions[0] <= fractions[-1] <= 1
        told.clear()
        db.sql(f"CREATE MATERIALIZED VIEW reach AS {REACH}")
        assert [t.text for t in told if "round 3," in t.text]
        told.clear()
        db.insert("edges", [(20, 0)])  # the rounds of an epoch, too
        assert {t.subject for t in told} == {"view reach"}
        told.clear()
        assert db.check().num_rows == 0
        assert told == [
            Progress("check", "view degrees, 1 of 2", 0.0),
            Progress("check", "view reach, 2 of 2", 0.5),
        ]
        alone: list[Progress] = []
        db.check("degrees", progress=alone.append)
        assert alone == [Progress("check", "view degrees")]
        assert len(told) == 2


@pytest.mark.parametrize("kind", ["table", "list", "frame", "files", "stream"])
def test_loads_know_their_size_where_it_can_be_known(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    monkeypatch.setattr(pieces, "PIECE", 100)
    table = pa.table({"n": range(250)})
    (tmp_path / "files").mkdir()
    for at in (0, 1):
        pq.write_table(table.slice(125 * at, 125), tmp_path / "files" / f"{at}.parquet")
    data = {
        "table": table,
        "list": [(n,) for n in range(250)],
        "frame": table.to_pandas(),
        "files": tmp_path / "files",
        "stream": iter(table.to_batches(50)),
    }[kind]
    told: list[Progress] = []
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", "n BIGINT")
        db.load("t", data, progress=told.append)
    of, whole = ("", None) if kind == "stream" else (" of 250", 1.0)
    assert told[-1] == Progress("table t", f"250{of} rows taken in", whole)
    assert len(told) > 1
