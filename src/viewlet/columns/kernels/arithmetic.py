"""Arithmetic of integers and floating-point numbers.

Integers overflow at the width of their type: an error under ANSI, NULL for `try_…`, wrapped around for `wrapping_…`.
Floating-point numbers follow IEEE 754, except that division by zero is an error.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from viewlet.columns.arrays import Mask
from viewlet.columns.floats import canonical
from viewlet.columns.kernels import decimals
from viewlet.columns.kernels.kernel import Failure, Kernel, Operation, Result, Rule, nulling, raising, strict, wrapping
from viewlet.columns.kernels.vectors import DTYPES, Values, anywhere
from viewlet.plan.expr import Call, Literal
from viewlet.plan.types import FRACTIONAL, INTEGRAL, Type

_LARGE = 9.2e18
"""Below this a product of two int64 fits, however its floating-point estimate was rounded."""
_NEGATED = 34
"""Spark negates longer decimals lossily: it rounds them to 34 digits."""
DIVIDE_BY_ZERO = "[DIVIDE_BY_ZERO] Division by zero."
REMAINDER_BY_ZERO = "[REMAINDER_BY_ZERO] Remainder by zero."


def _overflow(kind: Type, *, unary: bool = False) -> str:
    """Spark's name for an overflow, which differs for narrow integers."""
    narrow = kind.name in ("tinyint", "smallint") and not unary
    return f"[{'BINARY_' if narrow else ''}ARITHMETIC_OVERFLOW] {kind} overflow."


def _add(error: str) -> Operation:
    def operation(a: Values, b: Values) -> Result:
        total = a + b
        return total, (Failure(((a ^ total) & (b ^ total)) < 0, error),)

    return operation


def _subtract(error: str) -> Operation:
    def operation(a: Values, b: Values) -> Result:
        rest = a - b
        return rest, (Failure(((a ^ b) & (a ^ rest)) < 0, error),)

    return operation


def _multiply(error: str) -> Operation:
    def operation(a: Values, b: Values) -> Result:
        product = a * b
        if product.dtype == np.int64:
            return product, _failures(_too_large(a, b), error)
        exact = a.astype(np.int64) * b
        return product, (Failure(exact != product, error),)

    return operation


def _failures(where: Mask | None, error: str) -> tuple[Failure, ...]:
    return () if where is None else (Failure(where, error),)


def _too_large(a: Values, b: Values) -> Mask | None:
    """Where a product overflows int64: estimated, and decided exactly where the estimate is close."""
    suspect = np.abs(a.astype(np.float64) * b) > _LARGE
    if not anywhere(suspect):
        return None
    exact = a.astype(object) * b
    return suspect & np.array([not -(1 << 63) <= p < 1 << 63 for p in exact], dtype=np.bool_)


_CHECKED: dict[str, Callable[[str], Operation]] = {"add": _add, "subtract": _subtract, "multiply": _multiply}
_PLAIN: dict[str, Callable[[Values, Values], Values]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
}


def _same_numbers(call: Call, kinds: tuple[str, ...]) -> bool:
    return call.type.name in kinds and all(arg.type == call.type for arg in call.args)


def _mode(operation: Operation, mode: str, *, right_first: bool = False) -> Kernel:
    """An operation under ANSI mode, or in the mode of its prefix `try_` or `wrapping_`."""
    if mode == "wrapping":
        return wrapping(operation)
    return (nulling if mode == "try" else raising)(operation, right_first=right_first)


def _binary(name: str, mode: str) -> Rule:
    """Addition, subtraction, multiplication."""

    def rule(call: Call) -> Kernel | None:
        if call.type.name == "decimal":
            return _decimal_binary(name, mode, call)
        if _same_numbers(call, FRACTIONAL):
            return strict(_PLAIN[name])
        if _same_numbers(call, INTEGRAL):
            return _mode(_CHECKED[name](_overflow(call.type)), mode)
        return None

    return rule


def _decimal_binary(name: str, mode: str, call: Call) -> Kernel | None:
    operation = decimals.binary(name, call)
    if operation is None:
        return None
    if decimals.never_fails(name, call):
        return strict(lambda a, b: operation(a, b)[0])
    return (raising if mode == "ansi" else nulling)(operation)


def _divide(mode: str) -> Rule:
    def rule(call: Call) -> Kernel | None:
        if call.type.name == "decimal":
            operation = decimals.binary("divide", call)
        else:
            operation = _float_divide if _same_numbers(call, ("double",)) else None
        if operation is None:
            return None
        return (raising if mode == "ansi" else nulling)(operation, right_first=True)

    return rule


def _float_divide(a: Values, b: Values) -> Result:
    return a / b, (Failure(b == 0, DIVIDE_BY_ZERO),)


def _div(mode: str) -> Rule:
    """Integer division, truncating towards zero."""

    def rule(call: Call) -> Kernel | None:
        if not _same_numbers(call, ("bigint",)):
            return None
        return (raising if mode == "ansi" else nulling)(_integral_divide, right_first=True)

    return rule


def _integral_divide(a: Values, b: Values) -> Result:
    smallest = (a == np.iinfo(np.int64).min) & (b == -1)
    failures = Failure(b == 0, DIVIDE_BY_ZERO), Failure(smallest, "[ARITHMETIC_OVERFLOW] Overflow in integral divide.")
    return (a - np.fmod(a, b)) // b, failures


def _mod(mode: str) -> Rule:
    """The remainder, with the sign of the dividend."""

    def rule(call: Call) -> Kernel | None:
        if call.type.name == "decimal":
            operation = decimals.binary("mod", call)
        else:
            operation = _remainder if _same_numbers(call, (*INTEGRAL, *FRACTIONAL)) else None
        if operation is None:
            return None
        return (raising if mode == "ansi" else nulling)(operation, right_first=True)

    return rule


