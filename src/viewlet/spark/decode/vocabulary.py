"""The vocabulary: Spark's expression classes and their names in the algebra.

A class that is not listed is opaque: Spark evaluates it. A plain name means ANSI mode; where `add` fails, `try_add`
gives NULL and `wrapping_add` wraps around (or gives NULL, for a division by zero).
"""

from __future__ import annotations

from collections.abc import Mapping

PREDICATES = {
    "EqualTo": "eq", "EqualNullSafe": "eq_null_safe", "LessThan": "lt", "LessThanOrEqual": "le", "GreaterThan": "gt",
    "GreaterThanOrEqual": "ge", "And": "and", "Or": "or", "Not": "not", "IsNull": "is_null", "IsNotNull": "is_not_null",
    "IsNaN": "is_nan", "In": "in", "StartsWith": "starts_with", "EndsWith": "ends_with", "Contains": "contains",
}  # fmt: skip
"""Functions of their arguments alone, with a boolean result."""

PLAIN = {
    "CaseWhen": "case", "If": "if", "Coalesce": "coalesce", "Greatest": "greatest", "Least": "least", "NaNvl": "nanvl",
    "Length": "length", "Substring": "substring", "Concat": "concat", "Upper": "upper", "Lower": "lower",
    "Year": "year", "Month": "month", "DayOfMonth": "day", "Quarter": "quarter", "DayOfWeek": "dayofweek",
    "DayOfYear": "dayofyear", "WeekDay": "weekday", "LastDay": "last_day",
    "DateAdd": "date_add", "DateSub": "date_sub", "DateDiff": "datediff", "NormalizeNaNAndZero": "normalize_float",
    "CreateNamedStruct": "named_struct", "CreateArray": "array", "Ceil": "ceil", "Floor": "floor", "Sqrt": "sqrt",
    "BitwiseAnd": "bit_and", "BitwiseOr": "bit_or", "BitwiseXor": "bit_xor", "BitwiseNot": "bit_not", "Signum": "sign",
    "SortArray": "sort_array", "ShiftLeft": "shift_left", "ShiftRight": "shift_right", "UnscaledValue": "unscaled",
    "PreciseTimestampConversion": "precise_time",
}  # fmt: skip
"""Functions of their arguments alone."""

MODAL = {
    "Add": "add", "Subtract": "subtract", "Multiply": "multiply", "Divide": "divide", "IntegralDivide": "div",
    "Remainder": "mod", "Pmod": "pmod", "UnaryMinus": "negate", "Abs": "abs", "Round": "round", "BRound": "bround",
}  # fmt: skip
"""Functions with a failure mode, which prefixes their names."""

ONE_ARGUMENT = {"StringTrim": "trim", "StringTrimLeft": "ltrim", "StringTrimRight": "rtrim"}
"""Functions known only without their optional argument."""

ZONED = {"Hour": "hour", "Minute": "minute", "Second": "second"}
"""Functions that depend on a time zone; known only in UTC."""

TRANSPARENT = frozenset(
    (
        "Alias",
        "KnownFloatingPointNormalized",
        "KnownNotNull",
        "KnownNullable",
        "PromotePrecision",
        "TaggingExpression",
        "UpCast",
    )
)
"""Wrappers that do not change the value."""

GENERATORS = {
    "Explode": "explode",
    "PosExplode": "posexplode",
    "Inline": "inline",
    "Stack": "stack",
    "ReplicateRows": "replicate_rows",
}

BY_SETTING = {("spark.sql.icu.caseMappings.enabled", "false"): frozenset(("Upper", "Lower"))}
"""Functions that read a setting at run time, and are known only under its default. Others have theirs in the plan."""

UTC = frozenset(("UTC", "Etc/UTC", "Z", "+00:00", "GMT", None))


def in_mode(name: str, mode: str) -> str:
    """A function's name with its failure mode."""
    match mode:
        case "ANSI":
            return name
        case "TRY":
            return f"try_{name}"
        case _:
            return f"legacy_{name}" if name == "cast" else f"wrapping_{name}"


def sparks_own(settings: Mapping[str, str]) -> frozenset[str]:
    """The classes of expressions that only Spark evaluates under some settings."""
    return frozenset(kind for setting in settings.items() for kind in BY_SETTING.get(setting, ()))
