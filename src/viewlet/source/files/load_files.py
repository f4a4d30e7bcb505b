"""Loads files into a table once: Parquet directly, text through Spark."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from viewlet import arguments
from viewlet.errors import SqlError
from viewlet.source.files.folder_source import Format
from viewlet.warehouse.epoch.open_epoch import OpenEpoch

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse


def load_files(
    warehouse: Warehouse,
    epoch: OpenEpoch,
    name: str,
    path: Path,
    format: str,
    options: Mapping[str, Any],
) -> None:
    """Insert the rows of a file, or of the files in a folder, into a table."""
    table = warehouse.catalog.table(name)
    known = arguments.text("the format of files", format).lower()
    if known not in get_args(Format):
        raise SqlError(
            f"files of the format {format} cannot be loaded", hint=f"there are: {', '.join(get_args(Format))}"
        )
    if known == "parquet":
        epoch.insert(name, path)
        return
    from viewlet.spark.read_text import refusing_malformed, text_frame

    with refusing_malformed(table.name, path):
        rows = text_frame(warehouse.sessions.plain, known, path, table.fields, options)
        epoch.insert(name, rows)
