"""Comparisons, IN, greatest and least, in Spark's order of values.

NaN equals NaN and is greater than any other number; −0.0 equals 0.0; strings and binary are ordered by unsigned bytes,
which for UTF-8 is the order of code points. Both sides have the same type, since Spark inserts casts.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from viewlet.columns.arrays import Mask, truth_of
from viewlet.columns.kernels.kernel import Argument, Kernel, Rule, merge, strict
from viewlet.columns.kernels.vectors import DTYPES, Evaluate, Values, Vector, anywhere, both, literal_vector, spread
from viewlet.columns.rows import Rows
from viewlet.plan.expr import Call, Literal
from viewlet.plan.types import Type

Compare = Callable[[Values, Values], Mask]

_ARROW = ("string", "binary")
_NAMES = {"eq": "equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}


def is_comparable(kind: Type) -> bool:
    """Whether we can compare values of the type."""
    return kind.name in DTYPES or kind.name in ("boolean", "decimal", *_ARROW)


def compare_by(name: str, kind: Type) -> Compare:
    """The comparison of two values of a type, neither NULL."""
    if kind.name in _ARROW:
        return _arrow_compare(name)
    if kind.name in ("float", "double"):
        return _FLOATS[name]
    return getattr(operator, name)


def _arrow_compare(name: str) -> Compare:
    call = pc.get_function(_NAMES[name]).call
    return lambda a, b: truth_of(call([a, b]))


def _float_eq(a: Values, b: Values) -> Mask:
    return (a == b) | ((a != a) & (b != b))


def _float_lt(a: Values, b: Values) -> Mask:
    return (a < b) | ((b != b) & (a == a))


def _float_le(a: Values, b: Values) -> Mask:
    return (a <= b) | (b != b)


_FLOATS: dict[str, Compare] = {
    "eq": _float_eq,
    "lt": _float_lt,
    "le": _float_le,
    "gt": lambda a, b: _float_lt(b, a),
    "ge": lambda a, b: _float_le(b, a),
}


def _same_types(call: Call) -> bool:
    kind = call.args[0].type
    return is_comparable(kind) and all(arg.type == kind for arg in call.args)


def _comparison(call: Call) -> Kernel | None:
    if not _same_types(call):
        return None
    kind, right = call.args[0].type, call.args[1]
    compare = compare_by(call.function, kind)
    if kind.name in _ARROW and isinstance(right, Literal) and right.value is not None:
        value = literal_vector(right)[0][0]
        return Kernel(lambda parts: _against(parts[0].run, value, compare))
    return strict(compare)


def _against(left: Evaluate, value: pa.Scalar, compare: Compare) -> Evaluate:
    """Comparison with a constant string, which need not be repeated for every row."""

    def evaluate(rows: Rows) -> Vector:
        values, valid = left(rows)
        return compare(values, value), valid

    return evaluate


def _eq_null_safe(call: Call) -> Kernel | None:
    if not _same_types(call):
        return None
    equal = compare_by("eq", call.args[0].type)
    return Kernel(lambda parts: _null_safe(parts[0].run, parts[1].run, equal))


def _null_safe(left: Evaluate, right: Evaluate, equal: Compare) -> Evaluate:
    def evaluate(rows: Rows) -> Vector:
        a, known = left(rows)
        b, other = right(rows)
        result = equal(a, b)
        if known is None and other is None:
            return result, None
        known, other = _mask(known), _mask(other)
        return np.where(known & other, result, known == other), None

    return evaluate


def _mask(valid: Mask | None) -> Mask:
    return np.ones(1, dtype=np.bool_) if valid is None else valid


def _in(call: Call) -> Kernel | None:
    if not _same_types(call) or not all(isinstance(arg, Literal) for arg in call.args[1:]):
        return None
    listed = [arg for arg in call.args[1:] if isinstance(arg, Literal)]
    found = _member_of([item for item in listed if item.value is not None], call.args[0].type)
    unknown = any(item.value is None for item in listed)
    return Kernel(lambda parts: _membership(parts[0].run, found, unknown))


def _member_of(items: list[Literal], kind: Type) -> Callable[[Values], Mask]:
    """Whether a value equals any of some constants."""
    if not items:
        return lambda values: np.zeros(len(values), dtype=np.bool_)
    if kind.name in _ARROW:
        options = pc.SetLookupOptions(value_set=pa.concat_arrays([literal_vector(item)[0] for item in items]))
        call = pc.get_function("is_in").call
        return lambda values: truth_of(call([values], options))
    equal, constants = compare_by("eq", kind), [literal_vector(item)[0] for item in items]
    if len(items) > 8 and kind.name not in ("float", "double", "decimal", "boolean"):
        together = np.concatenate(constants)
        return lambda values: np.isin(values, together)
    return lambda values: _any_equal(values, constants, equal)


def _any_equal(values: Values, constants: list[Values], equal: Compare) -> Mask:
    result = equal(values, constants[0])
    for constant in constants[1:]:
        result = result | equal(values, constant)
    return result


def _membership(left: Evaluate, found: Callable[[Values], Mask], unknown: bool) -> Evaluate:
    """True if found; otherwise NULL if the list contains NULL, else false."""

    def evaluate(rows: Rows) -> Vector:
        values, valid = left(rows)
        result = found(values)
        return result, both(valid, result) if unknown else valid

    return evaluate


def _extreme(call: Call) -> Kernel | None:
    if not _same_types(call) or call.args[0].type != call.type:
        return None
    beats = compare_by("gt" if call.function == "greatest" else "lt", call.type)
    return Kernel(lambda parts: _best(parts, beats, call.type))


def _best(parts: tuple[Argument, ...], beats: Compare, kind: Type) -> Evaluate:
    """The first of the best values, ignoring NULL."""

    def evaluate(rows: Rows) -> Vector:
        best = parts[0].run(rows)
        for part in parts[1:]:
            best = _better(best, part.run(rows), beats, kind, len(rows))
        return best

    return evaluate


def _better(best: Vector, other: Vector, beats: Compare, kind: Type, length: int) -> Vector:
    replaces = beats(other[0], best[0])
    if best[1] is not None:
        replaces = replaces | ~best[1]
    if other[1] is not None:
        replaces = replaces & other[1]
    if not anywhere(replaces):
        return best
    replaces = spread(replaces, length)
    return merge(kind, length, ((~replaces, best), (replaces, other)))


RULES: dict[str, Rule] = {
    "eq": _comparison,
    "lt": _comparison,
    "le": _comparison,
    "gt": _comparison,
    "ge": _comparison,
    "eq_null_safe": _eq_null_safe,
    "in": _in,
    "greatest": _extreme,
    "least": _extreme,
}
