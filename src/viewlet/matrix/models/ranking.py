"""PageRank of a changing graph: a page whose links change changes one column of the matrix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from viewlet.matrix.delta.factors import Array
from viewlet.matrix.errors import RejectedEpoch
from viewlet.matrix.models.iterations import pagerank
from viewlet.matrix.program import program
from viewlet.matrix.refresh.maintained_program import Record
from viewlet.matrix.refresh.updates import ColumnChange

Edge = tuple[int, int]


class PageRank:
    """The ranks of pages 0 … n − 1; a page without links leads to all pages with equal probability."""

    def __init__(
        self,
        pages: int,
        links: Iterable[Edge],
        *,
        steps: int = 50,
        damping: float = 0.85,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._links: list[set[int]] = [set() for _ in range(pages)]
        for source, target in links:
            self._check(source, target)
            self._links[source].add(target)
        matrix = np.column_stack([self._column(targets) for targets in self._links])
        self.state = program(pagerank(steps, damping), M=matrix.shape).start(M=matrix, options=options)

    @property
    def ranks(self) -> Array:
        """The rank of each page; they sum to one."""
        ranks: Array = self.state["pagerank"][:, 0]
        return ranks

    def update(self, add: Iterable[Edge] = (), remove: Iterable[Edge] = ()) -> Record:
        """Add and remove links; raise if a link already exists, or does not exist."""
        changed: dict[int, set[int]] = {}
        for source, target in remove:
            self._move(changed, source, target, there=True)
        for source, target in add:
            self._move(changed, source, target, there=False)
        columns = {source: self._column(targets) for source, targets in changed.items()}
        record = self.state.update(M=ColumnChange(changed=columns))
        for source, targets in changed.items():
            self._links[source] = targets
        return record

    def _move(self, changed: dict[int, set[int]], source: int, target: int, there: bool) -> None:
        self._check(source, target)
        targets = changed.setdefault(source, set(self._links[source]))
        if (target in targets) != there:
            raise RejectedEpoch(f"the link {source} → {target} is {'not there' if there else 'there already'}")
        targets.symmetric_difference_update({target})

    def _check(self, *pages: int) -> None:
        for page in pages:
            if not 0 <= page < len(self._links):
                raise RejectedEpoch(f"there is no page {page}; they are 0 to {len(self._links) - 1}")

    def _column(self, targets: set[int]) -> Array:
        column = np.zeros(len(self._links))
        column[sorted(targets) or slice(None)] = 1.0 / (len(targets) or len(column))
        return column
