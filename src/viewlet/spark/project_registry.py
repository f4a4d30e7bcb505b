"""What the decorators of `pyspark.pipelines` register, on a classic session, without Spark Connect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from pyspark.pipelines.flow import Flow
from pyspark.pipelines.graph_element_registry import GraphElementRegistry, graph_element_registration_context
from pyspark.pipelines.output import MaterializedView, Output, Sink, StreamingTable, TemporaryView

from viewlet.errors import ProjectError

_KINDS = {
    MaterializedView: "materialized view",
    StreamingTable: "streaming table",
    TemporaryView: "temporary view",
    Sink: "sink",
}


class Registration(Protocol):
    """Who wants to know."""

    def output(self, kind: Any, name: str, where: str, schema: Any, format: str, options: Any) -> None: ...
    def flow(self, name: str, target: str, function: Any, where: str, settings: Any) -> None: ...


class _Registry(GraphElementRegistry):
    """Functions are noted, not called."""

    def __init__(self, registration: Registration) -> None:
        self._registration = registration

    def register_output(self, output: Output) -> None:
        schema, format = getattr(output, "schema", None), getattr(output, "format", None) or ""
        options = dict(getattr(output, "options", None) or getattr(output, "table_properties", None) or {})
        self._registration.output(_KINDS[type(output)], output.name, _where(output), schema, format, options)

    def register_flow(self, flow: Flow) -> None:
        self._registration.flow(flow.name, flow.target, flow.func, _where(flow), dict(flow.spark_conf))

    def register_auto_cdc_flow(self, flow: Any) -> None:
        """From Spark 4.2 on."""
        raise ProjectError(f"{_where(flow)}: AUTO CDC flows are not run yet", hint="write it as a materialized view")

    def register_sql(self, sql_text: str, file_path: Path) -> None:
        raise ProjectError(f"{file_path}: SQL inside of Python files is not read", hint="give it a file of its own")


def _where(element: Any) -> str:
    place = element.source_code_location
    return f"{place.filename}:{place.line_number}"


@contextmanager
def registering(registration: Registration) -> Iterator[None]:
    """In the block, decorators tell `registration`."""
    with graph_element_registration_context(_Registry(registration)):
        yield
