"""What a `Database` can do with projects."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from viewlet.database import Database
    from viewlet.project.run import Outcome


class ProjectMethods:
    """Running projects of Spark Declarative Pipelines."""

    def run_project(
        self,
        path: str | Path,
        *,
        refresh: Collection[str] | None = None,
        full_refresh: Collection[str] = (),
        full_refresh_all: bool = False,
    ) -> list[Outcome]:
        """Run the project of a folder with a `spark-pipeline.yml`; what became of each of its datasets.

        `refresh`: only of some datasets, and what they read. `full_refresh`: make some from nothing.
        """
        from viewlet.project.run import Selection, run_project

        only = None if refresh is None and not full_refresh else frozenset(map(str.lower, refresh or ()))
        selection = Selection(only, frozenset(map(str.lower, full_refresh)), full_refresh_all)
        return run_project(cast("Database", self), Path(path), selection)
