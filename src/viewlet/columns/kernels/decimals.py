"""Arithmetic of decimals, as scaled integers.

A decimal of scale s is stored as its value times 10^s. Spark computes a result to 39 digits or places, truncates it,
and rounds to the scale of the result's type, half away from zero: with at least one digit to spare, this is the exact
result rounded once. It fails if the result has more digits than the type. Integers stay int64 while all of them are
sure to fit, and become Python integers when they may not.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from viewlet.columns.kernels.kernel import Failure, Kernel, Operation, Result, raising, strict
from viewlet.columns.kernels.vectors import Values, anywhere
from viewlet.plan.expr import Call

_INT64 = 1 << 63
_KEPT = 39
"""The digits that Spark's own arithmetic keeps."""
OUT_OF_RANGE = "[NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION] The value cannot be represented as decimal({}, {})."
_DIVIDE_BY_ZERO = "[DIVIDE_BY_ZERO] Division by zero."
_REMAINDER_BY_ZERO = "[REMAINDER_BY_ZERO] Remainder by zero."


def _peak(values: Values) -> int:
    """The largest magnitude."""
    return max(int(values.max()), -int(values.min()))


def _exact(values: Values) -> Values:
    """The same as Python integers, of any size."""
    return values if values.dtype == object else values.astype(object)


def from_integers(values: Values) -> Values:
    """Integers as decimals: int64, or Python integers if the smallest int64, which has no negative, is among them."""
    values = values.astype(np.int64)
    return values.astype(object) if anywhere(values == -_INT64) else values


def scaled_up(values: Values, digits: int) -> Values:
    """The values times a power of ten."""
    if digits == 0:
        return values
    if values.dtype != object and (digits > 18 or _peak(values) * 10**digits >= _INT64):
        values = values.astype(object)
    return values * 10**digits


