"""Parts of dates and timestamps, and date arithmetic, in the proleptic Gregorian calendar and UTC.

Adding days wraps around at 32 bits, as in Spark.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from viewlet.columns.kernels.kernel import Failure, Kernel, Result, Rule, raising, strict
from viewlet.columns.kernels.vectors import Values
from viewlet.plan.expr import Call

SECOND = 1_000_000
DAY = 86_400 * SECOND
_DAYS = ("tinyint", "smallint", "int")


def months(days: Values) -> Values:
    """Months since January 1970."""
    return days.astype("M8[D]").astype("M8[M]").view(np.int64)


def year(days: Values) -> Values:
    return (months(days) // 12 + 1970).astype(np.int32)


def month(days: Values) -> Values:
    return (months(days) % 12 + 1).astype(np.int32)


def day(days: Values) -> Values:
    """The day of the month."""
    dates = days.astype("M8[D]")
    return ((dates - dates.astype("M8[M]")).view(np.int64) + 1).astype(np.int32)


def _quarter(days: Values) -> Values:
    return (months(days) % 12 // 3 + 1).astype(np.int32)


def _clock(unit: int, count: int) -> Callable[[Values], Values]:
    """The number of whole units passed, modulo `count`."""
    return lambda micros: (micros // unit % count).astype(np.int32)


def _of_date(function: Callable[[Values], Values]) -> Rule:
    return lambda call: strict(function) if call.args[0].type.name == "date" else None


def _of_timestamp(function: Callable[[Values], Values]) -> Rule:
    return lambda call: strict(function) if call.args[0].type.name in ("timestamp", "timestamp_ntz") else None


def _date_add(call: Call) -> Kernel | None:
    fits = call.args[0].type.name == "date" and call.args[1].type.name in _DAYS
    return strict(lambda days, more: days + more) if fits else None


def _date_sub(call: Call) -> Kernel | None:
    fits = call.args[0].type.name == "date" and call.args[1].type.name in _DAYS
    return strict(lambda days, less: days - less) if fits else None


def _datediff(call: Call) -> Kernel | None:
    dates = all(arg.type.name == "date" for arg in call.args)
    return strict(lambda end, start: end - start) if dates else None


def _precise_time(call: Call) -> Kernel | None:
    """A timestamp as its microseconds, or back, as in Spark's expansion of `window(…)`."""
    kinds = {call.args[0].type.name, call.type.name}
    fits = kinds in ({"timestamp", "bigint"}, {"timestamp_ntz", "bigint"})
    return strict(lambda micros: micros) if fits else None


def _add_micros(call: Call) -> Kernel | None:
    fits = call.args[0].type == call.type and call.type.name in ("timestamp", "timestamp_ntz")
    return raising(_later) if fits else None


def _later(time: Values, micros: Values) -> Result:
    later = time + micros
    return later, (Failure(((time ^ later) & (micros ^ later)) < 0, "long overflow"),)


RULES: dict[str, Rule] = {
    "year": _of_date(year),
    "month": _of_date(month),
    "day": _of_date(day),
    "quarter": _of_date(_quarter),
    "hour": _of_timestamp(_clock(3600 * SECOND, 24)),
    "minute": _of_timestamp(_clock(60 * SECOND, 60)),
    "second": _of_timestamp(_clock(SECOND, 60)),
    "date_add": _date_add,
    "date_sub": _date_sub,
    "datediff": _datediff,
    "precise_time": _precise_time,
    "add_micros": _add_micros,
}
