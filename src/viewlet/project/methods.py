"""The methods of `Database` for projects."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from viewlet.database import Database
    from viewlet.project.run import Outcome


class ProjectMethods:
    """Running Spark Declarative Pipelines projects."""

    def run_project(
        self,
        path: str | Path,
        *,
        refresh: Collection[str] | None = None,
        full_refresh: Collection[str] = (),
        full_refresh_all: bool = False,
    ) -> list[Outcome]:
        """Run the project in a folder with a `spark-pipeline.yml`; return the outcome of each dataset.

        `refresh`: run only these datasets and those they read. `full_refresh`: rebuild these from scratch.
        """
        from viewlet.project.run import Selection, run_project

        only = None if refresh is None and not full_refresh else frozenset(map(str.lower, refresh or ()))
        selection = Selection(only, frozenset(map(str.lower, full_refresh)), full_refresh_all)
        return run_project(cast("Database", self), Path(path), selection)
