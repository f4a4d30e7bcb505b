"""The command line: `viewlet run FILE.sql | run PROJECT | init | watch | sql | shell | explain | check | status | history | ui | flow | recover | demo | bench`.

Exit status: 0 success, 1 an error of the user (one line, with a hint) or a view that is wrong, 2 usage,
130 interrupted. Only the command line and the demonstration print.
"""

from __future__ import annotations

import argparse
import importlib.util
import runpy
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from viewlet import __version__, restore
from viewlet.cli.flows import add_flow_commands
from viewlet.cli.pages import add_ui_options, ui
from viewlet.cli.projects import add_project_options, init, is_project, run_project
from viewlet.cli.shell import start as start_shell
from viewlet.database import connect
from viewlet.errors import SqlError, StoreError, UnknownName, ViewletError
from viewlet.formatting import aligned, duration, plural, size, table_text
from viewlet.monitor.metrics import serve_metrics
from viewlet.monitor.openlineage_events import Lineage
from viewlet.sql import (
    CreateTable,
    CreateView,
    Describe,
    DescribeHistory,
    DescribeQuery,
    Drop,
    Explain,
    Refresh,
    RefreshTable,
    Select,
    Show,
    ShowColumns,
    ShowCreate,
    Statement,
    parse,
    split,
)

if TYPE_CHECKING:
    from viewlet.database import Database

