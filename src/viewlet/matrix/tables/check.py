"""`check` of a matrix program: compares its table with the program from scratch, in the norm of each output."""

from __future__ import annotations

import numpy as np

from viewlet.columns import differences as by_rows
from viewlet.columns.arrays import from_numpy, values_of
from viewlet.columns.rows import Rows
from viewlet.matrix.tables.live import Recomputed


def differences(scratch: Recomputed, found: Rows, tolerance: float) -> Rows:
    """The wrong rows: labels that only one side has, and entries that differ by more than the tolerance.

    The tolerance is relative to the output's norm, as in residual checks.
    """
    expected, results = scratch.rows, scratch.showing.results
    fields = results.fields(scratch.showing.kinds)
    keys = [f.name for f in fields[: len(results.labels)]]
    at = {key: place for place, key in enumerate(_keys(expected, keys))}
    places = np.array([at.get(key, -1) for key in _keys(found, keys)], dtype=np.intp)
    settled = {}
    for f in fields[len(keys) :]:
        wanted, there = values_of(expected[f.name], "f8"), values_of(found[f.name], "f8")
        output = f.name if not results.is_wide else results.outputs[0]
        room = tolerance * float(np.linalg.norm(scratch.values[output]))
        near = places >= 0
        near[near] = np.abs(wanted[places[near]] - there[near]) <= room
        settled[f.name] = from_numpy(np.where(near, wanted[places] if len(wanted) else 0.0, there), found[f.name].type)
    return by_rows.differences(expected, found.with_columns(settled), fields)


def _keys(rows: Rows, keys: list[str]) -> list[tuple[object, ...]]:
    return list(zip(*(rows[key].to_pylist() for key in keys), strict=True)) if keys else [()] * len(rows)
