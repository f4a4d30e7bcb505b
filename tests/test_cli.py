"""The command line: what it prints, where, and the exit status."""

from __future__ import annotations

import errno
import os
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import viewlet
from tests.marks import quickly
from viewlet import formatting as screen
from viewlet.cli import main as cli
from viewlet.cli import shell as shells
from viewlet.cli.main import main

EXAMPLES = Path(__file__).parent.parent / "examples"
Captured = pytest.CaptureFixture[str]


def run(tmp_path: Path, script: str, *more: str) -> int:
    """`viewlet run` on a file with this text, in a warehouse of the test's own."""
    file = tmp_path / "shop.sql"
    file.write_text(script, encoding="utf-8")
    return main(["--warehouse", str(tmp_path / "w"), "run", str(file), *more])


TABLE = "CREATE TABLE orders (id BIGINT, total DECIMAL(12,2), PRIMARY KEY (id));\n"


def test_run_tells_of_each_statement_in_a_line(tmp_path: Path, capsys: Captured) -> None:
    assert run(tmp_path, TABLE + "INSERT INTO orders VALUES (1, 2.50), (2, NULL); -- two\n") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "table orders: 0 rows"
    assert lines[1].startswith("epoch ")
    assert "orders +2 −0" in lines[1]


def test_an_error_is_one_line_with_place_and_hint(tmp_path: Path, capsys: Captured) -> None:
    assert run(tmp_path, TABLE + "\nCREATE VIEW v\nAS SELECT 1;\nCREATE TABLE later (a INT);") == 1
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("viewlet: error: ")
    assert "shop.sql: line 3: a plain view" in captured.err
    assert "(hint: write CREATE MATERIALIZED VIEW)" in captured.err
    assert "later" not in captured.out


def test_other_errors_name_the_statement(tmp_path: Path, capsys: Captured) -> None:
    assert run(tmp_path, TABLE + "\n\nINSERT INTO nowhere VALUES (1);") == 1
    assert "shop.sql:4: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        ["status"],
        ["check"],
        ["explain", "v"],
        ["history", "v"],
        ["watch", "--seconds", "0"],
        ["ui", "--write", "--port", "0"],
        ["flow", "run", "f"],
        ["recover"],
        ["backup", "elsewhere"],
        ["sql", "SHOW TABLES"],
        ["sql", "CREATE TABLE t (a INT)"],
        ["shell", "--read-only"],
    ],
)
def test_a_warehouse_that_is_not_there(command: list[str], tmp_path: Path, capsys: Captured) -> None:
    assert main([*command, "--warehouse", str(tmp_path / "none")]) == 1
    assert "there is no warehouse in" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_a_file_that_cannot_be_read(tmp_path: Path, capsys: Captured) -> None:
    assert main(["run", str(tmp_path / "none.sql"), "--warehouse", str(tmp_path / "w")]) == 1
    assert "cannot read" in capsys.readouterr().err
    (tmp_path / "bad.sql").write_bytes(b"\xff")
    assert main(["run", str(tmp_path / "bad.sql"), "--warehouse", str(tmp_path / "w")]) == 1
    assert "not UTF-8" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["fly"], ["run"], ["explain"], ["status", "--engine", "steam"]])
def test_usage(arguments: list[str], capsys: Captured) -> None:
    with pytest.raises(SystemExit) as exit:
        main(arguments)
    assert exit.value.code == 2
    assert "usage: viewlet" in capsys.readouterr().err


def test_an_interruption_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    def interrupt(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "connect", interrupt)
    assert main(["status", "--warehouse", str(tmp_path)]) == 130
    assert capsys.readouterr().err == "viewlet: interrupted\n"


def test_status_shows_tables_and_epochs(tmp_path: Path, capsys: Captured) -> None:
    run(tmp_path, TABLE + "INSERT INTO orders VALUES (1, 2.50);")
    assert main(["status", "--warehouse", str(tmp_path / "w")]) == 0
    shown = capsys.readouterr().out
    assert "orders" in shown
    assert "epoch" in shown


