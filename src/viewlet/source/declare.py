"""Sources as declared in SQL and project files: a kind, a place, and options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from viewlet.arguments import clause
from viewlet.errors import SqlError
from viewlet.source.events.kafka import kafka
from viewlet.source.files.folder_source import folder
from viewlet.source.lake.delta_lake import delta
from viewlet.source.lake.iceberg import iceberg
from viewlet.source.lake.spark_batch import spark_batch
from viewlet.source.postgres.source import postgres
from viewlet.warehouse.source import Source


def declare_source(
    kind: str, place: str, name: str | None, format: str | None, options: Mapping[str, str], on_bad: str
) -> Source:
    """Make a source from its declaration."""
    match kind.upper():
        case "FOLDER":
            return folder(place, format or "", options, on_bad_record=on_bad)
        case "POSTGRES":
            return _made(postgres, "FROM POSTGRES", place, clause("TABLE", name), options, on_bad)
        case "KAFKA":
            given = options if format is None else {**options, "format": format}
            return _made(kafka, "FROM KAFKA", place, clause("TOPIC", name), given, on_bad)
        case "DELTA":
            return delta(place, on_bad_record=on_bad)
        case "ICEBERG":
            return iceberg(place, clause("TABLE", name), properties=options, on_bad_record=on_bad)
        case "SPARK":
            return spark_batch(place, options, on_bad_record=on_bad)
    raise SqlError(f"{kind} is not a kind of source", hint="FOLDER, POSTGRES, KAFKA, DELTA, ICEBERG, SPARK")


def _made(
    make: Callable[..., Source], what: str, place: str, name: str, options: Mapping[str, str], on_bad: str
) -> Source:
    """Make a source, passing its options as keywords."""
    taken = inspect.signature(make).parameters.values()
    known = [p.name for p in taken if p.kind == p.KEYWORD_ONLY and p.name != "on_bad_record"]
    given: dict[str, Any] = {key.lower(): value for key, value in options.items()}
    if unknown := [key for key in given if key not in known]:
        raise SqlError(f"{what} has no option {unknown[0]}", hint=", ".join(known))
    return make(place, name, **given, on_bad_record=on_bad)
