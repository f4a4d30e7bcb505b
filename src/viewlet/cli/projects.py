"""`viewlet run PROJECT` and `viewlet init`."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from viewlet.database import connect
from viewlet.errors import CorruptFile, StoreError
from viewlet.project.init import init_project
from viewlet.project.run import Selection, Trial
from viewlet.project.run import run_project as run_in
from viewlet.project.spec import find_spec

if TYPE_CHECKING:
    from viewlet.database import Database

DEFAULT_WAREHOUSE = "warehouse"


def add_project_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that select what to run of a project, and how."""
    group = parser.add_argument_group("of a project")
    group.add_argument(
        "--dry-run", action="store_true", help="show what would happen to each dataset, and read nothing"
    )
    group.add_argument("--refresh", type=_names, metavar="A,B", help="only these datasets, and what they read")
    group.add_argument(
        "--full-refresh", type=_names, default=frozenset(), metavar="A,B", help="rebuild these from scratch"
    )
    group.add_argument("--full-refresh-all", action="store_true", help="rebuild all from scratch")


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip().lower() for name in text.split(",") if name.strip())


def is_project(path: Path) -> bool:
    return path.is_dir() or path.suffix in (".yml", ".yaml")


def run_project(arguments: argparse.Namespace, open_warehouse: Callable[..., Database]) -> int:
    """Run a project in the named warehouse, by default one in its folder."""
    root = find_spec(arguments.path).parent
    if arguments.warehouse == DEFAULT_WAREHOUSE:
        arguments.warehouse = str(root / DEFAULT_WAREHOUSE)
    only = arguments.refresh if arguments.refresh or not arguments.full_refresh else frozenset()
    selection = Selection(only, arguments.full_refresh, arguments.full_refresh_all)
    if arguments.dry_run:
        return _dry_run(arguments.path, selection, arguments.warehouse)
    with open_warehouse(arguments, write=True) as db:
        for outcome in run_in(db, arguments.path, selection):
            print(outcome)
    return 0


def _dry_run(path: Path, selection: Selection, warehouse: str) -> int:
    """Create a project without data in a temporary warehouse; show what a run would do, and how it maintains views."""
    with ExitStack() as opened:
        target = _existing(warehouse)
        if target is not None:
            opened.enter_context(target)
        folder = opened.enter_context(tempfile.TemporaryDirectory())
        db = opened.enter_context(connect(Path(folder) / "trial"))
        for outcome in run_in(db, path, selection, trial=Trial(target)):
            print(outcome)
        for name in db.views:
            print(f"\n{db.explain(name)}")
    return 0


def _existing(warehouse: str) -> Database | None:
    """Open the warehouse of a project for reading; None if a run would create it."""
    try:
        return connect(warehouse, read_only=True)
    except CorruptFile:
        raise
    except StoreError:
        return None


def init(arguments: argparse.Namespace) -> int:
    for path in init_project(arguments.folder):
        print(path)
    print(f"run it: viewlet run {arguments.folder}")
    return 0
