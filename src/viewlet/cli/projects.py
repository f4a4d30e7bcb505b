"""`viewlet run PROJECT` and `viewlet init`."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from viewlet.database import connect
from viewlet.project.init import init_project
from viewlet.project.run import Selection
from viewlet.project.run import run_project as run_in
from viewlet.project.spec import find_spec

if TYPE_CHECKING:
    from viewlet.database import Database

DEFAULT_WAREHOUSE = "warehouse"


def add_project_options(parser: argparse.ArgumentParser) -> None:
    """What of a project is run, and how."""
    group = parser.add_argument_group("of a project")
    group.add_argument("--dry-run", action="store_true", help="say how each dataset would be kept, and read nothing")
    group.add_argument("--refresh", type=_names, metavar="A,B", help="only these datasets, and what they read")
    group.add_argument(
        "--full-refresh", type=_names, default=frozenset(), metavar="A,B", help="make these from scratch"
    )
    group.add_argument("--full-refresh-all", action="store_true", help="make all from scratch")


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip().lower() for name in text.split(",") if name.strip())


def is_project(path: Path) -> bool:
    return path.is_dir() or path.suffix in (".yml", ".yaml")


def run_project(arguments: argparse.Namespace, open_warehouse: Callable[..., Database]) -> int:
    """Run a project in its warehouse, which is in its folder unless another is named."""
    root = find_spec(arguments.path).parent
    if arguments.warehouse == DEFAULT_WAREHOUSE:
        arguments.warehouse = str(root / DEFAULT_WAREHOUSE)
    if arguments.dry_run:
        return _dry_run(arguments.path)
    only = arguments.refresh if arguments.refresh or not arguments.full_refresh else frozenset()
    with open_warehouse(arguments, write=True) as db:
        for outcome in run_in(db, arguments.path, Selection(only, arguments.full_refresh, arguments.full_refresh_all)):
            print(outcome)
    return 0


def _dry_run(path: Path) -> int:
    """Make all of a project, empty, in a warehouse that goes away, and show how it would be kept."""
    with tempfile.TemporaryDirectory() as folder, connect(Path(folder) / "trial") as db:
        for outcome in run_in(db, path, Selection(), is_trial=True):
            print(outcome)
        for name in db.views:
            print(f"\n{db.explain(name)}")
    return 0


def init(arguments: argparse.Namespace) -> int:
    for path in init_project(arguments.folder):
        print(path)
    print(f"run it: viewlet run {arguments.folder}")
    return 0