def scaled_down(values: Values, digits: int) -> Values:
    """The values divided by a power of ten, rounded half away from zero."""
    if digits == 0:
        return values
    unit = 10**digits
    if values.dtype != object and _peak(values) + unit >= _INT64:
        values = values.astype(object)
    return _signed(values, (np.abs(values) + unit // 2) // unit)


def _signed(values: Values, magnitude: Values) -> Values:
    return np.where(values < 0, -magnitude, magnitude)


def rescale(values: Values, scale: int, to: int) -> Values:
    """The values converted to another scale."""
    return scaled_up(values, to - scale) if to >= scale else scaled_down(values, scale - to)


def fitted(values: Values, precision: int, scale: int) -> Result:
    """The values; those with more digits than the type are failures."""
    if values.dtype != object and precision > 18:
        return values, ()
    where = np.abs(values) >= 10**precision
    return values, (Failure(where.astype(np.bool_), OUT_OF_RANGE.format(precision, scale)),)


def binary(name: str, call: Call) -> Operation | None:
    """The operation on two decimals of any types, with a result of the call's type."""
    left, right = call.args[0].type, call.args[1].type
    if left.name != "decimal" or right.name != "decimal":
        return None
    return _OPERATIONS[name](left.args, right.args, call.type.args)


Digits = tuple[int, int]
"""Precision and scale."""


def _sum(sign: int) -> Callable[[Digits, Digits, Digits], Operation]:
    add = operator.add if sign > 0 else operator.sub

    def build(left: Digits, right: Digits, result: Digits) -> Operation:
        scale = max(left[1], right[1])
        digits = max(left[0] - left[1], right[0] - right[1]) + scale + 1
        up_left, up_right = 10 ** (scale - left[1]), 10 ** (scale - right[1])
        finish = _finish(digits, scale, result)
        if digits <= 18:
            return lambda a, b: finish(add(a * up_left, b * up_right))

        def operation(a: Values, b: Values) -> Result:
            a, b = scaled_up(a, scale - left[1]), scaled_up(b, scale - right[1])
            if a.dtype != object and b.dtype != object and _peak(a) + _peak(b) >= _INT64:
                a = a.astype(object)
            return finish(add(a, b))

        return operation

    return build


def always_fits(digits: int, scale: int, result: Digits) -> bool:
    """Whether every value with these digits and scale fits the result's type after rounding to its scale."""
    carried = 1 if scale > result[1] else 0
    return digits - scale + carried <= result[0] - result[1]


def never_fails(name: str, call: Call) -> bool:
    """Whether a sum or product of two decimals always fits its type."""
    (p1, s1), (p2, s2) = call.args[0].type.args, call.args[1].type.args
    if name == "multiply":
        return always_fits(p1 + p2, s1 + s2, call.type.args)
    scale = max(s1, s2)
    return always_fits(max(p1 - s1, p2 - s2) + scale + 1, scale, call.type.args)


def _finish(digits: int, scale: int, result: Digits) -> Callable[[Values], Result]:
    """Convert values of given digits and scale to the result's type, untested if all of them fit."""
    if always_fits(digits, scale, result):
        return lambda values: (rescale(values, scale, result[1]), ())
    return lambda values: fitted(rescale(values, scale, result[1]), *result)


def _product(left: Digits, right: Digits, result: Digits) -> Operation:
    scale, digits = left[1] + right[1], left[0] + right[0]
    finish = _finish(digits, scale, result)
    if digits <= 18:
        return lambda a, b: finish(a * b)

    def operation(a: Values, b: Values) -> Result:
        if a.dtype != object and b.dtype != object and _peak(a) * _peak(b) >= _INT64:
            a = a.astype(object)
        return finish(a * b)

    return operation


def _quotient(left: Digits, right: Digits, result: Digits) -> Operation:
    shift = result[1] - left[1] + right[1]
    up, down = max(shift, 0), max(-shift, 0)

    def operation(a: Values, b: Values) -> Result:
        zero = b == 0
        divisor = scaled_up(np.abs(np.where(zero, 1, b)), down)
        numerator = scaled_up(np.abs(a), up)
        if numerator.dtype != object and _peak(numerator) + _peak(divisor) >= _INT64:
            numerator = numerator.astype(object)
        quotient = (numerator + divisor // 2) // divisor
        values, failures = fitted(np.where((a < 0) != (b < 0), -quotient, quotient), *result)
        return values, (Failure(zero, _DIVIDE_BY_ZERO), *failures)

    return operation


def _remainder(left: Digits, right: Digits, result: Digits) -> Operation | None:
    if left[0] - left[1] + right[1] > _KEPT:
        return None  # the quotient may exceed the digits that Spark keeps, which fails in its own way
    scale = max(left[1], right[1])

    def operation(a: Values, b: Values) -> Result:
        zero = b == 0
        divisor = np.abs(scaled_up(np.where(zero, 1, b), scale - right[1]))
        a = scaled_up(a, scale - left[1])
        rest = _signed(a, np.abs(a) % divisor)
        values, failures = fitted(rescale(rest, scale, result[1]), *result)
        return values, (Failure(zero, _REMAINDER_BY_ZERO), *failures)

    return operation


_OPERATIONS: dict[str, Callable[[Digits, Digits, Digits], Operation | None]] = {
    "add": _sum(1),
    "subtract": _sum(-1),
    "multiply": _product,
    "divide": _quotient,
    "mod": _remainder,
}


def unscaled(call: Call) -> Kernel | None:
    """A short decimal as its unscaled integer, which Spark uses for averages."""
    kind = call.args[0].type
    return strict(lambda a: a) if kind.name == "decimal" and kind.args[0] <= 18 else None


def whole(name: str, call: Call) -> Kernel | None:
    """Ceiling or floor, as a decimal without fraction."""
    (precision, scale), result = call.args[0].type.args, call.type.args
    if result[1] != 0 or result[0] < min(precision - scale + (scale > 0), 38):
        return None
    unit = 10**scale
    if scale == 0:
        return strict(lambda a: a)
    if name == "ceil":
        return strict(lambda a: -(-_for_unit(a, unit) // unit))
    return strict(lambda a: _for_unit(a, unit) // unit)


def _for_unit(values: Values, unit: int) -> Values:
    return values if unit < _INT64 else _exact(values)


def rounded(call: Call, digits: int) -> Kernel | None:
    """Rounding to some digits after the point, which only removes digits."""
    kind = call.args[0].type
    if kind.name != "decimal" or digits < 0 or call.type.args[1] != min(kind.args[1], digits):
        return None
    precision, scale = call.type.args
    first = raising(lambda a: fitted(rescale(a, kind.args[1], scale), precision, scale))
    return Kernel(lambda parts: first.build(parts[:1]), fails=True)
