"""Evaluates programs from scratch, to start them and to check them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from viewlet.matrix.algebra.ops import Op, Program, shapes_in
from viewlet.matrix.algebra.sizes import Shape, measured
from viewlet.matrix.blocks.evaluate import Blocks, evaluating
from viewlet.matrix.compile.compiled import statements_of
from viewlet.matrix.compile.lower import Form, lower
from viewlet.matrix.delta.factors import Array
from viewlet.matrix.errors import ShapeError


def evaluate_all(
    statements: Mapping[str, Op],
    inputs: Mapping[str, Array],
    sizes: Mapping[str, int],
    shapes: Mapping[str, Shape],
    dtype: Any,
    blocks: Blocks | None = None,
) -> dict[str, Array]:
    """Evaluate every matrix of a program."""
    values = dict(inputs)
    evaluate = evaluating(blocks)
    for name, op in statements.items():
        values[name] = evaluate(name, op, values.__getitem__, sizes, dtype)
        due = measured(shapes[name], sizes)
        if values[name].shape != due:
            raise ShapeError(f"{name} is {values[name].shape}, not {due}: a slice reaches beyond its matrix")
    return values


def evaluate_source(
    source: Program, inputs: Mapping[str, Array], sizes: Mapping[str, int], dtype: Any, blocks: Blocks | None = None
) -> dict[str, Array]:
    """Evaluate the outputs of a program as written; numbers are 1 × 1."""
    program = lower(source, Form(skip=1, inverses=blocks is not None))
    within = None if blocks is None else blocks.over(shapes_in(program))
    values = evaluate_all(statements_of(program), inputs, sizes, shapes_in(program), dtype, within)
    return {output: values[name] for output, name in program.outputs}


def relative_error(found: Array, wanted: Array) -> float:
    """‖found − wanted‖ / ‖wanted‖."""
    size = float(np.linalg.norm(wanted))
    error = float(np.linalg.norm(found - wanted))
    return error / size if size else error