def _remainder(a: Values, b: Values) -> Result:
    return np.fmod(a, b), (Failure(b == 0, REMAINDER_BY_ZERO),)


def _pmod(call: Call) -> Kernel | None:
    """The remainder, made positive by adding the divisor once."""
    return raising(_positive, right_first=True) if _same_numbers(call, (*INTEGRAL, *FRACTIONAL)) else None


def _positive(a: Values, b: Values) -> Result:
    rest = np.fmod(a, b)
    if rest.dtype.kind == "i" and rest.dtype.itemsize < 4:
        up = np.fmod(rest.astype(np.int32) + b, b).astype(rest.dtype)  # Java adds bytes and shorts as ints
    else:
        up = np.fmod(rest + b, b)
    return np.where(rest < 0, up, rest), (Failure(b == 0, REMAINDER_BY_ZERO),)


def _unary(function: Callable[[Values], Values], mode: str) -> Rule:
    """Negation and absolute value, which only the smallest integer lacks."""

    def rule(call: Call) -> Kernel | None:
        if not _same_numbers(call, (*INTEGRAL, *FRACTIONAL, "decimal")):
            return None
        if call.type.name == "decimal" and call.type.args[0] > _NEGATED:
            return None
        if call.type.name not in INTEGRAL:
            return strict(function)
        smallest = np.iinfo(DTYPES[call.type.name]).min
        error = _overflow(call.type, unary=True)
        return _mode(lambda a: (function(a), (Failure(a == smallest, error),)), mode)

    return rule


def _sqrt(call: Call) -> Kernel | None:
    return strict(np.sqrt) if _same_numbers(call, ("double",)) else None


def _bits(function: Any) -> Rule:
    return lambda call: strict(function) if _same_numbers(call, INTEGRAL) else None


def _shift(function: Any) -> Rule:
    """A shift by the low bits of the second argument, modulo the width of the first."""

    def rule(call: Call) -> Kernel | None:
        value, by = (arg.type.name for arg in call.args)
        if value not in ("int", "bigint") or by != "int" or call.type.name != value:
            return None
        places = 31 if value == "int" else 63
        return strict(lambda a, b: function(a, (b & places).astype(a.dtype)))

    return rule


def _whole(name: str, *, fails: bool = False) -> Rule:
    """Ceiling and floor, as a bigint or a decimal without fraction; beyond bigint, the nearest value or an error."""
    function, overflow = np.ceil if name == "ceil" else np.floor, f"[ARITHMETIC_OVERFLOW] Overflow in {name}."

    def rule(call: Call) -> Kernel | None:
        if len(call.args) != 1:
            return None
        match call.args[0].type.name, call.type.name:
            case "decimal", "decimal":
                return decimals.whole(name, call)
            case "bigint", "bigint":
                return strict(lambda a: a)
            case "double", "bigint" if fails:
                return raising(lambda a: (saturated(function(a)), (Failure(_beyond_bigint(function(a)), overflow),)))
            case "double", "bigint":
                return strict(lambda a: saturated(function(a)))
        return None

    return rule


def _beyond_bigint(values: Values) -> Mask:
    return (values >= 2.0**63) | (values < -(2.0**63))


def saturated(values: Values) -> Values:
    """Floating-point numbers as bigint, saturated as in Java; 0 for NaN."""
    result = np.where(np.abs(values) < 2.0**63, values, 0).astype(np.int64)
    limits = np.iinfo(np.int64)
    result = np.where(values >= 2.0**63, limits.max, result)
    return np.where(values <= -(2.0**63), limits.min, result)


def _round(call: Call) -> Kernel | None:
    """Rounding half away from zero, except of doubles, for which Spark rounds the decimal text."""
    if len(call.args) != 2 or not isinstance(call.args[1], Literal) or call.args[1].value is None:
        return None
    digits = call.args[1].value
    if call.type.name == "decimal":
        return decimals.rounded(call, digits)
    if digits >= 0 and call.type.name in INTEGRAL and call.args[0].type == call.type:
        return Kernel(lambda parts: parts[0].run)
    return None


def _normalize(call: Call) -> Kernel | None:
    """Canonical zeros and NaNs, so that equal values have equal bits."""
    return strict(canonical) if call.args[0].type.name in FRACTIONAL else None


RULES: dict[str, Rule] = {
    **{name: _binary(name, "ansi") for name in _PLAIN},
    **{f"{mode}_{name}": _binary(name, mode) for name in _PLAIN for mode in ("try", "wrapping")},
    "unscaled": decimals.unscaled,
    "divide": _divide("ansi"),
    "try_divide": _divide("try"),
    "wrapping_divide": _divide("wrapping"),
    "div": _div("ansi"),
    "mod": _mod("ansi"),
    "try_mod": _mod("try"),
    "wrapping_mod": _mod("wrapping"),
    "pmod": _pmod,
    "negate": _unary(operator.neg, "ansi"),
    "wrapping_negate": _unary(operator.neg, "wrapping"),
    "abs": _unary(np.abs, "ansi"),
    "wrapping_abs": _unary(np.abs, "wrapping"),
    "sqrt": _sqrt,
    "ceil": _whole("ceil"),
    "floor": _whole("floor"),
    "ceil[since 4.3]": _whole("ceil", fails=True),
    "floor[since 4.3]": _whole("floor", fails=True),
    "round": _round,
    "normalize_float": _normalize,
    "bit_and": _bits(operator.and_),
    "bit_or": _bits(operator.or_),
    "bit_xor": _bits(operator.xor),
    "shift_left": _shift(operator.lshift),
    "shift_right": _shift(operator.rshift),
}
