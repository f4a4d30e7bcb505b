"""The code of a page, run in its order: Python in one namespace, SQL through the `db` that is there, commands, cells."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from viewlet.cli.main import main
from viewlet.sql import split

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```\n(?:prints\n```\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
Names = dict[str, Any]


@dataclass(frozen=True)
class Block:
    """A piece of code, and what the page says that it prints."""

    language: str
    text: str
    prints: str | None


def all_blocks(page: Path) -> list[Block]:
    """Whatever a page shows as it is: code, and what is none."""
    return [Block(m[1], m[2], m[3]) for m in _BLOCK.finditer(page.read_text(encoding="utf-8"))]


def blocks(page: Path) -> list[Block]:
    """The blocks of a page that are code to be run."""
    return [block for block in all_blocks(page) if block.language in RUNNERS]


def run(
    page: Path, names: Names, before: Mapping[int, str], replaced: Mapping[str, str]
) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page, each after what a test puts before it; what each printed.

    `replaced`: addresses of servers that are not there, with those of the tests.
    """
    for number, block in enumerate(blocks(page)):
        exec(before.get(number, ""), names)
        text = block.text
        for example, real in replaced.items():
            text = text.replace(example, real)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            RUNNERS[block.language](text, names, f"{page.name}, block {number}")
        yield block, printed.getvalue()


def _run_python(text: str, names: Names, where: str) -> None:
    exec(compile(text, where, "exec"), names)


def _run_statements(text: str, names: Names, where: str) -> None:
    for _, statement in split(text):
        names["db"].sql(statement)


def _run_cell(text: str, names: Names, where: str) -> None:
    shell: Any = InteractiveShell.instance()
    shell.user_ns.update(names)
    shell.run_cell(text).raise_error()


def _run_commands(text: str, names: Names, where: str) -> None:
    """Run lines of a shell, as processes of their own would: the warehouse is closed before."""
    if "db" in names:
        names.pop("db").close()
    for line in text.splitlines():
        match shlex.split(line, comments=True):
            case ["viewlet", *arguments]:
                assert main(arguments) == 0, f"{where}: {line}"
            case ["pip", "install", package]:
                assert package.removeprefix("viewlet").strip("[]") in _extras(), f"{where}: {line}"
            case ["make", target]:
                assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE), line
            case _:
                raise AssertionError(f"{where}: {line} is no command that is known")


def _extras() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {"", *project["optional-dependencies"]}


RUNNERS: dict[str, Callable[[str, Names, str], None]] = {
    "python": _run_python,
    "sql": _run_statements,
    "sh": _run_commands,
    "ipython": _run_cell,
}
