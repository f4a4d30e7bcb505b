"""Casts, by source and target type.

Numbers are truncated towards zero into integers and rounded half away from zero into decimals; a value that does not
fit is an error under ANSI, NULL for `try_cast`, and wraps around for `legacy_cast` between integers. A double becomes a
decimal as it is printed; casts in which its 16th and later digits matter are left to Spark, and so are other casts that
depend on how Java prints or reads floating-point numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal

import numpy as np

from viewlet.columns.arrays import Mask
from viewlet.columns.kernels import cast_text as casttext
from viewlet.columns.kernels.dates import DAY, SECOND
from viewlet.columns.kernels.decimals import always_fits, fitted, from_integers, rescale, scaled_up
from viewlet.columns.kernels.kernel import (
    Failure,
    Kernel,
    Operation,
    Result,
    Rule,
    nulling,
    nulls,
    raising,
    stop_at,
    strict,
    unary,
    wrapping,
)
from viewlet.columns.kernels.vectors import DTYPES, Values, Vector, anywhere, both
from viewlet.plan.expr import Call
from viewlet.plan.types import FRACTIONAL, INTEGRAL, Type

Total = Callable[[Values], Values]
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
_INSTANTS = ("timestamp", "timestamp_ntz")
_PRINTED = 15
"""The number of digits of a double that do not depend on how it is printed."""
_EXACT = 1 << 53
"""Integers up to this are exact as doubles, as is 10^22: their quotient is rounded once."""


def _cast(mode: str) -> Rule:
    def rule(call: Call) -> Kernel | None:
        source, target = call.args[0].type, call.type
        if source == target:
            return Kernel(lambda parts: parts[0].run)
        if source.name == "void":
            return Kernel(lambda parts: lambda rows: nulls(target, len(rows)))
        if (total := _total(source, target)) is not None:
            return strict(total)
        if source.name == "double" and target.name == "decimal" and target.args[0] <= _PRINTED:
            return _as_printed(target, mode)
        if (operation := _checked(source, target)) is not None:
            if target.name == "decimal" and _has_room(source, target):
                return strict(lambda values: operation(values)[0])
            return _in_mode(operation, mode, source, target)
        return None if mode == "legacy" else casttext.kernel(source, target, raising if mode == "ansi" else nulling)

    return rule


def _has_room(source: Type, target: Type) -> bool:
    """Whether a decimal type can hold every value of a type."""
    digits, scale = source.args if source.name == "decimal" else (_DIGITS.get(source.name, 1), 0)
    return always_fits(digits, scale, target.args)


def _in_mode(operation: Operation, mode: str, source: Type, target: Type) -> Kernel | None:
    if mode == "ansi":
        return raising(operation)
    if mode == "try" or target.name == "decimal":
        return nulling(operation)
    return wrapping(operation) if source.name in INTEGRAL else None


def _total(source: Type, target: Type) -> Total | None:
    """A cast that never fails."""
    match source.name, target.name:
        case (a, b) if a in INTEGRAL and b in INTEGRAL:
            return _as_dtype(b) if _DIGITS[a] < _DIGITS[b] else None
        case (a, b) if (a == "boolean" or a in INTEGRAL or a in FRACTIONAL) and b in FRACTIONAL:
            return _as_dtype(b)
        case ("boolean", b) if b in INTEGRAL:
            return _as_dtype(b)
        case (a, "boolean") if a in INTEGRAL or a in FRACTIONAL or a == "decimal":
            return lambda values: (values != 0).astype(np.bool_)
        case "decimal", "double":
            return lambda values: _decimal_to_double(values, source.args[1])
        case (a, b) if a in _INSTANTS and b in _INSTANTS:
            return lambda values: values
        case (a, "date") if a in _INSTANTS:
            return lambda values: (values // DAY).astype(np.int32)
        case "timestamp", "bigint":
            return lambda values: values // SECOND
    return None


def _as_dtype(name: str) -> Total:
    dtype = np.dtype(DTYPES[name])
    return lambda values: values.astype(dtype)


def _decimal_to_double(values: Values, scale: int) -> Values:
    """The nearest double, rounded once."""
    if values.dtype != object and scale <= 22 and bool((np.abs(values) <= _EXACT).all()):
        return values.astype(np.float64) / 10.0**scale
    unit = 10**scale
    return np.array([v / unit for v in values.tolist()], dtype=np.float64)


def _checked(source: Type, target: Type) -> Operation | None:
    """A cast that fails for some values."""
    match source.name, target.name:
        case (a, b) if a in INTEGRAL and b in INTEGRAL:
            return _narrower(np.dtype(DTYPES[b]), _error(source, target))
        case (a, b) if a in FRACTIONAL and b in INTEGRAL:
            return _truncated(np.dtype(DTYPES[b]), _error(source, target))
        case (a, "decimal") if a in INTEGRAL or a == "boolean":
            return lambda values: fitted(scaled_up(from_integers(values), target.args[1]), *target.args)
        case "decimal", "decimal":
            return lambda values: fitted(rescale(values, source.args[1], target.args[1]), *target.args)
        case ("decimal", b) if b == "bigint" or (b in INTEGRAL and source.args[0] <= 15):
            return _whole_part(source.args[1], np.dtype(DTYPES[b]), _error(source, target))
        case ("date", b) if b in _INSTANTS:
            return _midnight
    return None


def _as_printed(target: Type, mode: str) -> Kernel:
    """Doubles as decimals; non-finite values are NULL in every mode."""
    precision, scale = target.args

    def apply(valid: Mask | None, values: Values) -> Vector:
        finite = np.isfinite(values)
        digits = _printed_digits(np.where(finite, values, 0.0), scale)
        result, failures = fitted(digits, precision, scale)
        for failure in failures:
            if mode == "ansi":
                stop_at(failure.where, valid, failure.error)
            valid = both(valid, ~failure.where) if anywhere(failure.where) else valid
        return result, valid if finite.all() else both(valid, finite)

    return unary(apply, fails=mode == "ansi")


def _printed_digits(values: Values, scale: int) -> Values:
    """The integers nearest to values times 10^scale, with halves, as printed, rounded away from zero."""
    scaled = np.abs(values) * 10.0**scale
    nearest = np.floor(np.minimum(scaled, 1e17) + 0.5).astype(np.int64)
    near_half = np.abs(scaled - np.floor(scaled) - 0.5) <= 1e-9 + scaled * 1e-15
    for at in np.flatnonzero(near_half & (scaled < 1e17)).tolist():
        printed = Decimal(repr(abs(float(values[at])))).scaleb(scale)
        nearest[at] = int(printed.to_integral_value(ROUND_HALF_UP))
    return np.where(values < 0, -nearest, nearest)


def _error(source: Type, target: Type) -> str:
    return f"[CAST_OVERFLOW] The value of the type {source} cannot be cast to {target} due to an overflow."


def _narrower(dtype: np.dtype[np.signedinteger], error: str) -> Operation:
    def operation(values: Values) -> Result:
        narrow = values.astype(dtype)
        return narrow, (Failure(narrow != values, error),)

    return operation


def _truncated(dtype: np.dtype[np.signedinteger], error: str) -> Operation:
    """Truncation to an integer. Spark accepts 2^63 itself as the largest bigint, which equals it as a double."""
    limits = np.iinfo(dtype)
    low, high = float(limits.min), float(limits.max)

    def operation(values: Values) -> Result:
        values = values.astype(np.float64)
        fits = (np.floor(values) <= high) & (np.ceil(values) >= low)
        top = values >= 2.0**63
        result = np.where(fits & ~top, values, 0).astype(dtype)
        return np.where(top, limits.max, result).astype(dtype), (Failure(~fits, error),)

    return operation


def _whole_part(scale: int, dtype: np.dtype[np.signedinteger], error: str) -> Operation:
    limits = np.iinfo(dtype)
    low, high, unit = int(limits.min), int(limits.max), 10**scale

    def operation(values: Values) -> Result:
        if unit >= 1 << 63:
            values = values.astype(object)
        magnitude = np.abs(values) // unit
        whole = np.where(values < 0, -magnitude, magnitude)
        outside = ((whole < low) | (whole > high)).astype(np.bool_)
        return np.where(outside, 0, whole).astype(dtype), (Failure(outside, error),)

    return operation


def _midnight(days: Values) -> Result:
    """Midnight of a day; beyond the range of timestamps Spark fails with Java's message."""
    wide = days.astype(np.int64)
    beyond = np.abs(wide) > np.iinfo(np.int64).max // DAY
    return wide * DAY, (Failure(beyond, "long overflow"),)


RULES: dict[str, Rule] = {"cast": _cast("ansi"), "try_cast": _cast("try"), "legacy_cast": _cast("legacy")}