ENGINES = ("auto", "inproc", "spark")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status."""
    arguments = _parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = arguments.command
    try:
        return command(arguments)
    except ViewletError as error:
        print(f"viewlet: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("viewlet: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of the output is gone; prevent a message at exit
        return 0


def _shared(warehouse: Any, engine: Any) -> argparse.ArgumentParser:
    """The options that may come before or after the command."""
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--warehouse", metavar="DIR", default=warehouse, help="default: ./warehouse; a project's is in its folder"
    )
    shared.add_argument("--engine", choices=ENGINES, default=engine, help="default: auto, by cost")
    return shared


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="viewlet",
        parents=[_shared("warehouse", "auto")],
        description="Keeps the results of Spark queries fresh.",
    )
    parser.add_argument("--version", action="version", version=f"viewlet {__version__}")
    # A default for the command would override the option given before it, so it has none.
    shared = _shared(argparse.SUPPRESS, argparse.SUPPRESS)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def add(name: str, command: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, parents=[shared], help=text, description=text)
        added.set_defaults(command=command)
        return added

    run = add("run", _run, "run the statements in a file, or a Spark Declarative Pipelines project")
    run.add_argument("path", type=Path, metavar="FILE.sql|PROJECT")
    add_project_options(run)
    add("init", init, "create a new project, ready to run").add_argument("folder", type=Path, metavar="FOLDER")
    watch = add("watch", _watch, "keep reading the sources of tables, until interrupted")
    watch.add_argument("tables", nargs="*", metavar="TABLE", help="default: all tables with a source")
    watch.add_argument("--every", type=float, default=1.0, metavar="SECONDS", help="how often to read; default: 1")
    watch.add_argument("--seconds", type=float, metavar="N", help="stop after this many seconds")
    watch.add_argument("--metrics", type=int, metavar="PORT", help="serve metrics for Prometheus, on this machine")
    watch.add_argument("--lineage", action="store_true", help="send OpenLineage events, as configured for OpenLineage")
    one_shot = add("sql", _sql, "run statements, and print what they return; queries run next to a writer")
    one_shot.add_argument("statements", metavar="STATEMENTS", help="one or more, separated by semicolons")
    shell = add("shell", _shell, "run statements interactively, with completion and history")
    shell.add_argument("--read-only", action="store_true", help="only read, next to a writer; take no lock")
    explain = add("explain", _explain, "how a view is maintained")
    explain.add_argument("view", metavar="VIEW")
    explain.add_argument("--verbose", action="store_true", help="statements in full")
    explain.add_argument("--distributed", action="store_true", help="where its maps are on a cluster, jobs and stages")
    add("check", _check, "compare views with Spark SQL").add_argument("views", nargs="*", metavar="VIEW")
    add("status", _status, "tables, views and the latest epochs")
    add("history", _history, "what each epoch did to a table or view").add_argument("name", metavar="NAME")
    add_ui_options(add("ui", lambda arguments: ui(arguments, _open_existing), "show the warehouse in a browser"))
    flows = commands.add_parser("flow", help="run a flow, or show what it does", description="Flows.")
    add_flow_commands(flows, [shared], _open_existing)
    add("recover", _recover, "continue a warehouse whose log is damaged from its last complete epoch")
    backup = add("backup", _backup, "back up the current epoch; files that earlier backups have are not copied again")
    backup.add_argument("target", metavar="FOLDER|URL")
    restoring = add("restore", _restore, "restore a warehouse from a backup")
    restoring.add_argument("source", metavar="FOLDER|URL")
    restoring.add_argument("--epoch", type=int, metavar="N", help="default: the last one backed up")
    add("demo", _demo, "a retail warehouse whose views stay fresh while it changes")
    add("bench", _bench, "run the benchmarks of a source checkout")
    return parser


def _open(arguments: argparse.Namespace, *, write: bool = False) -> Database:
    """Open the named warehouse; `run` and `shell` may create one, most commands only read."""
    return connect(arguments.warehouse, engine=arguments.engine, read_only=not write, progress=True)


def _run(arguments: argparse.Namespace) -> int:
    if is_project(arguments.path):
        return run_project(arguments, _open)
    script = _read(arguments.path)
    statements = split(script)
    with _open(arguments, write=True) as db:
        _report(db, db.read_sources())
        for line, text in statements:
            _run_one(db, f"{arguments.path}:{line}", "\n" * (line - 1) + text)
        _send(db)
    return 0


def _open_existing(arguments: argparse.Namespace, *, write: bool = False) -> Database:
    """Open the named warehouse without creating one, in case the name is mistyped."""
    connect(arguments.warehouse, read_only=True).close()
    return _open(arguments, write=write)


def _watch(arguments: argparse.Namespace) -> int:
    with _open_existing(arguments, write=True) as db, ExitStack() as told:
        if not any("source" in table for table in db.status()["tables"].values()):
            raise UnknownName(f"no table of {db.address} has a source", hint="CREATE TABLE … FROM FOLDER …, POSTGRES …")
        lineage = Lineage(db) if arguments.lineage else None
        if arguments.metrics is not None:
            told.callback(serve_metrics(db, arguments.metrics).shutdown)
        _send(db)
        for epoch in db.watch(*arguments.tables, every=arguments.every, seconds=arguments.seconds):
            _report(db, [epoch])
            _send(db)
            if lineage is not None:
                lineage.emit()
    return 0


def _send(db: Database) -> None:
    """Send to all sinks, printing a line for each that was behind."""
    for name, epochs in db.send_sinks().items():
        if epochs:
            print(f"sink {name}: {plural(epochs, 'epoch')}", flush=True)


def _shell(arguments: argparse.Namespace) -> int:
    with _open(arguments, write=not arguments.read_only) as db:
        return start_shell(db, _answer)


def _sql(arguments: argparse.Namespace) -> int:
    """Run statements in order until one fails; if all of them only read, open the warehouse read-only."""
    texts = [text for _, text in split(arguments.statements)]
    if not texts:
        raise SqlError("there is no statement to run", hint="viewlet sql 'SELECT …'")
    is_write = not all(isinstance(parse(text), _READS) for text in texts)
    with _open_existing(arguments, write=is_write) as db:
        for text in texts:
            print(_answer(db, text), flush=True)
    return 0


_READS = (Describe, DescribeHistory, DescribeQuery, Explain, Select, Show, ShowColumns, ShowCreate)
"""The statements that only read."""


def _answer(db: Database, text: str) -> str:
    """Run a statement; return its outcome as text."""
    statement, before = parse(text), db.last_epoch
    return _outcome(db, statement, db.sql(text), before)


def _report(db: Database, epochs: Sequence[int]) -> None:
    """Print a line for each of these epochs."""
    for record in db.history()[-len(epochs) :] if epochs else ():
        if record["epoch"] in epochs:
            print(epoch_line(record), flush=True)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise SqlError(f"cannot read `{file}`: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SqlError(f"`{file}` is not UTF-8 text", hint="save it as UTF-8") from error


def _run_one(db: Database, where: str, text: str) -> None:
    """Run one statement; its text is padded so that line numbers are those of the file."""
    try:
        shown = _answer(db, text)
    except ViewletError as error:
        place = where.rpartition(":")[0] if isinstance(error, SqlError) else where
        raise type(error)(f"{place}: {error.args[0]}", hint=error.hint) from error
    if shown:
        print(shown)


def _outcome(db: Database, statement: Statement, result: Any, before: int) -> str:
    """The outcome of a statement after epoch `before`: a line, or its result."""
    match statement, result:
        case _, str():
            return result
        case _, pa.Table():
            return table_text(result)
        case ((CreateTable(name) | CreateView(name)), _) if db.last_epoch == before:
            return f"{name} already exists"
        case CreateTable(name), _:
            return f"table {name}: {plural(len(db.table(name)), 'row')}"
        case CreateView(name), _:
            return f"view {name}: {plural(len(db.table(name)), 'row')}"
        case Drop(kind, name), is_gone:
            return f"{kind} {name} dropped" if is_gone else f"there is no {kind} {name}"
        case RefreshTable(name), list():
            return f"table {name}: {plural(len(result), 'epoch')}"
        case Refresh(name), _:
            return f"view {name} refreshed"
    latest = db.history()[-1:]
    return epoch_line(latest[0]) if latest and latest[0]["epoch"] > before else "nothing changed"


def epoch_line(record: dict[str, Any]) -> str:
    """An epoch as a line: the changed rows, the time of each view, and the total time."""
    number, kind = f"epoch {record['epoch']}: ", record.get("kind", "epoch")
    if kind == "flow":
        return f"{number}stage {record['stage']} of flow {record['name']}; {duration(record['ms'])}"
    if kind != "epoch":
        return f"{number}{kind} {record.get('name', '')}".rstrip()
    tables = ", ".join(f"{name} +{t['inserted']:,} −{t['deleted']:,}" for name, t in record["tables"].items())
    views = ", ".join(f"{name} {duration(v['ms'])}" for name, v in record["views"].items())
    read = f" ({_reading(record['source'])})" if "source" in record else ""
    return f"{number}{tables}{read}{f' → {views}' if views else ''}; {duration(record['ms'])} on {record['engine']}"


def _reading(record: dict[str, Any]) -> str:
    """The source's part of an epoch's record as text."""
    if "files" in record:
        parts = [plural(record["files"], "file"), *([f"{record['gone']} gone"] if record["gone"] else [])]
    else:
        parts = [plural(record["records"], "change")]
    parts += [plural(record["bad"], "bad record")] if record["bad"] else []
    return f"{', '.join(parts)}, {record['lag']:.1f} s behind"


def _explain(arguments: argparse.Namespace) -> int:
    with _open(arguments) as db:
        print(db.explain(arguments.view, verbose=arguments.verbose, distributed=arguments.distributed))
    return 0


def _check(arguments: argparse.Namespace) -> int:
    wrong = 0
    with _open(arguments) as db:
        for name in arguments.views or list(db.status()["views"]):
            found = db.check(name)
            wrong += found.num_rows > 0
            print(f"{name}: " + (f"differs from its definition\n{table_text(found)}" if found.num_rows else "equal"))
    return 1 if wrong else 0


def _status(arguments: argparse.Namespace) -> int:
    with _open(arguments) as db:
        status = db.status()
    for kind in ("tables", "views"):
        rows = [[name, f"{s['rows']:,}", size(s["bytes"])] for name, s in status[kind].items()]
        print(aligned([kind, "rows", "size"], rows, right=(1, 2)), end="\n\n")
    if status["sinks"]:
        rows = [[n, s["kind"], s["of"], f"{s['epoch'] or 'nothing yet'}"] for n, s in status["sinks"].items()]
        print(aligned(["sinks", "kind", "of", "up to epoch"], rows), end="\n\n")
    for record in status["epochs"][-10:]:
        print(epoch_line(record))
    return 0


def _history(arguments: argparse.Namespace) -> int:
    with _open(arguments) as db:
        for record in db.history(arguments.name):
            when = datetime.fromtimestamp(record["timestamp"], UTC)
            print(f"{when:%Y-%m-%d %H:%M:%S}  {epoch_line(record)}")
    return 0


def _recover(arguments: argparse.Namespace) -> int:
    with connect(arguments.warehouse, engine=arguments.engine, recover=True) as db:
        print(db.recovery or f"nothing to recover: the log is whole, up to epoch {db.last_epoch}")
        damaged = db.verify()
    for file in damaged:
        print(f"{file} is missing or damaged: what reads it fails until it is restored from a backup")
    return 1 if damaged else 0


def _backup(arguments: argparse.Namespace) -> int:
    with _open(arguments) as db:
        print(db.backup(arguments.target))
    return 0


def _restore(arguments: argparse.Namespace) -> int:
    print(restore(arguments.source, arguments.warehouse, arguments.epoch))
    return 0


def _demo(arguments: argparse.Namespace) -> int:
    from viewlet.demo.run import run_demo

    return 0 if run_demo(arguments.warehouse) else 1


def _bench(_: argparse.Namespace) -> int:
    sys.path.insert(0, str(Path.cwd()))
    if importlib.util.find_spec("benchmarks") is None:
        raise StoreError("there are no benchmarks here", hint="run it in a source checkout, or use make bench")
    sys.argv = ["benchmarks"]
    runpy.run_module("benchmarks", run_name="__main__", alter_sys=True)
    return 0