def test_recover_goes_on_from_the_last_whole_epoch(tmp_path: Path, capsys: Captured) -> None:
    run(tmp_path, TABLE + "INSERT INTO orders VALUES (1, 2.50); INSERT INTO orders VALUES (2, 2.50);")
    command = ["recover", "--warehouse", str(tmp_path / "w")]
    assert main(command) == 0
    assert "nothing to recover: the log is whole, up to epoch 3" in capsys.readouterr().out
    log = tmp_path / "w" / "log" / "1.log"
    os.truncate(log, log.stat().st_size - 1)
    assert main(["status", "--warehouse", str(tmp_path / "w")]) == 1
    assert "1.log is cut short" in capsys.readouterr().err
    assert main(command) == 0
    assert "epoch 3 is lost" in capsys.readouterr().out
    assert main(["history", "orders", "--warehouse", str(tmp_path / "w")]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("20")


def test_recovering_nothing_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(viewlet.StoreError, match="there is no warehouse in"):
        viewlet.connect(tmp_path / "none", recover=True)
    assert not (tmp_path / "none").exists()


def test_sql_runs_statements_and_prints_what_they_return(tmp_path: Path, capsys: Captured) -> None:
    run(tmp_path, TABLE)
    capsys.readouterr()
    command = ["sql", "--warehouse", str(tmp_path / "w")]
    assert main([*command, "INSERT INTO orders VALUES (1, 2.50); SHOW TABLES; -- done"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert "orders +1 −0" in shown[0]
    assert "orders" in shown[3]
    assert main([*command, "SHOW TABLES; SELEC 1"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("viewlet: error: line 1: ")
    assert main([*command, " ; "]) == 1
    assert "there is no statement to run" in capsys.readouterr().err


def test_sql_and_a_read_only_shell_read_beside_a_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    with viewlet.connect(tmp_path / "w") as writer:
        writer.sql(TABLE)
        assert main(["sql", "DESCRIBE orders", "--warehouse", str(tmp_path / "w")]) == 0
        assert "total" in capsys.readouterr().out
        assert main(["sql", "DELETE FROM orders", "--warehouse", str(tmp_path / "w")]) == 1
        assert "viewlet: error: " in capsys.readouterr().err

        def lines() -> Iterator[str]:
            yield ".tables"
            writer.insert("orders", [(1, "2.50")])
            yield ".tables"
            yield "INSERT INTO orders VALUES (2, 1);"

        given = lines()
        monkeypatch.setattr(shells, "_line", lambda: _next(given))
        assert main(["shell", "--read-only", "--warehouse", str(tmp_path / "w")]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert shown[:2] == ["table    orders  0 rows", "table    orders  1 row"]
    assert "is open for reading only" in shown[2]


def _next(lines: Iterator[str]) -> str:
    for line in lines:
        return line
    raise EOFError


@pytest.mark.parametrize("command", [".explain", ".check "])
def test_a_command_of_the_shell_without_its_view(command: str, tmp_path: Path, capsys: Captured) -> None:
    with viewlet.connect(tmp_path / "w") as db:
        given = iter([command])
        assert not shells.shell(db, lambda *_: "", lambda _: _next(given))
    name = command.strip()
    assert capsys.readouterr().out == f"error: {name} needs the name of a view (hint: {name} VIEW)\n"


def test_watching_without_a_source_is_an_error(tmp_path: Path, capsys: Captured) -> None:
    run(tmp_path, TABLE)
    assert main(["watch", "--seconds", "0", "--warehouse", str(tmp_path / "w")]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"no table of {tmp_path / 'w'} has a source" in error


@pytest.mark.parametrize("before", [True, False])
def test_the_warehouse_is_named_before_or_after_the_command(before: bool, tmp_path: Path, capsys: Captured) -> None:
    option, command = ["--warehouse", str(tmp_path / "named")], ["status"]
    assert main(option + command if before else command + option) == 1
    assert f"there is no warehouse in `{tmp_path / 'named'}`" in capsys.readouterr().err


def test_bench_says_where_benchmarks_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if "site-packages" in p or "lib/python" in p])
    assert main(["bench"]) == 1
    assert "source checkout" in capsys.readouterr().err


def test_it_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "viewlet", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("viewlet ")


_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_write_protected: list[str] = []


def _refuse_writing(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook that makes a folder read as one of a file system that is mounted read-only."""
    changes = event in ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.truncate", "os.utime", "os.chmod")
    writes = changes or (event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITES)
    if writes and any(str(arguments[0]).startswith(folder) for folder in _write_protected):
        raise OSError(errno.EROFS, f"{event} on a read-only file system", str(arguments[0]))


@pytest.fixture
def write_protect() -> Iterator[list[str]]:
    """Folders in which nothing may be written."""
    if _refuse_writing not in _hooked:
        sys.addaudithook(_refuse_writing)
        _hooked.append(_refuse_writing)
    yield _write_protected
    _write_protected.clear()


_hooked: list[Any] = []


@pytest.mark.spark
def test_reading_commands_only_read(spark: Any, tmp_path: Path, capsys: Captured, write_protect: list[str]) -> None:
    """Beside a live writer, and where nothing can be written."""
    warehouse = tmp_path / "w"
    with viewlet.connect(warehouse, spark=spark) as writer:
        writer.sql(TABLE)
        writer.sql("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM orders")
        writer.insert("orders", [(1, "2.50")])
        write_protect.append(str(warehouse))
        for command in (["status"], ["history", "v"], ["explain", "v"], ["check"]):
            assert main([*command, "--warehouse", str(warehouse)]) == 0, capsys.readouterr().err
            assert "v" in capsys.readouterr().out
        with pytest.raises(OSError, match="read-only"):
            (warehouse / "new").touch()
        write_protect.clear()
        writer.insert("orders", [(2, "2.50")])


@pytest.mark.spark
def test_a_script_with_a_view(spark: Any, tmp_path: Path, capsys: Captured) -> None:
    warehouse = ["--warehouse", str(tmp_path / "w")]
    assert main([*warehouse, "run", str(EXAMPLES / "shop.sql")]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("there is no table orders\ntable orders: 0 rows\nview spend: 0 rows\n")
    assert "   7       2  122.00\n1 row\n" in shown
    assert main([*warehouse, "explain", "spend"]) == 0
    assert "sum(total)" in capsys.readouterr().out
    assert main([*warehouse, "explain", "spend", "--distributed"]) == 0
    assert "an epoch that changes orders: 1 job, 1 stage\n" in capsys.readouterr().out
    assert main([*warehouse, "check"]) == 0
    assert capsys.readouterr().out == "spend: equal\n"
    assert main([*warehouse, "history", "spend"]) == 0
    history = capsys.readouterr().out.splitlines()
    assert "create view spend" in history[0]
    assert "orders +3 −0 → spend" in history[1]
    assert main([*warehouse, "run", str(EXAMPLES / "shop.sql")]) == 0
    again = capsys.readouterr().out
    assert "table orders dropped" in again
    assert "   7       2  122.00\n1 row\n" in again


SHOWN = {
    "01_first_view": ["after the second epoch: [(9, Decimal('150.50'))]"],
    "04_flow": ["by card: [('A', 2), ('B', 1)]"],
    "02_aggregates": ["longest words: [('a', 'apricot'), ('b', 'banana')]"],
    "03_sessions_and_late_rows": [
        "a click between them joins them:\n  ann  12:00 – 13:20  clicks: 3\n",
        "visitors: [('ann', 2, 1), ('bob', 2, 2)]",
    ],
    "05_loops": ["cut off: [(0, 0, None), (2, 1, 0)]"],
}
"""What each example prints, among other things."""


@pytest.mark.spark
@pytest.mark.parametrize("name", quickly(2, SHOWN))
def test_the_examples_run(name: str, spark: Any, capsys: Captured) -> None:
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    shown = capsys.readouterr().out
    assert all(text in shown for text in SHOWN[name]), shown


def test_tables_are_aligned() -> None:
    table = pa.table({"n": [1, 200], "text": ["a\nb", None], "b": [b"\x01", b""]})
    assert screen.table_text(table).splitlines() == [
        "  n  text  b",
        "───  ────  ─────",
        "  1  a⏎b   X'01'",
        "200  NULL  X''",
        "2 rows",
    ]
    assert screen.table_text(table, most=1).endswith("2 rows, the first 1 shown")
    assert screen.table_text(pa.table({"a": pa.array([], pa.int64())})) == "a\n─\n0 rows"


def test_unknown_names_are_met_with_those_most_like_them() -> None:
    many = [f"table_{n}" for n in range(20)]
    assert screen.suggestion("ORDRES", ["Orders", "lines", "t"]) == "did you mean Orders?"
    assert screen.suggestion("x", ["a", "b"]) == "there are: a, b"
    assert screen.suggestion("x", []) == "there are: none yet"
    assert screen.suggestion("x", many) == f"there are: {', '.join(many[:8])} and 12 more"


def test_numbers_for_people() -> None:
    assert [screen.duration(ms) for ms in (0.5, 42, 1_300, 125_000)] == ["0.50 ms", "42 ms", "1.3 s", "2 min 5 s"]
    assert [screen.size(n) for n in (5, 5_100, 5_100_000)] == ["5 B", "5.1 kB", "5.1 MB"]
    assert [screen.plural(n, "row") for n in (0, 1, 1_000)] == ["0 rows", "1 row", "1,000 rows"]
