"""Validation of the arguments of public calls and of the clauses of statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from viewlet.errors import SqlError, WrongArgument, kind_of, shortened


def text(what: str, value: Any) -> str:
    """A string."""
    return _expect(what, value, isinstance(value, str), "a string")


def texts(what: str, value: Any) -> tuple[str, ...]:
    """One or several strings; None means none."""
    if isinstance(value, str) or value is None:
        return (value,) if value else ()
    listed = isinstance(value, Sequence) and all(isinstance(item, str) for item in value)
    return tuple(_expect(what, value, listed, "a string or a list of strings"))


def mapping(what: str, value: Any) -> Mapping[str, Any]:
    """A mapping with string keys; None means an empty one."""
    fits = value is None or (isinstance(value, Mapping) and all(isinstance(key, str) for key in value))
    return _expect(what, value, fits, "a dict with string keys") or {}


def number(what: str, value: Any) -> int:
    """An integer; booleans do not count."""
    fits = isinstance(value, int) and not isinstance(value, bool)
    return _expect(what, value, fits, "an integer")


def clause(keyword: str, value: str | None) -> str:
    """What a clause of a statement names; the clause may not be missing."""
    if value is None:
        raise SqlError(f"{keyword} is missing", hint=f"{keyword} '…'")
    return value


def definition(view: str, value: Any) -> Any:
    """The definition of a view: SQL text or a PySpark DataFrame."""
    hint = "SQL text, or a PySpark DataFrame over tables of `db.spark`"
    return _expect(f"the definition of view {view}", value, isinstance(value, str) or _is_frame(value), hint)


def session(value: Any) -> Any:
    """A classic Spark session, or None."""
    if type(value).__module__.startswith("pyspark.sql.connect"):
        raise WrongArgument(
            "spark is a Spark Connect session, which gives no access to Spark's plans and tasks",
            hint='pass a classic session: SparkSession.builder.master("local[*]").getOrCreate(), or a cluster\'s address',
        )
    kinds = {kind.__name__ for kind in type(value).__mro__ if kind.__module__.startswith("pyspark.")}
    fits = value is None or "SparkSession" in kinds
    return _expect("spark", value, fits, "a SparkSession, such as SparkSession.builder.getOrCreate() returns")


def _is_frame(value: Any) -> bool:
    return any(k.__name__ == "DataFrame" and k.__module__.startswith("pyspark.") for k in type(value).__mro__)


def _expect(what: str, value: Any, fits: bool, kind: str) -> Any:
    if not fits:
        raise WrongArgument(f"{what} is {shortened(value)}, {kind_of(value)}", hint=f"pass {kind}")
    return value
