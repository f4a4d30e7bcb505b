"""`viewlet shell`: statements by hand, with completion and history.

A statement ends with a semicolon and may span lines; a line may hold several. `.help` lists further commands.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from viewlet.errors import SqlError, ViewletError
from viewlet.formatting import plural
from viewlet.sql import read_words, split, split_finished

if TYPE_CHECKING:
    from viewlet.database import Database

Run = Callable[["Database", str], str]
"""Runs a statement and returns the text to print."""
WORDS = re.findall(
    r"\w+",
    """ALL ALTER AND AS ASC BY CASE CAST CHECK COLUMN CONSTRAINT COUNT CREATE CROSS DELETE DESC DESCRIBE DISTINCT DROP
    ELSE END EXISTS EXPLAIN FOLDER FORMAT FROM FULL GROUP HAVING IN INNER INSERT INTO IS JOIN KEY LEFT LIKE LIMIT
    MATERIALIZED MERGE NOT NULL ON OR ORDER OUTER OVER PARTITION PRIMARY RECURSIVE REFRESH RENAME REPLACE RIGHT SELECT
    SET SHOW SUM TABLE THEN UNION UPDATE USING VALUES VIEW WATERMARK WHEN WHERE WITH""",
)
HELP = """.tables        tables and views with their sizes
.explain VIEW  how a view is maintained
.check VIEW    compare a view with Spark SQL
.help          this
.quit          leave; so does the end of input"""
_PROMPT, _MORE = "viewlet> ", "     ... "


class Completer:
    """Completes keywords, tables and views, their columns, and commands."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self._found: list[str] = []

    def candidates(self, word: str, before: str) -> list[str]:
        """The completions of a word, given the text before it."""
        if not before.strip() and word.startswith("."):
            return [c for c in (".tables", ".explain ", ".check ", ".help", ".quit") if c.startswith(word)]
        if before.split()[:1] in ([".explain"], [".check"]):
            return [name for name in self.db.views if name.startswith(word)]
        owner, dot, start = word.rpartition(".")
        if dot:
            return [f"{owner}.{column}" for column in self._columns([owner]) if column.startswith(start)]
        names = [*self.db.tables, *self.db.views]
        mentioned = [name for name in names if re.search(rf"\b{re.escape(name)}\b", before, re.IGNORECASE)]
        keywords = [w if word.isupper() or not word else w.lower() for w in WORDS]
        return [
            c
            for c in dict.fromkeys([*names, *self._columns(mentioned), *keywords])
            if c.lower().startswith(word.lower())
        ]

    def _columns(self, names: Iterable[str]) -> list[str]:
        known = {name.lower(): name for name in (*self.db.tables, *self.db.views)}
        found = [known[name.lower()] for name in names if name.lower() in known]
        return [column for name in found for column in self.db.table(name).columns]

    def __call__(self, word: str, number: int) -> str | None:
        """The nth completion, for readline."""
        import readline

        if number == 0:
            self._found = self.candidates(word, readline.get_line_buffer()[: readline.get_begidx()])
        return self._found[number] if number < len(self._found) else None


def shell(db: Database, run: Run, read: Callable[[str], str] = input) -> bool:
    """Read statements and commands until the end of input and print their results; an error is one line.

    Returns whether all succeeded. An unterminated rest of the input is run, too.
    """
    text, is_well = "", True
    while True:
        try:
            line = read(_MORE if text else _PROMPT)
        except EOFError:
            return _run_all(db, run, [statement for _, statement in _split_rest(text)]) and is_well
        except KeyboardInterrupt:
            print()
            text = ""
            continue
        if not text and line.strip().startswith("."):
            if line.strip() in (".quit", ".exit"):
                return is_well
            is_well &= _attempt(partial(_latest, db, partial(_command, db, line)))
            continue
        statements, text = split_finished(f"{text}{line}\n")
        text = text if _holds_words(text) else ""
        is_well &= _run_all(db, run, statements)


def _split_rest(text: str) -> list[tuple[int, str]]:
    """The statements in the rest of the input; one with an open string is run as it is, to report the error."""
    try:
        return split(text)
    except SqlError:
        return [(1, text)]


def _holds_words(text: str) -> bool:
    """Whether a text has more than white space, comments and semicolons, or an open string or comment."""
    try:
        return any(word.kind != "end" and word.key != ";" for word in read_words(text))
    except SqlError:
        return True


def _run_all(db: Database, run: Run, statements: Iterable[str]) -> bool:
    """Run all statements, even if some fail; return whether all succeeded."""
    went_well = [_attempt(partial(_latest, db, partial(run, db, statement))) for statement in statements]
    return all(went_well)


def _latest(db: Database, action: Callable[[], str]) -> str:
    """Run an action at the last committed epoch, as another process may have written meanwhile."""
    db.refresh()
    return action()


def _attempt(action: Callable[[], str]) -> bool:
    """Print the result of an action, or its error; return whether it succeeded."""
    try:
        print(action(), flush=True)
    except ViewletError as error:
        print(f"error: {error}", flush=True)
        return False
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        return False
    return True


def _command(db: Database, line: str) -> str:
    name, _, argument = line.strip().partition(" ")
    if name == ".tables":
        nodes = [n for n in db.graph()["nodes"] if "rows" in n]
        return "\n".join(f"{n['kind']:<8} {n['name']}  {plural(n['rows'], 'row')}" for n in nodes) or "nothing yet"
    if name in (".explain", ".check") and not argument.strip():
        raise SqlError(f"{name} needs the name of a view", hint=f"{name} VIEW")
    if name == ".explain":
        return db.explain(argument.strip())
    if name == ".check":
        wrong = db.check(argument.strip()).num_rows
        return f"{plural(wrong, 'row')} differ" if wrong else "equal"
    return HELP if name == ".help" else f"there is no {name}; .help lists what there is"


def history_file() -> Path:
    """The file of the statement history."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "viewlet" / "history"


def interactive(db: Database, run: Run) -> None:
    """Run a shell on the terminal, with completion and history if Python has readline."""
    try:
        import readline
    except ImportError:
        shell(db, run)
        return
    file = history_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.exists():
        readline.read_history_file(file)
    readline.set_completer(Completer(db))
    readline.set_completer_delims(" \t\n,;()=<>+-*/'")
    readline.parse_and_bind("tab: complete")
    try:
        shell(db, run)
    finally:
        readline.set_history_length(10_000)
        readline.write_history_file(file)


def start(db: Database, run: Run) -> int:
    """Run an interactive shell, or the statements of a pipe; return the exit status, 1 if one of those failed."""
    if sys.stdin.isatty():
        print(f"{db!r}\n.help lists commands; a statement ends with a semicolon")
        interactive(db, run)
        return 0
    return 0 if shell(db, run, lambda _: _line()) else 1


def _line() -> str:
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")
