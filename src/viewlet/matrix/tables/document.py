"""Matrix programs as JSON: operators, sources, labels and numbers."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from viewlet.errors import StoreError
from viewlet.matrix.program import MatrixProgram
from viewlet.matrix.tables.axes import AxisKind
from viewlet.matrix.tables.inputs import Input
from viewlet.matrix.tables.options import Settings
from viewlet.matrix.tables.results import Results
from viewlet.matrix.tables.sources import Fixed, Long, Moments, Source, Wide
from viewlet.program.codec import from_json, to_json

if TYPE_CHECKING:
    from viewlet.matrix.tables.view import MatrixView

VERSION = 1
_TABLES: dict[str, type[Wide | Long | Moments]] = {"wide": Wide, "long": Long, "moments": Moments}


def to_document(view: MatrixView) -> dict[str, Any]:
    """Encode a program."""
    return {
        "version": VERSION,
        "program": view.program.to_json(),
        "inputs": [[i.name, _source_document(i.source), list(i.axes)] for i in view.inputs],
        "axes": {name: [to_json(kind.type), kind.fixed] for name, kind in view.axes.items()},
        "results": asdict(view.results),
        "settings": view.settings.to_json(),
    }


def from_document(name: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """Decode the fields of a program."""
    if document["version"] != VERSION:
        raise StoreError(
            f"matrix {name} was made by another version of Viewlet", hint="open the warehouse with that version"
        )
    results = document["results"]
    return {
        "program": MatrixProgram.from_json(document["program"]),
        "inputs": tuple(Input(n, _read_source(s), (a, b)) for n, s, (a, b) in document["inputs"]),
        "axes": {n: AxisKind(from_json(t), None if f is None else tuple(f)) for n, (t, f) in document["axes"].items()},
        "results": Results(
            tuple(results["outputs"]), tuple(results["axes"]), tuple(results["labels"]), results["is_wide"]
        ),
        "settings": Settings.from_json(document["settings"]),
    }


def _source_document(source: Source) -> dict[str, Any]:
    if isinstance(source, Fixed):
        stream = io.BytesIO()
        np.lib.format.write_array(stream, source.array, allow_pickle=False)
        return {"form": "fixed", "array": base64.b64encode(stream.getvalue()).decode()}
    form = next(name for name, kind in _TABLES.items() if isinstance(source, kind))
    return {"form": form, **asdict(source)}


def _read_source(document: Mapping[str, Any]) -> Source:
    values: dict[str, Any] = {
        key: tuple(v) if isinstance(v, list) else v for key, v in document.items() if key != "form"
    }
    if document["form"] == "fixed":
        stream = io.BytesIO(base64.b64decode(values["array"]))
        return Fixed(np.lib.format.read_array(stream, allow_pickle=False))
    return _TABLES[document["form"]](**values)
