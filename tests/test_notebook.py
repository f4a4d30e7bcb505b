"""Notebooks and habits: what objects show, the magics, Arrow's C stream, the shell, metrics, lineage."""

from __future__ import annotations

import io
import json
import logging
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import polars
import pyarrow as pa
import pytest
from IPython.core.interactiveshell import InteractiveShell
from openlineage.client import OpenLineageClient
from openlineage.client.transport.file import FileConfig, FileTransport
from prometheus_client.parser import text_string_to_metric_families

import viewlet
from tests.marks import STRING_VIEWS
from viewlet.cli.main import main
from viewlet.cli.shell import Completer, shell
from viewlet.columns.rows import Rows
from viewlet.errors import RejectedEpoch, ViewletError
from viewlet.monitor.metrics import serve_metrics
from viewlet.monitor.openlineage_events import Lineage
from viewlet.store.contents import Contents
from viewlet.store.table_contents import TableContents


@pytest.fixture
def db(tmp_path: Path) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("orders", "id BIGINT, `<b>` STRING, total DOUBLE", primary_key="id")
        db.insert("orders", [(1, "<i>", 1.5), (2, None, math.nan)])
        yield db


def text_of(html: str) -> list[str]:
    """The cells of a table, without markup; what is escaped stays so."""
    return re.findall(r"<(?:td|th|caption)\b[^>]*>(.*?)</(?:td|th|caption)>", html)


def test_a_table_shows_rows_types_and_freshness(db: viewlet.Database) -> None:
    found = text_of(db.table("orders")._repr_html_())
    assert re.fullmatch(r"table orders: 2 rows at epoch 2, changed in epoch 2, (now|\d+ s ago)", found[0])
    assert found[1:4] == [
        f"{n}<br><small>{t}</small>" for n, t in (("id", "int64"), ("&lt;b&gt;", "string"), ("total", "double"))
    ]
    rows = [found[i : i + 3] for i in range(4, len(found), 3)]
    assert sorted(rows) == [["1", "&lt;i&gt;", "1.5"], ["2", "NULL", "nan"]]


def test_a_long_table_shows_its_first_rows(db: viewlet.Database) -> None:
    db.insert("orders", [(i, "x", 0.0) for i in range(10, 110)])
    assert db.table("orders")._repr_html_().count("<tr>") == 21


