"""The methods of `Database` for flows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from viewlet.flow.define.definition import Flow
    from viewlet.warehouse.warehouse import Warehouse


class FlowMethods:
    """Creating, running, dropping and inspecting flows."""

    _warehouse: Warehouse

    def create_flow(self, flow: Flow, *, replace: bool = False) -> None:
        """Create a flow, with the tables of its states and outputs; nothing runs yet.

        `replace`: replace the flow of that name. States, queues and cursors stay, even if code changes; a
        state or output may get more columns, which are NULL in existing rows.
        """
        from viewlet.flow.define.create import create_flow

        with self._warehouse.writing():
            create_flow(self._warehouse, flow, replace=replace)

    def drop_flow(self, name: str) -> None:
        """Drop a flow, its states, and the tables that it writes, unless something reads these."""
        from viewlet.flow.define.create import drop_flow

        with self._warehouse.writing():
            drop_flow(self._warehouse, name)

    def run_flow(
        self,
        name: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        runs: int | None = None,
        rounds: int = 10_000,
        seconds: float | None = None,
        at_once: int = 1,
    ) -> dict[str, int]:
        """Run a flow until no stage is runnable; return how often each stage ran. Each run of a stage is an epoch.

        `inputs`: rows for sources that have no table, an increment each. `runs`: the number of runs after which to
        stop; the next call resumes. `rounds`: how often a stage of a cycle may run; `seconds`: the time limit. Beyond
        these it raises `FlowUnfinished`; committed runs stay. `at_once`: how many independent stages to translate
        concurrently, in threads; the order of runs and their results stay the same.
        """
        from viewlet.flow.define.stored import load_graph
        from viewlet.flow.execute.run import Bounds, run_flow

        with self._warehouse.writing():
            graph = load_graph(self._warehouse, name)
            return run_flow(self._warehouse, graph, inputs or {}, Bounds(runs, rounds, seconds, at_once))

    @property
    def flows(self) -> tuple[str, ...]:
        """The names of all flows."""
        return tuple(self._warehouse.catalog.flows)

    def flow_status(self, name: str) -> dict[str, Any]:
        """Return how often each stage of a flow ran, what is queued for it, and the positions in its sources."""
        from viewlet.flow.execute.report import status

        return status(self._warehouse, name)

    def flow_trace(self, name: str) -> list[dict[str, Any]]:
        """Return the runs of a flow, oldest first: when, what each read and wrote, and why it was scheduled."""
        from viewlet.flow.execute.report import trace

        return trace(self._warehouse, name)
