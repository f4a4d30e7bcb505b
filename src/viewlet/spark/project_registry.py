"""Registering the decorators of `pyspark.pipelines` on a classic session, without Spark Connect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from pyspark import pipelines
from pyspark.pipelines.flow import Flow
from pyspark.pipelines.graph_element_registry import GraphElementRegistry, graph_element_registration_context
from pyspark.pipelines.output import MaterializedView, Output, Sink, StreamingTable, TemporaryView
from pyspark.pipelines.source_code_location import get_caller_source_code_location

from viewlet.errors import ProjectError

_KINDS = {
    MaterializedView: "materialized view",
    StreamingTable: "streaming table",
    TemporaryView: "temporary view",
    Sink: "sink",
}


class Registration(Protocol):
    """Receives what is registered."""

    def output(self, kind: Any, name: str, where: str, schema: Any, format: str, options: Any) -> None: ...
    def flow(self, name: str, target: str, function: Any, where: str, settings: Any) -> None: ...
    def auto_cdc(self, name: str, target: str, source: str, where: str, given: dict[str, Any]) -> None: ...


class _Registry(GraphElementRegistry):
    """Records functions without calling them."""

    def __init__(self, registration: Registration) -> None:
        self._registration = registration

    def register_output(self, output: Output) -> None:
        schema, format = getattr(output, "schema", None), getattr(output, "format", None) or ""
        options = dict(getattr(output, "options", None) or getattr(output, "table_properties", None) or {})
        self._registration.output(_KINDS[type(output)], output.name, _where(output), schema, format, options)

    def register_flow(self, flow: Flow) -> None:
        self._registration.flow(flow.name, flow.target, flow.func, _where(flow), dict(flow.spark_conf))

    def register_auto_cdc_flow(self, flow: Any) -> None:
        """Called since Spark 4.2."""
        raise ProjectError(
            f"{_where(flow)}: create_auto_cdc_flow was imported before the project was loaded",
            hint="from pyspark import pipelines as dp; dp.create_auto_cdc_flow(…)",
        )

    def register_sql(self, sql_text: str, file_path: Path) -> None:
        raise ProjectError(f"{file_path}: SQL inside Python files is not read", hint="put it into a SQL file")


def _where(element: Any) -> str:
    place = element.source_code_location
    return f"{place.filename}:{place.line_number}"


@contextmanager
def registering(registration: Registration) -> Iterator[None]:
    """In the block, decorators, and `create_auto_cdc_flow` in any version of Spark, register with `registration`."""
    before = pipelines.__dict__.get(_AUTO_CDC)
    setattr(pipelines, _AUTO_CDC, _auto_cdc(registration))
    try:
        with graph_element_registration_context(_Registry(registration)):
            yield
    finally:
        setattr(pipelines, _AUTO_CDC, before) if before else delattr(pipelines, _AUTO_CDC)


_AUTO_CDC = "create_auto_cdc_flow"


def _auto_cdc(registration: Registration) -> Callable[..., None]:
    """The function of Spark 4.3, which needs Spark Connect there and does not exist in Spark 4.1."""

    def create_auto_cdc_flow(
        target: str,
        source: str,
        keys: Sequence[Any],
        sequence_by: Any,
        apply_as_deletes: Any = None,
        column_list: Sequence[Any] | None = None,
        except_column_list: Sequence[Any] | None = None,
        stored_as_scd_type: int | str | None = None,
        name: str | None = None,
        *,
        track_history_column_list: Sequence[Any] | None = None,
        track_history_except_column_list: Sequence[Any] | None = None,
        spark_conf: Mapping[str, str] | None = None,
    ) -> None:
        place = get_caller_source_code_location(stacklevel=1)
        where = f"{place.filename}:{place.line_number}"
        given: dict[str, Any] = {"keys": _names(keys), "sequence_by": sequence_by, "deletes": apply_as_deletes}
        given["settings"] = dict(spark_conf or {})
        given |= _selected("columns", column_list, except_column_list, where)
        given |= _selected("tracked", track_history_column_list, track_history_except_column_list, where)
        given["scd_type"] = _scd_type(stored_as_scd_type or 1, where)
        if given["scd_type"] == 1 and "tracked" in given:
            raise ProjectError(f"{where}: track_history columns are of SCD type 2", hint="stored_as_scd_type=2")
        registration.auto_cdc(name or target, target, source, where, given)

    return create_auto_cdc_flow


def _scd_type(given: int | str, where: str) -> int:
    if str(given) not in ("1", "2"):
        raise ProjectError(f"{where}: there is no SCD type {given}", hint="stored_as_scd_type=1 or 2")
    return int(given)


def _selected(
    what: str, included: Sequence[Any] | None, excluded: Sequence[Any] | None, where: str
) -> dict[str, tuple[tuple[str, ...], bool]]:
    """The listed names, and whether they are excluded instead of included."""
    if included and excluded:
        raise ProjectError(f"{where}: either some columns are listed, or those that are left out")
    return {what: (_names(included or excluded or ()), not included)} if included or excluded else {}


def _names(columns: Sequence[Any]) -> tuple[str, ...]:
    """The names of columns, given as names or as Columns."""
    texts = [column if isinstance(column, str) else str(column._jc.toString()) for column in columns]
    return tuple(text.strip("`").replace("``", "`") for text in texts)