@pytest.mark.parametrize("name", ["orders", "smooth"])
def test_a_look_at_the_first_rows_reads_no_others(
    db: viewlet.Database, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.create_signal("smooth", _signal(db))
    for start in (0, 20_000):
        db.insert("orders", [(i, "x", 0.0) for i in range(start + 100, start + 20_100)])
        db.insert("readings", [("m", datetime.fromtimestamp(start + i, UTC), 1.0 + i % 7) for i in range(3_000)])
    db.delete("orders", [(i,) for i in range(100, 5_000)])
    everything, read = Counter(map(repr, db.table(name).arrow().to_pylist())), list[int]()

    def scan(contents: Contents, scan: Callable[[Contents], Rows] = Contents.scan) -> Rows:
        rows = scan(contents)
        read.append(len(rows))
        return rows

    monkeypatch.setattr(Contents, "scan", scan)
    monkeypatch.delattr(TableContents, "scan")  # which reads all files
    found = db.table(name).head(50)
    monkeypatch.undo()
    assert sum(read) < 1_000
    assert (found.num_rows, found.schema.names) == (50, db.table(name).columns)
    assert Counter(map(repr, found.to_pylist())) <= everything
    assert db.table(name).head(10**6).num_rows == len(db.table(name))
    assert db.table(name).as_of(db.last_epoch - 1).head(3).num_rows == 3


def test_a_warehouse_shows_what_it_holds(db: viewlet.Database) -> None:
    db.create_signal("smooth", _signal(db))
    cells = text_of(db._repr_html_())
    assert cells[0].endswith("epoch 4, 3 nodes")
    assert [cells[i : i + 3] for i in range(7, len(cells), 6)] == [
        ["orders", "table", "2"],
        ["readings", "table", "0"],
        ["smooth", "signal", "0"],
    ]


def _signal(db: viewlet.Database) -> Any:
    db.create_table("readings", "machine STRING, at TIMESTAMP, mm DOUBLE")
    return db.signal("readings", by="machine", time="at", value="mm").sample("1 s")


def test_an_epoch_shows_what_it_changed(db: viewlet.Database) -> None:
    with db.epoch() as e:
        e.upsert("orders", [(1, "a", 2.0), (3, "b", 3.0)])
        assert e._repr_html_() == "&lt;open epoch: changes of orders&gt;"
    cells = text_of(e._repr_html_())
    assert cells[0].startswith(f"epoch {e.number}: ")
    assert cells[6:10] == ["orders", "table", "+2", "−1"]


@STRING_VIEWS
def test_polars_and_arrow_take_tables_and_give_them_back(db: viewlet.Database) -> None:
    orders = db.table("orders")
    frame = polars.DataFrame(orders).sort("id")
    assert frame.rows()[0] == (1, "<i>", 1.5)
    assert math.isnan(frame.rows()[1][2])
    assert str(pa.table(orders)) == str(orders.arrow())
    db.insert("orders", frame.with_columns(polars.col("id") + 10))
    db.insert("orders", pa.RecordBatchReader.from_stream(orders).read_all().slice(0, 0))
    totals = {row[0]: row[2] for row in db.table("orders")}
    assert set(totals) == {1, 2, 11, 12}
    assert math.isnan(totals[12])  # a number, not a missing one


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.chdir(tmp_path)
    session: Any = InteractiveShell.instance()
    session.run_line_magic("load_ext", "viewlet")
    session.user_ns.pop("db", None)
    yield session
    if "db" in session.user_ns:
        session.user_ns.pop("db").close()


def test_cells_of_statements(notebook: Any) -> None:
    opened = notebook.run_line_magic("viewlet", "shop")
    assert notebook.user_ns["db"] is opened
    notebook.run_cell_magic("viewlet", "", "CREATE TABLE t (a BIGINT); CREATE TABLE u (b STRING)")
    found = notebook.run_cell_magic("viewlet", "", "SHOW TABLES")
    assert "<td" in found._repr_html_()
    assert len(polars.DataFrame(found)) == len(found) == 2
    assert notebook.run_line_magic("viewlet", "db") is opened


@pytest.mark.spark
def test_markers_stand_for_variables(notebook: Any, spark: object) -> None:
    notebook.run_line_magic("viewlet", "shop")
    notebook.user_ns["least"] = 2
    found = notebook.run_cell_magic("viewlet", "", "SELECT ':none' AS t, id FROM range(4) WHERE id >= :least")
    assert found.table.to_pylist() == [{"t": ":none", "id": 2}, {"t": ":none", "id": 3}]
    with pytest.raises(ViewletError, match="no variable missing"):
        notebook.run_cell_magic("viewlet", "", "SELECT :missing")


def test_a_cell_without_a_warehouse_says_so(notebook: Any) -> None:
    with pytest.raises(ViewletError, match="no warehouse is open"):
        notebook.run_cell_magic("viewlet", "", "SHOW TABLES")


def test_the_shell_runs_statements_and_goes_on_after_errors(
    db: viewlet.Database, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = iter(["CREATE TABLE t", "(a BIGINT);", "nonsense;", ".tables", ".what", ";", ".quit", "never"])
    shell(db, lambda db, text: str(db.sql(text)), lambda _: next(lines))
    printed = capsys.readouterr().out.splitlines()
    assert db.tables == ("orders", "t")
    assert printed[1].startswith("error: ")
    assert printed[2:] == [
        "table    orders  2 rows",
        "table    t  0 rows",
        "there is no .what; .help lists what there is",
    ]
    assert next(lines) == "never"


def test_the_shell_reads_a_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("CREATE TABLE t (a BIGINT);\nSHOW TABLES;\n"))
    assert main(["--warehouse", str(tmp_path / "w"), "shell"]) == 0
    assert "table t: 0 rows" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE a (x INT); CREATE TABLE b (x INT);\n",
        "CREATE TABLE a (x INT); -- one\nCREATE TABLE b (x INT); /* two */\n",
        "CREATE TABLE a (x INT);\nCREATE TABLE b (x INT)",
        pytest.param(
            "CREATE TABLE a (x INT, y STRING DEFAULT ';\n;');\nCREATE TABLE b -- a comment;\n(x INT);\n",
            marks=pytest.mark.spark,
            id="in a text and in a comment",
        ),
    ],
)
def test_the_shell_tells_statements_apart_as_a_script_does(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["--warehouse", str(tmp_path / "w"), "shell"]) == 0
    with viewlet.connect(tmp_path / "w") as made:
        assert made.tables == ("a", "b")


