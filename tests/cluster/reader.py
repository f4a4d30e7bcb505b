"""A process that reads a warehouse and ends: its epoch, and every table and view, to standard output."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import viewlet


def read(address: str, environment: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
    """The epoch, the tables and the views of a warehouse, as a fresh process finds them."""
    command = [sys.executable, "-m", "tests.cluster.reader", address]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[2], env={**os.environ, **environment}, stdout=subprocess.PIPE, check=True
    )
    found: tuple[int, dict[str, Any]] = pickle.loads(done.stdout)
    return found


def main(address: str) -> None:
    with viewlet.connect(address, read_only=True) as db:
        tables = {name: db.table(name).arrow() for name in (*db.tables, *db.views)}
        pickle.dump((int(db.status()["epoch"]), tables), sys.stdout.buffer)


if __name__ == "__main__":
    main(sys.argv[1])