@pytest.mark.parametrize("text", ["DROP TABLE a;\nSHOW TABLES;\n", ".check a\n", "SELECT 'open\n"])
def test_a_pipe_with_a_statement_that_fails_exits_with_1(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["--warehouse", str(tmp_path / "w"), "shell"]) == 1
    assert "error: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("word", "before", "wanted"),
    [
        ("ord", "SELECT * FROM ", ["orders"]),
        ("orders.t", "SELECT ", ["orders.total"]),
        ("tot", "SELECT * FROM orders WHERE ", ["total"]),
        ("sel", "", ["select"]),
        ("SEL", "", ["SELECT"]),
        (".ex", "", [".explain "]),
    ],
)
def test_the_shell_completes(db: viewlet.Database, word: str, before: str, wanted: list[str]) -> None:
    found = Completer(db).candidates(word, before)
    assert [c for c in wanted if c in found] == wanted
    assert all(c.lower().startswith(word.lower()) for c in found)


def test_metrics_are_what_the_warehouse_says(db: viewlet.Database) -> None:
    server = serve_metrics(db, 0)
    assert server.server_address[0] == "127.0.0.1", "unless another address is named"
    try:
        with pytest.raises(RejectedEpoch):
            db.delete("orders", [(99,)])
        number = db.insert("orders", [(3, "c", 1.0)])
        with urlopen(f"http://127.0.0.1:{server.server_port}/metrics") as answer:
            families = list(text_string_to_metric_families(answer.read().decode()))
    finally:
        server.shutdown()
        server.server_close()
    found = {(s.name, s.labels.get("name", s.labels.get("le", ""))): s.value for f in families for s in f.samples}
    assert found["viewlet_epoch", ""] == number
    assert found["viewlet_rows", "orders"] == 3
    assert found["viewlet_bytes", "orders"] > 0
    assert found["viewlet_failures_total", ""] == 1
    assert found["viewlet_epoch_seconds_count", ""] == found["viewlet_epoch_seconds_bucket", "+Inf"] == 1
    assert abs(found["viewlet_last_change_timestamp_seconds", "orders"] - db.history()[-1]["timestamp"]) < 1e-3
    served = {family.name for family in families}
    page = (Path(__file__).parent.parent / "docs" / "operations.md").read_text(encoding="utf-8")
    assert {name.removesuffix("_total") for name in re.findall(r"`(viewlet_\w+)`", page)} == served


def test_epochs_are_lineage(db: viewlet.Database, tmp_path: Path) -> None:
    db.create_signal("smooth", _signal(db))
    file = tmp_path / "events"
    client = OpenLineageClient(transport=FileTransport(FileConfig(log_file_path=str(file), append=True)))
    lineage = Lineage(db, client)
    db.insert("readings", [("m", "2026-01-01 00:00:00", 1.0), ("m", "2026-01-01 00:00:05", 2.0)])
    db.insert("orders", [(4, "d", 1.0)])
    assert lineage.emit() == 2
    assert lineage.emit() == 0
    events = [json.loads(line) for line in file.read_text().splitlines()]
    assert [e["eventType"] for e in events] == ["START", "COMPLETE"] * 2
    assert events[0]["run"]["runId"] == events[1]["run"]["runId"] != events[2]["run"]["runId"]
    done = events[1]
    assert [d["name"] for d in done["inputs"]] == ["readings"]
    (output,) = done["outputs"]
    assert output["name"] == "smooth"
    assert [f["name"] for f in output["facets"]["schema"]["fields"]] == db.table("smooth").columns
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == len(db.table("smooth"))
    assert done["job"]["namespace"] == db.address


def test_an_epoch_is_one_line_of_the_log(db: viewlet.Database, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "viewlet"):
        number = db.insert("orders", [(5, "e", 1.0)])
    assert [r.getMessage().split(";")[0] for r in caplog.records] == [f"epoch {number}: orders +1 −0"]
